/** The no of a person and a wait that nobody could make counted as denials, and five of them ended the task. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, refusalOf } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

const plain = { log: 'silent', env: {} } as const;
const codeOf = (value: unknown) => refusalOf(value)?.code;
const unless = { rules: [{ target: 'tool:pay', condition: 'amount>500', action: 'confirm' }] } as const;

test('a task whose calls a person declines one after another goes on', async () => {
  let asked = 0;
  const approver = { name: 'boss', ask: async () => ({ approved: false, by: `ann ${++asked}` }) };
  const gear = createSwitchgear({ ...plain, clock: simulatedClock(), policy: unless, approver });
  const pay = gear.guard('pay', async (input: { amount: number }) => `paid ${input.amount}`);
  const result = await gear.task({}, async (task) => {
    const codes: unknown[] = [];
    for (let n = 1; n <= 8; n++) codes.push(codeOf(await pay({ amount: 1_000 + n })));
    assert.deepEqual([codes, asked, task.halt], [Array(8).fill('rule_declined'), 8, undefined]);
    return pay({ amount: 5 });
  });
  assert.deepEqual(result, { status: 'done', value: 'paid 5' });
});

test('a task in which nobody answers its questions ends at the fifth refusal', async () => {
  const gear = createSwitchgear({ ...plain, clock: simulatedClock(), policy: unless });
  const pay = gear.guard('pay', async (input: { amount: number }) => `paid ${input.amount}`);
  const result = await gear.task({}, async () => {
    for (let n = 1; n <= 5; n++) await pay({ amount: 1_000 + n });
  });
  assert.equal(result.status === 'halted' && result.halt.code, 'denial_limit');
});

test('a call that would have to wait, of a host that cannot wait, is refused and is no denial', async () => {
  const clock = simulatedClock();
  const policy = { delegation: { backoff: true, max_failures: 4 } };
  const gear = createSwitchgear({ ...plain, clock, policy });
  const task = gear.startTask();
  const admit = () => gear.admit('chef', [], { kind: 'delegation', task: task.id });
  const first = admit();
  assert.equal(first.refused, undefined);
  if (first.refused === undefined) first.settle({ error: new Error('down') });
  for (let n = 1; n <= 8; n++) assert.equal(codeOf(admit().refused), 'delegation_limit', `proposal ${n}`);
  assert.equal(task.halt, undefined);
  await clock.elapse(2_000);
  assert.equal(admit().refused, undefined);
});
