/** A call that nobody approved was refused, and once escaped every count: an agent could go on asking for ever. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, refusalOf, type SwitchgearOptions } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

const confirmPayments = {
  rules: [{ target: 'tool:pay', condition: 'amount>500', action: 'confirm', reason: 'More than $500 needs a person.' }],
} as const;

function payingGear(options: SwitchgearOptions = {}) {
  const clock = simulatedClock();
  const gear = createSwitchgear({ clock, log: 'silent', env: {}, policy: confirmPayments, ...options });
  const paid: number[] = [];
  const pay = gear.guard('pay', async ({ amount }: { amount: number }) => paid.push(amount));
  return { clock, gear, pay, paid };
}

test('unapproved calls count as denials and halt the task', async () => {
  const { gear, pay, paid } = payingGear();
  const seen: (string | undefined)[] = [];
  const result = await gear.task({}, async () => {
    for (let amount = 900; amount > 800; amount--) seen.push(refusalOf(await pay({ amount }))?.code);
  });
  assert.deepEqual(seen.slice(0, 5), [...Array(4).fill('rule_unanswered'), 'denial_limit']);
  assert.equal(result.status === 'halted' && result.halt.code, 'denial_limit');
  assert.deepEqual(paid, []);
});

test('a declined call counts as a call of its task, once', async () => {
  const approver = { name: 'boss', ask: async () => ({ approved: false, by: 'ann' }) };
  const { gear, pay } = payingGear({ approver });
  const task = gear.startTask();
  const value = await task.run(() => pay({ amount: 900 }));
  assert.equal(refusalOf(value)?.code, 'rule_declined');
  assert.equal(task.snapshot().toolCalls, 1);
  assert.deepEqual(
    gear.journal().flatMap((entry) => (entry.type === 'action-refused' ? [[entry.after, entry.enforced]] : [])),
    [['ask', true]],
  );
});

test('an approved call counts as a call of its task, once', async () => {
  const approver = { name: 'boss', ask: async () => ({ approved: true, by: 'ann' }) };
  const { gear, pay, paid } = payingGear({ approver });
  const task = gear.startTask();
  await task.run(() => pay({ amount: 900 }));
  assert.equal(task.snapshot().toolCalls, 1);
  assert.deepEqual(paid, [900]);
});

test('the same declined call, proposed again and again unchanged, halts the task', async () => {
  let asked = 0;
  const approver = { name: 'boss', ask: async () => ({ approved: false, by: `ann ${++asked}` }) };
  const { gear, pay } = payingGear({ approver });
  const result = await gear.task({}, async () => {
    for (let time = 0; time < 10; time++) await pay({ amount: 900 });
  });
  assert.equal(result.status === 'halted' && result.halt.code, 'tool_loop');
  assert.equal(asked, 2);
});

test('unapproved calls of a synchronous tool and of a host are counted', async () => {
  const { gear } = payingGear();
  const pay = gear.guard('pay', ({ amount }: { amount: number }) => amount);
  for (const propose of [
    (amount: number) => refusalOf(pay({ amount })),
    (amount: number) => refusalOf(gear.admit('pay', [{ amount }]).refused),
  ]) {
    const result = await gear.task({}, async () => {
      const seen = [];
      for (let amount = 900; amount > 890; amount--) {
        seen.push(propose(amount)?.code);
        await undefined; // Refusals that nobody could read yet count once.
      }
      return seen;
    });
    assert.deepEqual(result.value?.slice(0, 5), [...Array(4).fill('rule_unanswered'), 'denial_limit']);
  }
});

test('the card of an unanswered question expires', async () => {
  const approver = { name: 'boss', ask: () => new Promise<never>(() => {}) };
  const { gear, pay, clock } = payingGear({ approver });
  const waiting = gear.task({}, () => pay({ amount: 900 }));
  await clock.elapse(119_000);
  assert.equal(gear.snapshot().cards[0]?.state, 'open');
  await clock.elapse(1_000);
  assert.equal(gear.snapshot().cards[0]?.state, 'expired');
  assert.equal((await waiting).status, 'done');
});
