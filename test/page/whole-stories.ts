/** Stories on one server: halts of a library, a chosen limit, equal questions, hooks, doubt, two people, a lost run. */

import assert from 'node:assert/strict';
import { after } from 'node:test';
import { cardApprover } from '../../src/approvers/index.ts';
import { leaseMs } from '../../src/core/limits.ts';
import { createSwitchgear, type Switchgear } from '../../src/index.ts';
import { isCi, missingService } from '../services.ts';
import { until } from '../supervisor/processes.ts';
import { patienceMs, testWithBrowser } from './browser.ts';
import { runHook } from './hooked-call.ts';
import { type Served, servePage, untilShown } from './served-page.ts';
import { playDoubt } from './stage.ts';

/** Where all tests are skipped, nothing is played. */
const isPlayed = missingService('chromium') === undefined || isCi();
const served = (isPlayed ? await servePage() : undefined) as Served;
/** Its lease runs out while the other stories are played. */
const lostRun = isPlayed ? await loseRun() : '';

/** Kills the supervisor of a run, and returns the id of its task. */
async function loseRun(): Promise<string> {
  const agent = served.startAgent(['--max-calls', '77', '--', 'claude', '-p', 'calls 3,silent']);
  const store = served.openStore();
  let id: string | undefined;
  await until(() => {
    id = store.tail(0).findLast(({ type }) => type === 'task-started')?.task;
    return id !== undefined && store.tail(0).filter(({ type }) => type === 'action-allowed').length >= 3;
  });
  agent.child.kill('SIGKILL');
  await agent.finished;
  return id!;
}

const wait = () => new Promise((resolve) => setTimeout(resolve, 5));

/** Causes of halts in a program, each with the words of its card. */
const causes: readonly (readonly [task: string, play: (gear: Switchgear) => unknown, card: RegExp])[] = [
  ['aborts', (gear) => gear.task({ id: 'aborts' }, () => gear.run('pay', () => 1)), /never pay/],
  [
    'asks-in-vain',
    (gear) =>
      gear.task({ id: 'asks-in-vain' }, async () => {
        for (let at = 0; at < 4; at++, await wait()) await gear.run('mail', () => 1);
      }),
    /refused calls in a row: 2 of 2/,
  ],
  [
    'breaks',
    (gear) =>
      gear.task({ id: 'breaks' }, async () => {
        const fail = () => Promise.reject(new TypeError('down'));
        for (let at = 0; at < 6; at++, await wait()) await gear.run('search', fail).then(undefined, () => undefined);
      }),
    /refused calls in a row: 2 of 2/,
  ],
  [
    'delegates',
    (gear) =>
      gear.task({ id: 'delegates' }, async () => {
        for (let at = 0; at < 4; at++) await gear.delegate('chef_team', () => 'I cannot draw charts.');
      }),
    /chef_team has failed 2\+ times/,
  ],
  [
    'is-stopped',
    (gear) => {
      gear.startTask({ id: 'is-stopped' });
      gear.halt('is-stopped', 'it was started by mistake');
    },
    /it was started by mistake/,
  ],
];

testWithBrowser('halts of a program by rules, refusals, breakers, workers and people become cards', async () => {
  const { page, card, pending, problems } = await served.open();
  const gear = createSwitchgear({
    ...{ store: served.openStore(), log: 'silent', env: {} },
    policy: {
      task: { max_denials: 2 },
      circuit_breaker: { failure_threshold: 2 },
      delegation: { on_trip: 'halt' },
      rules: [
        { condition: 'ability:pay', action: 'abort', reason: 'never pay' },
        { condition: 'ability:mail', action: 'confirm', reason: 'really mail?' },
      ],
    },
  });
  after(() => gear.dispose());
  await page.evaluate('window.isTheFirstLoad = true');
  for (const [task, play, words] of causes) {
    await play(gear);
    const halted = card().filter({ hasText: task }).filter({ hasText: words });
    await halted.waitFor();
    await halted.getByRole('button', { name: 'Dismiss' }).click();
    await untilShown(async () => (await pending().filter({ hasText: words }).count()) === 0);
  }
  assert.equal(await page.evaluate('window.isTheFirstLoad'), true, 'the page was not loaded again');
  assert.deepEqual(problems, []);
});

testWithBrowser('the limit that a person chose is that of the continued run', async () => {
  const { page, card, hears, goTo, problems } = await served.open();
  const agent = served.startAgent(['--max-calls', '5', '--', 'claude', '-p', 'calls 60'], {
    FAKE_RESUMED: 'calls 2,silent',
  });
  const halted = card().filter({ hasText: '6 of 5' });
  await halted.getByRole('spinbutton', { name: 'New limit' }).fill('9');
  await halted.getByRole('button', { name: 'Try again with a limit of 9' }).click();
  await hears(/raised .*to 9: now \d of 9/);
  await goTo('Tasks');
  await page.getByRole('row').filter({ hasText: '8 of 9' }).waitFor();
  assert.equal(agent.child.exitCode, null);
  agent.child.kill('SIGKILL');
  assert.deepEqual(problems, []);
});

/** A program that asks about every payment; `paid` has what was paid. */
function askingProgram() {
  const store = served.openStore();
  const rules = [{ condition: 'ability:transfer', action: 'confirm', reason: 'really transfer?' }] as const;
  const gear = createSwitchgear({
    ...{ store, approver: cardApprover({ store }), policy: { rules }, log: 'silent', env: {} },
  });
  after(() => gear.dispose());
  const paid: number[] = [];
  const transfer = gear.guard('transfer', async (amount: number) => paid.push(amount));
  return { gear, paid, transfer };
}

testWithBrowser('equal questions are one card, and are released together', async () => {
  const { card, pending, hears, problems } = await served.open();
  const { gear, paid, transfer } = askingProgram();
  const all = gear.task({ id: 'equals' }, () => Promise.all([transfer(5), transfer(5), transfer(5), transfer(6)]));
  const folded = card().filter({ hasText: 'equals' }).filter({ hasText: '×3' });
  await folded.getByRole('button', { name: 'Approve once' }).click();
  await hears(/2 equal questions/);
  await until(() => paid.length === 3);
  assert.deepEqual(paid, [5, 5, 5], 'the question about another amount stays open');
  await pending().filter({ hasText: 'equals' }).getByRole('button', { name: 'Approve once' }).click();
  await all;
  assert.deepEqual(paid, [5, 5, 5, 6]);
  assert.deepEqual(problems, []);
});

testWithBrowser('a decision that comes too late says on the card who was first', async () => {
  const ann = await served.open({ address: await served.addToken('ann', 'operator'), expected: /409/ });
  const bob = await served.open({ address: await served.addToken('bob', 'operator') });
  const { gear, transfer, paid } = askingProgram();
  const asked = gear.task({ id: 'at-once' }, () => transfer(7));
  const button = (name: string, { card }: typeof ann) =>
    card().filter({ hasText: 'at-once' }).getByRole('button', { name });
  await untilShown(async () => (await button('Approve once', ann).count()) === 1);
  await untilShown(async () => button('Approve once', ann).isEnabled());
  // The click of Ann is on its way while Bob decides.
  await ann.page.route('**/api/cards/*/answer', async (route) => {
    await button('Approve once', bob).click();
    await asked;
    await route.continue();
  });
  await button('Approve once', ann).click();
  await ann.hears(/bob was first: approved once/);
  assert.deepEqual(paid, [7]);
  assert.deepEqual([ann.problems, bob.problems], [[], []]);
});

testWithBrowser('the note of a decline reaches an agent with hooks', async () => {
  const { page, card, problems } = await served.open();
  const answered = runHook(served, served.store, {
    ...{ hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_use_id: 'c1' },
    tool_input: { command: 'make deploy' },
  });
  await card().filter({ hasText: 'make deploy' }).getByRole('button', { name: 'Decline…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox').fill('deploy after the review');
  await dialog.getByRole('button', { name: 'Decline' }).click();
  const { hookSpecificOutput } = JSON.parse(await answered);
  assert.equal(hookSpecificOutput.permissionDecision, 'deny');
  assert.match(hookSpecificOutput.permissionDecisionReason, /deploy after the review/);
  assert.deepEqual(problems, []);
});

testWithBrowser('a step in doubt is resolved with its output', async () => {
  const { page, problems } = await served.open();
  await playDoubt(served, 'payout-june');
  await page.goto(`${served.origin}/#/chains/payout-june`);
  await page.getByRole('button', { name: 'It was done, with an output…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox').fill('receipt 4711');
  await dialog.getByRole('button', { name: 'It was done' }).click();
  await dialog.getByText(/not JSON/).waitFor();
  await dialog.getByRole('textbox').fill('{"receipt":4711}');
  await dialog.getByRole('button', { name: 'It was done' }).click();
  await dialog.waitFor({ state: 'hidden' });
  await untilShown(async () => !/in doubt/i.test(await page.getByRole('main').innerText()));
  const { out } = await served.run(['chain', 'show', 'payout-june', '--outputs']);
  assert.match(out, /4711/, out);
  assert.deepEqual(problems, []);
});

testWithBrowser('a run whose supervisor was killed is a notice', async () => {
  const { card, problems } = await served.open();
  const lost = card().filter({ hasText: /its supervisor was killed/ });
  await lost.waitFor({ timeout: leaseMs + patienceMs });
  await lost
    .getByRole('link', { name: lostRun })
    .or(lost.filter({ hasText: lostRun }))
    .first()
    .waitFor();
  assert.deepEqual(problems, []);
});
