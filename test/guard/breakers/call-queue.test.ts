/** Calls that wait for a slot of `max_concurrent`. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, haltOf, type PolicyDocument, refusalOf } from '../../../src/index.ts';
import { promisesSettled, simulatedClock } from '../../../src/testing/index.ts';

/** A tool whose calls end by hand, with the order in which they began. */
function stage(breaker: PolicyDocument['circuit_breaker'] = { max_concurrent: 1, max_queue: 10 }) {
  const clock = simulatedClock();
  const gear = createSwitchgear({ clock, log: 'silent', env: {}, policy: { circuit_breaker: breaker } });
  const begun: number[] = [];
  const ends = new Map<number, { resolve(): void; reject(error: Error): void }>();
  const tool = gear.guard('tool', async (id: number) => {
    begun.push(id);
    await new Promise<void>((resolve, reject) => ends.set(id, { resolve, reject }));
    return id;
  });
  const end = async (id: number) => {
    ends.get(id)!.resolve();
    await promisesSettled();
  };
  return { clock, gear, begun, ends, tool, end };
}

const codeOf = async (result: unknown) => refusalOf(await result)?.code;

test('calls above max_concurrent wait, and begin in the order in which they came', async () => {
  const { gear, begun, tool, end, clock } = stage({ max_concurrent: 2, max_queue: 10 });
  const calls = [1, 2, 3, 4, 5].map((id) => tool(id));
  await promisesSettled();
  assert.deepEqual(begun, [1, 2]);
  await end(2);
  assert.deepEqual(begun, [1, 2, 3]);
  await end(1);
  await end(3);
  await end(4);
  await end(5);
  assert.deepEqual(await Promise.all(calls), [1, 2, 3, 4, 5]);
  assert.deepEqual(begun, [1, 2, 3, 4, 5]);
  const { stats } = gear.breaker('tool');
  assert.equal(stats.inFlight, 0);
  assert.equal(stats.rejectedRequests ?? 0, 0);
  await clock.elapse(60_000);
  assert.equal(clock.pending, 0);
});

test('a call that arrives when a slot is free does not overtake those that wait', async () => {
  const { begun, tool, ends } = stage();
  const calls = [tool(1), tool(2)];
  await promisesSettled();
  ends.get(1)!.resolve();
  await undefined;
  for (let turns = 0; turns < 12 && begun.length < 2; turns++) {
    calls.push(tool(10 + turns));
    await undefined;
  }
  assert.equal(begun[1], 2);
  for (let left = calls.length; left > 0; left--) {
    for (const end of ends.values()) end.resolve();
    await promisesSettled();
  }
  await Promise.all(calls);
});

test('a full queue and a wait that is too long refuse, and leave nothing behind', async () => {
  const { clock, gear, tool, end } = stage({
    max_concurrent: 1,
    max_queue: 1,
    queue_timeout_secs: 5,
    timeout_secs: 'none',
  });
  const first = tool(1);
  const second = tool(2);
  const third = refusalOf(await tool(3));
  assert.equal(third?.code, 'concurrency_limit');
  assert.match(third!.message, /1 more wait \(max_queue\)/);
  await clock.elapse(5_000);
  const late = refusalOf(await second);
  assert.equal(late?.code, 'concurrency_limit');
  assert.match(late!.message, /within 5 s \(queue_timeout_secs\)/);
  const next = tool(4);
  await end(1);
  await end(4);
  assert.deepEqual(await Promise.all([first, next]), [1, 4]);
  assert.equal(gear.breaker('tool').stats.inFlight, 0);
  await clock.elapse(60_000);
  assert.equal(clock.pending, 0);
});

test('a call that fails, times out or is halted gives its slot to the next one', async () => {
  const { clock, gear, begun, tool, ends, end } = stage({ max_concurrent: 1, max_queue: 10, timeout_secs: 10 });
  const failed = tool(1);
  const second = tool(2);
  await promisesSettled();
  ends.get(1)!.reject(new Error('down'));
  await assert.rejects(failed, /down/);
  await promisesSettled();
  assert.deepEqual(begun, [1, 2]);
  const third = tool(3);
  second.catch(() => {});
  await clock.elapse(10_000);
  await assert.rejects(second, { name: 'TimeoutError' });
  // The work of the second call goes on, so its slot is taken until it ends.
  assert.deepEqual(begun, [1, 2]);
  await end(2);
  assert.deepEqual(begun, [1, 2, 3]);
  const halted = gear.task({}, () => tool(4));
  const last = tool(5);
  await promisesSettled();
  gear.haltAll('enough');
  assert.equal(haltOf(await halted)?.code, 'operator_halt');
  await end(3);
  await end(5);
  assert.equal(await third, 3);
  assert.equal(await last, 5);
  assert.deepEqual(begun, [1, 2, 3, 5]);
});

test('a signal takes a call out of the queue, and so does the end of the gear', async () => {
  const clock = simulatedClock();
  const gear = createSwitchgear({ clock, log: 'silent', env: {} });
  const controller = new AbortController();
  const options = { maxConcurrent: 1, maxQueue: 5, signal: controller.signal };
  const hold = gear.guard('tool', () => new Promise<string>(() => {}), { maxConcurrent: 1, maxQueue: 5 });
  const begun: number[] = [];
  const tool = gear.guard('tool', async (id: number) => begun.push(id), options);
  void hold();
  const waiting = tool(1);
  waiting.catch(() => {});
  await promisesSettled();
  const reason = new Error('closed');
  controller.abort(reason);
  await assert.rejects(waiting, reason);
  const other = gear.guard('tool', async (id: number) => begun.push(id), { maxConcurrent: 1, maxQueue: 5 });
  const left = other(2);
  await promisesSettled();
  gear.dispose();
  assert.equal(await codeOf(left), 'concurrency_limit');
  assert.deepEqual(begun, []);
});

test('a circuit that opens refuses the calls in its queue', async () => {
  const { tool, ends, begun } = stage({ max_concurrent: 1, max_queue: 10, failure_threshold: 1 });
  const failed = tool(1);
  const others = [tool(2), tool(3)];
  await promisesSettled();
  ends.get(1)!.reject(new Error('down'));
  await assert.rejects(failed);
  assert.deepEqual(await Promise.all(others.map(codeOf)), ['circuit_open', 'circuit_open']);
  assert.deepEqual(begun, [1]);
});

test('a synchronous function does not wait: its call is refused', async () => {
  const { gear } = stage();
  const inner = gear.guard('sync', (depth: number): unknown => (depth === 0 ? 'end' : inner(depth - 1)));
  assert.equal(await codeOf(inner(1)), 'concurrency_limit');
  assert.equal(gear.admit('sync', []).refused, undefined);
  assert.equal(gear.admit('sync', []).refused?.concurrency_limit, true);
});

test('a call waits for a person before it takes a place in the queue', async () => {
  const clock = simulatedClock();
  let approve = () => {};
  const ask = () =>
    new Promise<{ approved: boolean; by: string }>((resolve) => {
      approve = () => resolve({ approved: true, by: 'ann' });
    });
  const gear = createSwitchgear({
    clock,
    log: 'silent',
    env: {},
    approver: { name: 'ann', ask },
    policy: {
      rules: ['amount>10|confirm|"Pay?"'],
      circuit_breaker: { max_concurrent: 1, max_queue: 5 },
      rule_settings: { lookup: ['args'] },
    },
  });
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const pay = gear.guard('pay', async ({ amount }: { amount: number }) => {
    begun.push(amount);
    await new Promise<void>((resolve) => ends.push(resolve));
  });
  const calls = [pay({ amount: 1 }), pay({ amount: 100 }), pay({ amount: 2 })];
  await promisesSettled();
  ends.shift()!();
  await promisesSettled();
  assert.deepEqual(begun, [1, 2]);
  approve();
  await promisesSettled();
  ends.shift()!();
  await promisesSettled();
  assert.deepEqual(begun, [1, 2, 100]);
  ends.shift()!();
  await Promise.all(calls);
});

test('an observing gear neither queues nor refuses', async () => {
  const clock = simulatedClock();
  const policy: PolicyDocument = { mode: 'observe', circuit_breaker: { max_concurrent: 1, max_queue: 1 } };
  const gear = createSwitchgear({ clock, log: 'silent', env: {}, policy });
  const tool = gear.guard('tool', async (id: number) => id);
  assert.deepEqual(await Promise.all([1, 2, 3].map((id) => tool(id))), [1, 2, 3]);
});
