/** Payments above $500 need a yes: the small one passes, one is approved, and the one that is declined is not made. */

import assert from 'node:assert/strict';
import { type Approver, createSwitchgear, isRefused } from 'switchgear';

/** Stands in for a person at a terminal, a chat or an inbox: it gets the card and answers. */
const ann: Approver = {
  name: 'ann',
  async ask(card) {
    const approved = asked.push(card.evidence.join(': ')) === 1;
    console.log(`   asked: ${asked.at(-1)} -> ${approved ? 'yes' : 'no'}`);
    return { approved, by: 'ann' };
  },
};
const asked: string[] = [];

const gear = createSwitchgear({
  agent: 'Accountant',
  log: 'silent',
  approver: ann,
  policy: {
    rules: [
      { target: 'tool:pay', condition: 'amount>500', action: 'confirm', reason: 'More than $500 needs a person.' },
    ],
  },
});

const paid: number[] = [];
const pay = gear.guard('pay', async ({ amount }: { to: string; amount: number }) => {
  paid.push(amount);
  return `paid $${amount}`;
});

const result = await gear.task({}, async () => {
  for (const amount of [120, 750, 9_000]) {
    const answer = await pay({ to: 'ACME', amount });
    console.log(isRefused(answer) ? `$${amount}: ${answer.error} | ${answer.remediation}` : answer);
  }
});

assert.equal(result.status, 'done');
assert.deepEqual(paid, [120, 750]);
assert.equal(asked.length, 2);
assert.deepEqual(
  gear.snapshot().cards.map(({ kind, answer, by }) => [kind, answer, by]),
  [
    ['ask', 'approve', 'ann'],
    ['ask', 'decline', 'ann'],
  ],
);
