/** A person approves a call with other arguments: all rules judge them, and the tool gets exactly these. */

import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Answer, type Approver, cardApprover } from '../../../src/approvers/index.ts';
import { main } from '../../../src/cli/main.ts';
import { hostCall } from '../../../src/guard/entries/host-call.ts';
import { createSwitchgear, refusalOf } from '../../../src/index.ts';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';
import { promisesSettled } from '../../../src/testing/index.ts';

const rules = ['amount>1000|abort|"Never."', 'amount>10|confirm|"Pay?"', 'amount>500|confirm|"So much?"'];
const policy = { rules, rule_settings: { lookup: ['args' as const] } };

/** A gear whose person gives these answers. */
function stage(...answers: readonly Partial<Answer>[]) {
  const asked: string[] = [];
  const left = [...answers];
  const approver: Approver = {
    name: 'ann',
    async ask(card) {
      asked.push(card.input ?? '');
      return { approved: true, by: 'ann', ...left.shift() };
    },
  };
  const gear = createSwitchgear({ log: 'silent', env: {}, policy, approver });
  const paid: unknown[] = [];
  const pay = gear.guard('pay', async (order: { amount: number }) => {
    paid.push(order);
    return 'paid';
  });
  return { gear, asked, paid, pay };
}

test('the tool gets the edited arguments, and the card records the person and the edit, not the values', async () => {
  const { gear, asked, paid, pay } = stage({ args: [{ amount: 17 }] });
  const cards: { readonly digest?: string; readonly answer?: string }[] = [];
  gear.on('card-changed', ({ card }) => cards.push(card));
  assert.equal(await pay({ amount: 200 }), 'paid');
  assert.deepEqual(paid, [{ amount: 17 }]);
  assert.equal(asked.length, 1); // The rule that asked is not asked again about the same digest.
  const [first, last] = [cards[0], cards.at(-1)];
  assert.equal(last?.answer, 'approve_edited');
  assert.notEqual(last?.digest, first?.digest);
  assert.doesNotMatch(JSON.stringify([...gear.journal()]), /"amount":/);
});

test('an edit is judged by all rules: one aborts, another asks about the edited arguments', async () => {
  const forbidden = stage({ args: [{ amount: 5000 }] });
  assert.equal(refusalOf(await forbidden.pay({ amount: 200 }))?.code, 'rule_abort');
  assert.deepEqual(forbidden.paid, []);
  const more = stage({ args: [{ amount: 700 }] }, { approved: false });
  assert.equal(refusalOf(await more.pay({ amount: 200 }))?.code, 'rule_declined');
  assert.deepEqual(more.paid, []);
  assert.match(more.asked[1]!, /700/);
});

test('arguments that change after the approval are not called', async () => {
  const args = [{ amount: 17 }];
  const { paid, pay } = stage({ args }, { approved: false });
  const result = pay({ amount: 200 });
  queueMicrotask(() => {
    args[0]!.amount = 900;
  });
  await result;
  assert.ok(!paid.some((order) => (order as { amount: number }).amount > 500));
});

test('arguments that are not a list, and a host that cannot take others, refuse the call with a sentence', async () => {
  const wrong = stage({ args: { amount: 17 } as never });
  const refusal = refusalOf(await wrong.pay({ amount: 200 }));
  assert.equal(refusal?.code, 'rule_unanswered');
  assert.match(JSON.stringify(refusal), /not a list/);
  const fixed = stage({ args: [{ amount: 17 }] });
  const answer = await hostCall(fixed.gear, 'pay', [{ amount: 200 }], () => 'paid');
  assert.match(JSON.stringify(answer), /cannot be put in place/);
});

test('a host that asks itself may hand back other arguments, which are judged and run', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {}, policy });
  const host = { id: 'call-1', canEdit: true, ask: () => ({ approved: true, by: 'bob', args: [{ amount: 17 }] }) };
  const answer = await hostCall(gear, 'pay', [{ amount: 200 }], (_, args) => args, host);
  assert.deepEqual(answer, { value: [{ amount: 17 }] });
});

test('an answer from the inbox carries the edited arguments sealed through the store', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'edited-')), 'store.db');
  const asking = sqliteStore({ path });
  const gear = createSwitchgear({
    log: 'silent',
    env: {},
    policy,
    store: asking,
    approver: cardApprover({ store: asking }),
  });
  const other = createSwitchgear({ log: 'silent', env: {}, store: sqliteStore({ path }) });
  const paid: unknown[] = [];
  const result = gear.guard('pay', async (order: { amount: number }) => paid.push(order))({ amount: 200 });
  await promisesSettled();
  const [card] = gear.cards.list();
  assert.deepEqual(card!.actions, ['approve', 'approve_edited', 'decline']);
  assert.throws(() => gear.cards.answer(card!.id, 'approve_edited', 'ann', 'no json'), /must be JSON/);
  other.snapshot();
  other.cards.answer(card!.id, 'approve_edited', 'ann', '{"amount":17}');
  await result;
  assert.deepEqual(paid, [{ amount: 17 }]);
  gear.dispose();
  other.dispose();
});

test('switchgear inbox approve --edit lets a call run with the arguments of the file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-edit-'));
  const [path, file] = [join(folder, 'state.db'), join(folder, 'args.json')];
  const store = sqliteStore({ path });
  const approver = cardApprover({ store });
  const gear = createSwitchgear({ log: 'silent', env: {}, policy, store, approver });
  const paid: unknown[] = [];
  const pay = gear.guard('pay', async (order: { amount: number }) => paid.push(order));
  const inbox = async (text: string, ...more: readonly string[]) => {
    writeFileSync(file, text);
    const lines: string[] = [];
    const terminal = { cwd: folder, env: { HOME: folder }, out: (line: string) => lines.push(line) };
    const { id } = gear.cards.list().find(({ state }) => state === 'open')!;
    const words = ['inbox', 'approve', id, '--edit', file, ...more, '--store', `sqlite:${path}`];
    const code = await main(words, { ...terminal, err: (line) => lines.push(line) });
    return [code, lines.join('\n')] as const;
  };
  const result = pay({ amount: 200 });
  await promisesSettled();
  assert.match((await inbox('no json'))[1], /must be JSON/);
  assert.match((await inbox('{"amount":17}', '--for', 'run'))[1], /cannot be combined with --for/);
  assert.deepEqual(paid, []);
  const [code, said] = await inbox('{"amount":17}');
  assert.equal(code, 0, said);
  await result;
  assert.deepEqual(paid, [{ amount: 17 }]);
  const [card] = gear.cards.list();
  assert.deepEqual([card?.state, card?.answer], ['used', 'approve_edited']);
  // The rules judge the edited arguments: this one aborts.
  const refused = pay({ amount: 200 });
  await promisesSettled();
  assert.equal((await inbox('{"amount":5000}'))[0], 0);
  assert.equal(refusalOf(await refused)?.code, 'rule_abort');
  assert.equal(paid.length, 1);
  gear.dispose();
});
