/** Scripted agents under `switchgear run` reach every limit while the page is open, and a person decides there. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../supervisor/processes.ts';
import { testWithBrowser } from './browser.ts';
import { type Served, type SignedInPage, servePage, untilShown } from './served-page.ts';

const words = 'I am going to look at the configuration file again because it may hold the answer to this question.';

/** Agents, each with the words of its card and how it is ended. */
const agents: readonly (readonly [reason: string, args: readonly string[], card: RegExp])[] = [
  ['tool_call_limit', ['--max-calls', '5', '--', 'claude', '-p', 'calls 60'], /6 of 5/],
  ['token_spend_limit', ['--max-spend', '1', '--', 'claude', '-p', 'spend 1'], /\$2\.01 of \$1\.00/],
  ['token_limit', ['--max-tokens', '1000', '--', 'claude', '-p', 'spend 1'], /333,?334 of 1,?000/],
  ['duration_limit', ['--max-duration', '1s', '--', 'codex', 'exec', 'silent'], /running for \d+ s of 1 s/],
  ['idle_timeout', ['--max-idle', '1s', '--', 'gemini', '-p', 'silent'], /silent for \d+ s of 1 s/],
  ['tool_loop', ['--', 'claude', '-p', 'spiral'], /failed 5 times/],
  [
    'output_loop',
    ['--', 'sh', '-c', `for n in 1 2 3 4 5; do printf '%s\\n\\n' "${words}"; done`],
    /same output came 3 times/,
  ],
  ['tree_call_limit', ['--max-tree-calls', '6', '--', 'claude', '-p', 'below 30'], /delegated work: 7 of 6/],
  ['model_call_limit', ['--policy', 'models.toml', '--', 'claude', '-p', 'spend 1'], /model calls: 4 of 3/],
];

testWithBrowser('every halt reason becomes a card without a reload, and a dismissal ends the run', async () => {
  const served = await servePage();
  writeFileSync(join(served.folder, 'models.toml'), '[task]\nmax_model_calls = 3\n');
  const opened = await served.open();
  const { page, card, pending, problems } = opened;
  await page.evaluate('window.isTheFirstLoad = true');
  for (const [reason, args, text] of agents) {
    const { finished } = served.startAgent(args);
    // A suspicion before the halt is a card of its own, without a limit.
    const isHalt = { has: page.getByRole('heading', { name: 'Limit' }) };
    const halted = card().filter({ hasText: text }).filter(isHalt);
    await halted.waitFor();
    for (const name of ['Why', 'Limit', 'Last events'])
      await halted.getByRole('heading', { name }).waitFor({ timeout: 5_000 });
    await halted.getByRole('button', { name: 'Dismiss' }).click();
    const { code } = await finished;
    assert.equal(code, 75, reason);
    await untilShown(async () => (await pending().filter({ hasText: text }).filter(isHalt).count()) === 0);
  }
  assert.equal(await page.evaluate('window.isTheFirstLoad'), true, 'the page was not loaded again');
  await opened.goTo('History');
  await untilShown(
    async () =>
      (await page
        .getByRole('main')
        .getByText(/dismissed/i)
        .count()) >= agents.length,
  );
  assert.deepEqual(problems, []);
});

/** Starts an agent that makes one call too many, and returns its card. */
async function haltAgent(served: Served, { card }: SignedInPage, resumed: string, limit = 5) {
  const agent = served.startAgent(['--max-calls', `${limit}`, '--', 'claude', '-p', 'calls 60'], {
    FAKE_RESUMED: resumed,
  });
  const halted = card().filter({ hasText: `${limit + 1} of ${limit}` });
  await halted.waitFor();
  return { agent, halted };
}

testWithBrowser('try again continues the run with the limit of the button, and the counters show it', async () => {
  const served = await servePage();
  const opened = await served.open();
  const { page, hears, goTo, problems } = opened;
  const { agent, halted } = await haltAgent(served, opened, 'calls 3,silent');
  const limit = halted.getByRole('spinbutton', { name: 'New limit' });
  const suggested = Number(await limit.inputValue());
  assert.ok(suggested > 6, `the suggested limit ${suggested} lets the run go on`);
  await halted.getByRole('button', { name: `Try again with a limit of ${suggested}` }).click();
  await hears(new RegExp(`raised .*to ${suggested}`));
  await until(() => served.startedCommands().length === 2);
  await goTo('Tasks');
  await page
    .getByRole('row')
    .filter({ hasText: `9 of ${suggested}` })
    .waitFor();
  assert.equal(agent.child.exitCode, null);
  assert.deepEqual(problems, []);
});

testWithBrowser('a limit outside of its bounds cannot be set', async () => {
  const served = await servePage();
  const opened = await served.open();
  const { halted } = await haltAgent(served, opened, 'healthy');
  const limit = halted.getByRole('spinbutton', { name: 'New limit' });
  const [min, max] = [await limit.getAttribute('min'), await limit.getAttribute('max')].map(Number);
  assert.ok(min! >= 6 && max! > min!, `${min} to ${max}`);
  for (const value of ['1', `${max! * 1000}`, '']) {
    await limit.fill(value);
    const button = halted.getByRole('button', { name: /Try again/ });
    if (await button.isEnabled()) await button.click();
    await sleep(300);
    assert.ok(await halted.isVisible(), `the card is still open after ${value}`);
    assert.equal(served.startedCommands().length, 1, `no run was continued with ${value}`);
  }
  assert.deepEqual(opened.problems, []);
});

testWithBrowser('a narrower request starts the agent again with that request', async () => {
  const served = await servePage();
  const opened = await served.open();
  const { page, problems } = opened;
  const { agent, halted } = await haltAgent(served, opened, 'healthy');
  await halted.getByRole('button', { name: 'Narrow the request…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox').fill('calls 4');
  await dialog.getByRole('button', { name: 'Narrow the request' }).click();
  const { code, out } = await agent.finished;
  assert.deepEqual([code, out], [0, 'done after 4 calls\n']);
  await dialog.waitFor({ state: 'hidden' });
  assert.deepEqual(problems, []);
});

testWithBrowser('a run that is handed back ends with the words for a new plan', async () => {
  const served = await servePage();
  const opened = await served.open();
  const { page, problems } = opened;
  const { agent, halted } = await haltAgent(served, opened, 'healthy');
  await halted.getByRole('button', { name: 'Hand back for a new plan…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox').fill('read the index first');
  await dialog.getByRole('button', { name: 'Hand back' }).click();
  const { code, err } = await agent.finished;
  assert.equal(code, 75);
  assert.match(err, /read the index first/);
  assert.deepEqual(problems, []);
});

testWithBrowser('a paused run keeps a card, and can be dismissed later', async () => {
  const served = await servePage();
  const opened = await served.open();
  const { card, pending, hears, problems } = opened;
  const { agent, halted } = await haltAgent(served, opened, 'healthy');
  await halted.getByRole('button', { name: 'Pause' }).click();
  await hears(/paused/i);
  const paused = card().filter({ has: opened.page.getByRole('button', { name: 'Dismiss' }) });
  await paused.first().waitFor();
  await paused.first().getByRole('button', { name: 'Dismiss' }).click();
  await untilShown(async () => (await pending().count()) === 0);
  agent.child.kill('SIGTERM');
  await agent.finished;
  assert.deepEqual(problems, []);
});

testWithBrowser('a card that is put off leaves the list, and is found again', async () => {
  const served = await servePage();
  const opened = await served.open();
  const { page, pending, problems } = opened;
  const { halted } = await haltAgent(served, opened, 'healthy');
  await halted.getByRole('button', { name: 'Not now…' }).click();
  await page
    .getByRole('button', { name: '15 minutes' })
    .or(page.getByRole('menuitem', { name: '15 minutes' }))
    .click();
  await untilShown(async () => (await pending().count()) === 0);
  assert.match(await page.getByRole('main').innerText(), /1 card snoozed/);
  const second = await served.open({ address: await served.addToken('bob', 'operator') });
  assert.equal(await second.card().filter({ hasText: '6 of 5' }).count(), 0, 'it is put off for everybody');
  assert.deepEqual(problems, []);
});

testWithBrowser('several halts are selected and dismissed at once', async () => {
  const served = await servePage();
  const { page, pending, problems } = await served.open();
  const started = [5, 6, 7].map((limit) =>
    served.startAgent(['--max-calls', `${limit}`, '--', 'claude', '-p', 'calls 60']),
  );
  for (const limit of [5, 6, 7])
    await pending()
      .filter({ hasText: `${limit + 1} of ${limit}` })
      .getByRole('checkbox', { name: /^Select: / })
      .check();
  const toolbar = page.getByRole('toolbar', { name: 'Selected cards' });
  await toolbar.getByText('3 selected').waitFor();
  await toolbar.getByRole('button', { name: /Dismiss/ }).click();
  for (const { finished } of started) assert.equal((await finished).code, 75);
  await untilShown(async () => (await pending().count()) === 0);
  assert.deepEqual(problems, []);
});

testWithBrowser('title and link have the number of open cards', async () => {
  const served = await servePage();
  const opened = await served.open();
  const { page, problems } = opened;
  assert.match(await page.title(), /^Inbox . Switchgear$/);
  const { halted } = await haltAgent(served, opened, 'healthy');
  await untilShown(async () => /^\(1\) Inbox . Switchgear$/.test(await page.title()));
  await page.getByRole('link', { name: 'Inbox (1)' }).waitFor();
  await halted.getByRole('button', { name: 'Dismiss' }).click();
  await untilShown(async () => /^Inbox/.test(await page.title()));
  assert.deepEqual(problems, []);
});
