/** The rejection of an async callback was unhandled and ended the host process. It is counted like a thrown error. */

import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setImmediate as nextTick } from 'node:timers/promises';
import { accountEvents } from '../../src/agents/index.ts';
import { createBreaker } from '../../src/breaker.ts';
import { delegationBreaker, SessionBreaker } from '../../src/compat/index.ts';
import { allow, createSwitchgear, isRefused, type SwitchgearOptions } from '../../src/index.ts';
import { watchPolicy } from '../../src/policy/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

const unhandled: unknown[] = [];
const note = (error: unknown) => unhandled.push(error);
before(() => process.on('unhandledRejection', note));
after(() => process.off('unhandledRejection', note));

const rejects = async (): Promise<never> => {
  throw new Error('the pager does not answer');
};

function quietGear(options: SwitchgearOptions = {}) {
  return createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {}, ...options });
}

async function assertHandled(): Promise<void> {
  await nextTick();
  await nextTick();
  assert.deepEqual(unhandled.splice(0), []);
}

test('a rejection of an async listener is counted once and writes one entry', async () => {
  const gear = quietGear();
  gear.on('breaker-opened', rejects);
  gear.breaker('tool').trip();
  await assertHandled();
  assert.equal(gear.snapshot().internalErrors, 1);
  assert.equal(gear.journal().filter(({ type }) => type === 'internal-error').length, 1);
});

test('an async listener that rejects for every entry does not cause an endless series of entries', async () => {
  const gear = quietGear();
  gear.onEntry(rejects);
  gear.breaker('tool').trip();
  await assertHandled();
  assert.equal(gear.journal().filter(({ type }) => type === 'internal-error').length, 1);
  assert.equal(gear.snapshot().internalErrors, 2);
});

test('a rejection of an async log function is counted once', async () => {
  const gear = quietGear({ log: rejects });
  gear.breaker('tool').trip();
  await assertHandled();
  assert.equal(gear.snapshot().internalErrors, 1);
});

test('a rejection of an async onTrip of a watch is counted', async () => {
  const gear = quietGear();
  const source = new EventEmitter();
  gear.watch('files', source, () => {}, { maxEvents: 1, onTrip: rejects });
  source.emit('change');
  source.emit('change');
  await assertHandled();
  assert.equal(gear.snapshot().internalErrors, 1);
});

test('a rejection of an async onHalt of accountEvents is counted', async () => {
  const gear = quietGear();
  const task = gear.startTask();
  accountEvents(gear, task, { onHalt: rejects });
  task.signal.addEventListener('abort', () => {});
  gear.halt(task.id, 'enough');
  await assertHandled();
  assert.equal(gear.snapshot().internalErrors, 1);
});

test('a rejection of an async listener of a standalone breaker causes a warning', async () => {
  const warnings: string[] = [];
  const heard = (warning: Error) => warnings.push(warning.message);
  process.on('warning', heard);
  const breaker = createBreaker({ name: 'api' });
  breaker.onChange(rejects);
  breaker.trip();
  await assertHandled();
  process.off('warning', heard);
  assert.deepEqual(warnings, ["a listener of the breaker 'api' threw: Error: the pager does not answer"]);
});

test('a rejection of onHalt or log of the compatible breakers is handled', async () => {
  let halts = 0;
  const onHalt = () => {
    halts++;
    return rejects();
  };
  const options = { clock: simulatedClock(), env: {}, log: 'silent', onHalt } as const;
  const session = new SessionBreaker({ maxToolCallsPerTask: 1 }, options);
  session.observe({ type: '[heartbeat]', taskId: 'a', phase: 'starting' });
  for (let call = 0; call < 3; call++) session.observe({ type: 'tool_use', taskId: 'a', name: 'x' } as never);
  assert.equal(halts, 1);
  delegationBreaker({ log: rejects }).recordDelegationFailure({}, 'worker', 'no');
  await assertHandled();
});

test('watchPolicy passes a rejection of onChange to onProblem, and warns if onProblem rejects', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-policy-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'switchgear.json');
  const clock = simulatedClock();
  const problems: string[] = [];
  const warnings: string[] = [];
  const heard = (warning: Error) => warnings.push(warning.message);
  process.on('warning', heard);
  writeFileSync(path, '{}');
  const onProblem = async (error: Error) => {
    problems.push(error.message);
    throw error;
  };
  const watch = watchPolicy(path, rejects, { clock, onProblem });
  writeFileSync(path, '{ "task": { "max_tool_calls": 3 } }');
  clock.advance(5_000);
  await assertHandled();
  watch.stop();
  process.off('warning', heard);
  assert.deepEqual(problems, ['the pager does not answer']);
  assert.deepEqual(warnings, ['onProblem of watchPolicy threw: Error: the pager does not answer']);
});

test('an async callback where a synchronous result is required counts as an internal error', async () => {
  const gear = quietGear();
  const classified = gear.guard('classified', () => 1, { classify: rejects as never });
  const used = gear.guard('used', () => 1, { usage: rejects as never });
  const bounded = gear.guard('bounded', () => 1, { maxCost: rejects as never });
  assert.equal(classified(), 1);
  assert.equal(used(), 1);
  assert.ok(isRefused(bounded()));
  assert.equal(await gear.delegate('worker', () => 'a report', { judge: rejects as never }), 'a report');
  await assertHandled();
  assert.equal(gear.snapshot().internalErrors, 4);
});

test('a control with an async judge refuses the call', async () => {
  const gear = quietGear();
  const judge = async () => allow;
  gear.addControl({
    name: 'async',
    scope: 'gear',
    initial: () => null,
    judge: judge as never,
    apply: (state) => state,
  });
  assert.ok(isRefused(gear.guard('tool', () => 1)()));
  await assertHandled();
});

test('retry awaits an async `when` callback', async () => {
  const gear = quietGear();
  let calls = 0;
  const run = () => {
    calls++;
    throw new Error('down');
  };
  await assert.rejects(gear.retry(run, { when: (async () => false) as never }), /down/);
  assert.equal(calls, 1);
});
