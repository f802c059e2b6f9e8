/** The board while programs run: breakers that open and close, tasks that are steered, timelines, chains, the store. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after } from 'node:test';
import { createChains } from '../../src/chains/index.ts';
import { createSwitchgear } from '../../src/index.ts';
import { chainOf, counting } from '../chains/run/run-setup.ts';
import { testWithBrowser } from './browser.ts';
import { servePage, untilShown } from './served-page.ts';
import { playDoubt } from './stage.ts';

testWithBrowser('a breaker is shown open, half-open and closed as it moves, with its last error', async () => {
  const served = await servePage();
  const { page, goTo, problems } = await served.open();
  const store = served.openStore();
  const policy = { circuit_breaker: { failure_threshold: 2, recovery_timeout_secs: 2, success_threshold: 2 } };
  const gear = createSwitchgear({ store, policy, log: 'silent', env: {} });
  after(() => gear.dispose());
  let isDown = true;
  const search = () => gear.run('search', () => (isDown ? Promise.reject(new TypeError('down')) : Promise.resolve(1)));
  const fail = () => search().then(undefined, () => undefined);
  await goTo('Breakers');
  await fail();
  await fail();
  const row = page.getByRole('table', { name: 'Breakers' }).getByRole('row').filter({ hasText: 'search' });
  await row.filter({ has: page.getByRole('cell', { name: /^open/i }) }).waitFor();
  assert.match(await row.innerText(), /TypeError/, 'the class of the last error');
  await fail();
  isDown = false;
  await untilShown(async () => (await search()) === 1);
  await row.filter({ hasText: /half.open/i }).waitFor();
  await search();
  await row.filter({ has: page.getByRole('cell', { name: /^closed/i }) }).waitFor();
  const filter = page.getByRole('checkbox', { name: 'Only not closed' });
  await filter.check();
  await untilShown(async () => (await row.count()) === 0);
  assert.deepEqual(problems, []);
});

testWithBrowser('reset, hold open and release reach the program at once', async () => {
  const served = await servePage();
  const { page, goTo, problems } = await served.open();
  const store = served.openStore();
  const gear = createSwitchgear({
    store,
    policy: { circuit_breaker: { failure_threshold: 1 } },
    log: 'silent',
    env: {},
  });
  after(() => gear.dispose());
  const call = (works: boolean) =>
    gear.run('search', () => (works ? Promise.resolve('found') : Promise.reject(new Error('down'))));
  const isFound = async () => (await call(true)) === 'found';
  await call(false).then(undefined, () => undefined);
  assert.equal(await isFound(), false);
  await goTo('Breakers');
  const row = page.getByRole('table', { name: 'Breakers' }).getByRole('row').filter({ hasText: 'search' });
  await row.getByRole('button', { name: /Reset/ }).click();
  await row.filter({ has: page.getByRole('cell', { name: /^closed/i }) }).waitFor();
  await untilShown(isFound);
  await row.getByRole('button', { name: /Hold open/ }).click();
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /Hold open/ })
    .click();
  await row.getByRole('button', { name: /Release/ }).waitFor();
  await untilShown(async () => !(await isFound()));
  await row.getByRole('button', { name: /Release/ }).click();
  await untilShown(isFound);
  assert.deepEqual(problems, []);
});

testWithBrowser('tasks are shown against their limits, and are paused, resumed and halted', async () => {
  const served = await servePage();
  const { page, goTo, card, problems } = await served.open();
  const agent = served.startAgent(['--max-calls', '50', '--', 'claude', '-p', 'calls 3,silent']);
  await goTo('Tasks');
  const row = page.getByRole('row').filter({ hasText: '3 of 50' });
  await row.waitFor();
  await row.getByRole('button', { name: /Pause/ }).click();
  await row.filter({ hasText: /paused/i }).waitFor();
  await row.getByRole('button', { name: /Resume/ }).click();
  await row.filter({ hasText: /running/i }).waitFor();
  await row.getByRole('button', { name: /Halt/ }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox').fill('enough');
  await dialog.getByRole('button', { name: /Halt/ }).click();
  await goTo('Inbox');
  await card()
    .filter({ hasText: /operator|enough/i })
    .getByRole('button', { name: 'Dismiss' })
    .click();
  assert.equal((await agent.finished).code, 75);
  assert.deepEqual(problems, []);
});

testWithBrowser('a timeline has a table, a filter, an address of its own and an export', async () => {
  const served = await servePage();
  const { page, goTo, problems } = await served.open();
  const store = served.openStore();
  const policy = { circuit_breaker: { failure_threshold: 2 }, journal: { level: 'all' as const } };
  const gear = createSwitchgear({ store, policy, log: 'silent', env: {} });
  after(() => gear.dispose());
  const task = gear.startTask({ id: 'research' });
  await task.run(async () => {
    for (let at = 0; at < 3; at++) await gear.run('read', () => 'text');
    for (let at = 0; at < 3; at++)
      await gear.run('search', () => Promise.reject(new Error('down'))).then(undefined, () => undefined);
  });
  await store.shared.settled();
  await goTo('Tasks');
  await page.getByRole('row').filter({ hasText: 'research' }).getByRole('link').first().click();
  await untilShown(async () => page.url().endsWith('#/tasks/research'));
  await page.getByText('Show as table').click();
  const rows = page.getByRole('main').getByRole('table').first().getByRole('row');
  await rows.filter({ hasText: 'search' }).first().waitFor();
  await rows.filter({ hasText: 'read' }).first().waitFor();
  await page.getByRole('checkbox', { name: 'Only refused or failed' }).check();
  await untilShown(async () => (await rows.filter({ hasText: 'read' }).count()) === 0);
  await untilShown(async () => (await rows.filter({ hasText: 'search' }).count()) > 0);
  const link = await page.getByRole('link', { name: 'Permalink' }).getAttribute('href');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export as JSON lines' }).click(),
  ]);
  const lines = readFileSync(await download.path(), 'utf8')
    .trim()
    .split('\n');
  assert.ok(lines.length >= 6 && lines.every((line) => typeof JSON.parse(line).seq === 'number'));
  await page.goto('about:blank');
  await page.goto(new URL(link ?? '', `${served.origin}/`).href);
  await page.getByRole('main').getByText('research').first().waitFor();
  assert.ok(
    await page.getByRole('checkbox', { name: 'Only refused or failed' }).isChecked(),
    'the link has the filter',
  );
  task.end();
  assert.deepEqual(problems, []);
});

testWithBrowser(
  'chain runs show their steps; one that waits is cancelled, and the store has its processes',
  async () => {
    const served = await servePage();
    const { page, goTo, problems } = await served.open();
    const store = served.openStore();
    const chains = createChains({ abilities: [counting()], store, log: 'silent', env: {} });
    const chain = chainOf(['first', 'pay'], ['ability:pay|confirm|really pay?'], { id: 'bills' });
    await chains.run(chain, {}, { id: 'monday', wait: false });
    await goTo('Chains');
    const run = page.getByRole('main').getByRole('row').filter({ hasText: 'monday' });
    await run.filter({ hasText: /waiting/i }).waitFor();
    await run.getByRole('link').first().click();
    await page.getByRole('main').getByText('first').first().waitFor();
    await page.getByRole('main').getByText('pay').first().waitFor();
    await page
      .getByRole('button', { name: /Cancel/ })
      .first()
      .click();
    const dialog = page.getByRole('dialog');
    if (await dialog.isVisible()) await dialog.getByRole('button', { name: /Cancel the run/ }).click();
    await page
      .getByRole('main')
      .getByText(/cancelled/i)
      .first()
      .waitFor();
    await goTo('Store');
    await page
      .getByRole('main')
      .getByText(/process/i)
      .first()
      .waitFor();
    assert.deepEqual(problems, []);
  },
);

testWithBrowser('a step in doubt is resolved by a person', async () => {
  const served = await servePage();
  const { page, goTo, problems } = await served.open();
  await playDoubt(served, 'payout-november');
  await goTo('Chains');
  const run = page.getByRole('main').getByRole('row').filter({ hasText: 'payout-november' });
  await run.filter({ hasText: /in doubt/i }).waitFor();
  await run.getByRole('link').first().click();
  await page.getByRole('main').getByText('transfer').first().waitFor();
  await page
    .getByRole('button', { name: /done|was done|it ran/i })
    .first()
    .click();
  const dialog = page.getByRole('dialog');
  if (await dialog.isVisible()) await dialog.getByRole('button', { name: /done|resolve/i }).click();
  await untilShown(async () => !/in doubt/i.test(await page.getByRole('main').innerText()));
  const { out } = await served.run(['chain', 'show', 'payout-november']);
  assert.doesNotMatch(out, /in doubt/);
  assert.deepEqual(problems, []);
});
