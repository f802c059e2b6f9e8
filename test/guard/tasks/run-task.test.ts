/** How long a task waits for its function after a halt. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, type Task, type TaskOptions } from '../../../src/index.ts';
import { promisesSettled, simulatedClock } from '../../../src/testing/index.ts';

const hang = () => new Promise<string>(() => {});

function stage() {
  const clock = simulatedClock();
  const gear = createSwitchgear({ clock, log: 'silent', env: {} });
  /** Runs a task, lets time pass, and tells how it ended, if it did. */
  async function watch(run: (task: Task) => unknown, options: TaskOptions = { limits: { maxDurationSecs: 2 } }) {
    const ending: { status?: string; value?: unknown } = {};
    void gear.task(options, run).then((result) => Object.assign(ending, result));
    return async (ms: number) => {
      await clock.elapse(ms);
      await promisesSettled();
      return ending;
    };
  }
  return { clock, gear, watch };
}

test('a function that hangs without a guarded call is given up soon after the time of its task is over', async () => {
  const { watch } = stage();
  const after = await watch(hang);
  assert.equal((await after(2_000)).status, undefined);
  assert.equal((await after(1_300)).status, 'halted');
});

test('the same for a silent function, and for a child task of a parent whose time is over', async () => {
  const { gear, watch } = stage();
  const silent = await watch(hang, { limits: { maxIdleSecs: 2 } });
  const parent = await watch(() => gear.task({}, hang));
  assert.equal((await silent(3_500)).status, 'halted');
  assert.partialDeepStrictEqual(await parent(0), { status: 'halted', value: { status: 'halted' } });
});

test('an order to halt and a cancel end a hung function soon', async () => {
  const { gear, watch } = stage();
  const controller = new AbortController();
  const halted = await watch(hang, { id: 'a' });
  const cancelled = await watch(hang, { signal: controller.signal });
  gear.halt('a', 'enough');
  controller.abort();
  assert.equal((await halted(249)).status, undefined);
  assert.equal((await halted(2)).status, 'halted');
  assert.equal((await cancelled(0)).status, 'halted');
});

test('a function that has a call out, or the signal of its task, keeps five seconds to react', async () => {
  const { clock, gear, watch } = stage();
  const sleep = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve));
  const call = gear.guard('hang', hang, { timeoutSecs: 0 });
  const tidied = async () => {
    await sleep(3_000);
    return 'tidied up';
  };
  const withCall = await watch(() => call().then(tidied));
  const withSignal = await watch(
    ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(tidied()))),
  );
  await withCall(7_000);
  assert.partialDeepStrictEqual(await withCall(0), { status: 'halted', value: 'tidied up' });
  assert.partialDeepStrictEqual(await withSignal(0), { status: 'halted', value: 'tidied up' });
});

test('a function that asks a person when its task is halted keeps its time to react', async () => {
  const clock = simulatedClock();
  const rules = [{ target: 'tool:pay', condition: 'ability:pay', action: 'confirm' as const }];
  const approver = { name: 'boss', ask: () => new Promise<never>(() => {}) };
  const gear = createSwitchgear({ clock, log: 'silent', env: {}, policy: { rules }, approver });
  const pay = gear.guard('pay', async () => 'paid');
  const running = gear.task({ id: 'a' }, async () => {
    await pay();
    await new Promise<void>((resolve) => void clock.after(3_000, resolve));
    return 'told the user';
  });
  await promisesSettled();
  gear.halt('a', 'enough');
  await clock.elapse(4_000);
  assert.partialDeepStrictEqual(await running, { status: 'halted', value: 'told the user' });
});

test('a function whose call reached a limit keeps its time to write a summary', async () => {
  const { clock, gear, watch } = stage();
  const read = gear.guard('read', async (page: number) => page);
  const after = await watch(
    async () => {
      await read(1);
      await read(2);
      await new Promise<void>((resolve) => void clock.after(3_000, resolve));
      return 'one page';
    },
    { limits: { maxToolCalls: 1 } },
  );
  assert.partialDeepStrictEqual(await after(4_000), { status: 'halted', value: 'one page' });
});
