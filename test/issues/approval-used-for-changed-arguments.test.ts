/** A yes held for arguments that were changed while the person read them, and after its time. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, refusalOf } from '../../src/index.ts';
import type { Answer } from '../../src/ports/approver.ts';
import { promisesSettled, simulatedClock } from '../../src/testing/simulated-clock.ts';

const policy = { rules: [{ target: 'tool:pay', condition: 'amount>500', action: 'confirm' }] } as const;

test('if arguments change while a question is open, a person is asked again', async () => {
  const order = { amount: 600 };
  const answers = [true, false];
  const approver = {
    name: 'boss',
    async ask() {
      order.amount = 1_000_000;
      return { approved: answers.shift() ?? false, by: 'ann' };
    },
  };
  const gear = createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {}, policy, approver });
  const paid: number[] = [];
  const pay = gear.guard('pay', async ({ amount }: { amount: number }) => paid.push(amount));
  await gear.task({}, () => pay(order));
  assert.deepEqual([paid, answers], [[], []]);
});

test('an answer without a person is recorded under the name of the approver', async () => {
  const approver = { name: 'boss', ask: async () => ({ approved: true }) as Answer };
  const gear = createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {}, policy, approver });
  const pay = gear.guard('pay', async ({ amount }: { amount: number }) => amount);
  const result = await gear.task({}, () => pay({ amount: 501 }));
  assert.equal(result.value, 501);
  assert.equal(gear.snapshot().cards[0]?.by, 'boss');
});

test('an approval after the approval timeout does not count, even if the timer has not fired yet', async () => {
  let nowMs = 0;
  const clock = { nowMs: () => nowMs, wallMs: () => nowMs, after: () => () => {} };
  const answer = Promise.withResolvers<Answer>();
  const approver = { name: 'boss', ask: () => answer.promise };
  const gear = createSwitchgear({ clock, log: 'silent', env: {}, policy, approver });
  const pay = gear.guard('pay', async ({ amount }: { amount: number }) => amount);
  const result = gear.task({}, () => pay({ amount: 501 }));
  await promisesSettled();
  nowMs = 120_000;
  answer.resolve({ approved: true, by: 'ann' });
  assert.equal(refusalOf((await result).value)?.code, 'rule_unanswered');
  assert.equal(gear.snapshot().cards[0]?.state, 'expired');
});
