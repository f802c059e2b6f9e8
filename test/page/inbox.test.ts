/** The short form of the tests of the page: one halt, one approval, and axe in both themes. */

import assert from 'node:assert/strict';
import { after } from 'node:test';
import { cardApprover } from '../../src/approvers/index.ts';
import { createSwitchgear } from '../../src/index.ts';
import { assertAccessible, testWithBrowser } from './browser.ts';
import { servePage, untilShown } from './served-page.ts';

testWithBrowser('a halt and a question appear on an open page in both themes, and are decided there', async () => {
  const served = await servePage();
  const pages = await Promise.all((['light', 'dark'] as const).map((colorScheme) => served.open({ colorScheme })));
  const [light, dark] = pages as [(typeof pages)[0], (typeof pages)[0]];
  const agent = served.startAgent(['--max-calls', '5', '--', 'claude', '-p', 'calls 9'], { FAKE_RESUMED: 'calls 3' });
  const store = served.openStore();
  const rules = [{ target: 'pay', condition: 'ability:pay', action: 'confirm', reason: 'really pay?' }] as const;
  const gear = createSwitchgear({
    ...{ store, approver: cardApprover({ store }), policy: { rules }, log: 'silent', env: {} },
  });
  after(() => gear.dispose());
  const pay = gear.guard('pay', async (order: { readonly amount: number }) => order.amount);
  const paid = gear.task(() => pay({ amount: 200 }));

  const halt = { hasText: '6 of 5' };
  const question = { hasText: 'really pay?' };
  for (const { page, card } of pages) {
    await card().filter(halt).waitFor();
    await card().filter(question).waitFor();
    await assertAccessible(page, 'the inbox');
  }
  await light.card().filter(question).getByRole('button', { name: 'Approve once' }).click();
  assert.equal((await paid).value, 200);
  await dark
    .card()
    .filter(halt)
    .getByRole('button', { name: /^Try again with a limit of \d+/ })
    .click();
  const { code, out } = await agent.finished;
  assert.deepEqual([code, out], [0, 'done after 3 calls\n']);
  for (const { pending, problems } of pages) {
    await untilShown(async () => (await pending().count()) === 0);
    assert.deepEqual(problems, []);
  }
});
