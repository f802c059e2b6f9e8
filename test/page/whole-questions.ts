/** Questions of rules while the page is open: a person approves, edits or declines there, and the tool learns it. */

import assert from 'node:assert/strict';
import { after } from 'node:test';
import { cardApprover } from '../../src/approvers/index.ts';
import { createChains } from '../../src/chains/index.ts';
import { createSwitchgear } from '../../src/index.ts';
import { chainOf, counting, step } from '../chains/run/run-setup.ts';
import { testWithBrowser } from './browser.ts';
import { type Served, servePage, untilShown } from './served-page.ts';

interface Order {
  readonly to: string;
  readonly amount: number;
}

/** A program that must ask before it pays; `paid` has what the tool got. */
function askingProgram(served: Served, timeoutSecs = 600) {
  const store = served.openStore();
  const rules = [{ target: 'pay', condition: 'ability:pay', action: 'confirm', reason: 'really pay?' }] as const;
  const policy = { rules, approval: { timeout_secs: timeoutSecs } };
  const gear = createSwitchgear({ store, approver: cardApprover({ store }), policy, log: 'silent', env: {} });
  after(() => gear.dispose());
  const paid: Order[] = [];
  const pay = gear.guard('pay', async (order: Order) => {
    paid.push(order);
    return `paid ${order.amount}`;
  });
  return { paid, pay: (order: Order) => gear.task(() => pay(order)) };
}

testWithBrowser('an approval runs the call once, and the next call is asked about again', async () => {
  const served = await servePage();
  const { card, pending, hears, problems } = await served.open();
  const { pay, paid } = askingProgram(served);
  const first = pay({ to: 'acme', amount: 200 });
  const question = card().filter({ hasText: 'really pay?' });
  await question.waitFor();
  await question
    .getByText(/"amount":\s*200/)
    .first()
    .waitFor();
  await question.getByText(/Expires in/).waitFor();
  await question.getByRole('button', { name: 'Approve once' }).click();
  assert.equal((await first).value, 'paid 200');
  await hears(/approved/i);
  await untilShown(async () => (await pending().count()) === 0);
  const second = pay({ to: 'acme', amount: 300 });
  await card().filter({ hasText: 'really pay?' }).getByRole('button', { name: 'Approve once' }).click();
  assert.equal((await second).value, 'paid 300');
  assert.deepEqual(
    paid.map(({ amount }) => amount),
    [200, 300],
  );
  assert.deepEqual(problems, []);
});

testWithBrowser('edited arguments are those that the tool gets', async () => {
  const served = await servePage();
  const { page, card, problems } = await served.open();
  const { pay, paid } = askingProgram(served);
  const result = pay({ to: 'acme', amount: 200 });
  await card().getByRole('button', { name: 'Edit and approve…' }).click();
  const dialog = page.getByRole('dialog');
  const box = dialog.getByRole('textbox');
  assert.deepEqual(JSON.parse(await box.inputValue()), { to: 'acme', amount: 200 });
  await box.fill('{"to":"acme",');
  await dialog.getByRole('button', { name: 'Approve with these arguments' }).click();
  assert.ok(await dialog.isVisible(), 'text that is no JSON is not sent');
  await box.fill('{"to":"acme","amount":17}');
  await dialog.getByRole('button', { name: 'Approve with these arguments' }).click();
  assert.equal((await result).value, 'paid 17');
  assert.deepEqual(paid, [{ to: 'acme', amount: 17 }]);
  assert.deepEqual(problems, []);
});

testWithBrowser('the note of a decline reaches the agent and the history', async () => {
  const served = await servePage();
  const { page, card, goTo, problems } = await served.open();
  const { pay, paid } = askingProgram(served);
  const result = pay({ to: 'acme', amount: 200 });
  await card().getByRole('button', { name: 'Decline…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox').fill('ask accounting first');
  await dialog.getByRole('button', { name: 'Decline' }).click();
  assert.match(JSON.stringify(await result), /ask accounting first/);
  assert.deepEqual(paid, []);
  await goTo('History');
  const row = page.getByRole('main');
  await row.getByText('ask accounting first').first().waitFor();
  assert.doesNotMatch(await row.innerText(), /"amount":\s*200/, 'an answered card shows no arguments');
  assert.deepEqual(problems, []);
});

testWithBrowser('a question that nobody answers expires on the page', async () => {
  const served = await servePage();
  const { page, card, pending, goTo, problems } = await served.open();
  const { pay, paid } = askingProgram(served, 4);
  const result = pay({ to: 'acme', amount: 200 });
  await card()
    .getByText(/Expires in \d+ s/)
    .waitFor();
  await result;
  await untilShown(async () => (await pending().count()) === 0);
  assert.deepEqual(paid, []);
  await goTo('History');
  await page
    .getByRole('main')
    .getByText(/expired/i)
    .first()
    .waitFor();
  assert.deepEqual(problems, []);
});

testWithBrowser('several questions are selected and approved at once', async () => {
  const served = await servePage();
  const { page, pending, problems } = await served.open();
  const { pay, paid } = askingProgram(served);
  const results = [1, 2, 3, 4].map((amount) => pay({ to: 'acme', amount }));
  await untilShown(async () => (await pending().count()) === 4);
  const boxes = page.getByRole('checkbox', { name: /^Select: / });
  for (const at of [0, 1, 2]) await boxes.nth(at).check();
  const toolbar = page.getByRole('toolbar', { name: 'Selected cards' });
  await toolbar.getByText('3 selected').waitFor();
  await toolbar.getByRole('button', { name: /Approve once/ }).click();
  await untilShown(async () => (await pending().count()) === 1);
  await untilShown(async () => paid.length === 3);
  await pending().getByRole('button', { name: 'Approve once' }).click();
  await Promise.all(results);
  assert.equal(paid.length, 4);
  assert.deepEqual(problems, []);
});

testWithBrowser('of two people who click at once one decides, and the other reads who it was', async () => {
  const served = await servePage();
  const people = await Promise.all(
    ['ann', 'bob'].map(async (name) =>
      served.open({
        address: await served.addToken(name, 'operator'),
        expected: /409/,
      }),
    ),
  );
  const { pay, paid } = askingProgram(served);
  for (let round = 1; round <= 3; round++) {
    const result = pay({ to: 'acme', amount: round });
    const buttons = people.map(({ card }) =>
      card().filter({ hasText: 'really pay?' }).getByRole('button', { name: 'Approve once' }),
    );
    // The button waits for the arguments.
    for (const button of buttons)
      await untilShown(async () => (await button.count()) === 1 && (await button.isEnabled()));
    // The button of the second person may be gone when the click comes.
    await Promise.all(
      buttons.map((button) => button.dispatchEvent('click', undefined, { timeout: 1_000 }).catch(() => undefined)),
    );
    assert.equal((await result).value, `paid ${round}`);
    for (const { pending } of people)
      await untilShown(async () => (await pending().filter({ hasText: 'really pay?' }).count()) === 0);
  }
  assert.equal(paid.length, 3);
  for (const { page, goTo } of people) {
    await goTo('History');
    await untilShown(async () => /ann|bob/.test(await page.getByRole('main').innerText()));
  }
  for (const { problems } of people) assert.deepEqual(problems, []);
});

testWithBrowser('approvals for a run and for always hold as long as they say, and can be revoked', async () => {
  const served = await servePage();
  const { page, card, goTo, problems } = await served.open();
  const store = served.openStore();
  const chains = createChains({
    ...{ abilities: [counting()], store, approver: cardApprover({ store }), log: 'silent', env: {} },
  });
  const rules = ['ability:pay|confirm|really pay?'];
  const twice = chainOf([step('a', { ability: 'pay' }), step('b', { ability: 'pay' })], rules);
  const forRun = chains.run(twice, {}, { id: 'monday' });
  await card().filter({ hasText: 'monday' }).getByRole('button', { name: 'Approve for this run' }).click();
  assert.equal((await forRun).status, 'done', 'the second step was not asked about');
  const once = chainOf(['pay'], rules, { id: 'bills' });
  const always = chains.run(once, {}, { id: 'tuesday' });
  await card().filter({ hasText: 'tuesday' }).getByRole('button', { name: 'Approve always' }).click();
  assert.equal((await always).status, 'done');
  assert.equal((await chains.run(once, {}, { id: 'wednesday' })).status, 'done', 'a standing approval asks nobody');
  await goTo('Standing approvals');
  const revoke = page.getByRole('button', { name: /Revoke/ });
  await revoke.first().click();
  await untilShown(async () => (await revoke.count()) === 0);
  await goTo('Inbox');
  const asked = chains.run(once, {}, { id: 'thursday' });
  await card().filter({ hasText: 'thursday' }).getByRole('button', { name: 'Approve once' }).click();
  assert.equal((await asked).status, 'done');
  assert.deepEqual(problems, []);
});
