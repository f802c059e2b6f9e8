/** What a person notices at the second look: the focus, the same error twice, a limit of one's own, lost runs. */

import assert from 'node:assert/strict';
import { after } from 'node:test';
import { cardApprover } from '../../src/approvers/index.ts';
import type { Card } from '../../src/core/card.ts';
import { createSwitchgear } from '../../src/index.ts';
import { testWithBrowser } from './browser.ts';
import { putCards, servePage, untilShown } from './served-page.ts';

function makeQuestion(id: string): Card {
  return {
    ...{ id, kind: 'ask', task: `task of ${id}`, code: 'rule_declined', counters: { rule: 'pay|ability:pay|confirm' } },
    ...{ evidence: [`pay ${id}?`], actions: ['approve', 'decline'], state: 'open' },
  };
}

testWithBrowser('after a key the focus stays on the card, decided or not, and an error is told once', async () => {
  const served = await servePage();
  await putCards(served.openStore(), [makeQuestion('first'), makeQuestion('second')]);
  const { page, card, pending, problems } = await served.open({ expected: /418|Failed to load/ });
  await card('pay first?').getByRole('heading', { name: 'Rule' }).waitFor();
  assert.equal(await page.getByRole('heading', { name: 'Limit' }).count(), 0, 'a question has a rule, and no limit');
  await untilShown(async () => card('pay first?').getByRole('button', { name: 'Approve once' }).isEnabled());
  const focusedText = () => page.evaluate<string>('document.activeElement.closest("article, .card")?.innerText ?? ""');
  await page.route('**/answer', (route) =>
    route.fulfill({ status: 418, json: { error: { code: 'teapot', message: 'short and stout' } } }),
  );
  await page.keyboard.press('j');
  await page.keyboard.press('a');
  await card('pay first?').getByText('Short and stout').waitFor();
  assert.equal(await page.getByText('Short and stout').count(), 1);
  await untilShown(async () => (await focusedText()).includes('pay first?'));
  await page.unroute('**/answer');
  await page.keyboard.press('a');
  await untilShown(async () => (await pending().count()) === 1);
  assert.match(await focusedText(), /pay first\?[\s\S]*Approved once/);
  await page.keyboard.press('j');
  await untilShown(async () => (await focusedText()).includes('pay second?'));
  assert.deepEqual(problems, []);
});

testWithBrowser('the same call of three tasks is one card, and one approval releases all of them', async () => {
  const served = await servePage();
  const { card, hears, problems } = await served.open();
  const store = served.openStore();
  const rules = ['ability:mail|confirm|to customers'];
  const gear = createSwitchgear({
    ...{ store, approver: cardApprover({ store }), policy: { rules }, log: 'silent', env: {} },
  });
  after(() => gear.dispose());
  const mail = gear.guard('mail', async (to: string) => to);
  const sent = ['a', 'b', 'c'].map((id) => gear.task({ id }, () => mail('accounts@example.com')));
  const question = card().filter({ hasText: '×3' });
  await question.getByRole('heading', { name: 'Same question in 3 tasks' }).waitFor();
  await question.getByText('a, b, c. One answer').waitFor();
  assert.equal(await card().count(), 1);
  await question.getByRole('button', { name: 'Approve once (all 3)' }).click();
  for (const each of sent) assert.equal((await each).value, 'accounts@example.com');
  await hears(/2 equal questions were released/);
  assert.deepEqual(problems, []);
});

/** Writes down every headline of a halt that the page ever shows; a notice before it goes by itself. */
const headlineWatcher = `globalThis.headlines = new Set();
new MutationObserver(() => {
  for (const each of document.querySelectorAll('article.halt h2')) headlines.add(each.innerText);
}).observe(document.body, { childList: true, subtree: true, characterData: true });`;

testWithBrowser('a limit of one’s own is the one that the run has, and that is read back', async () => {
  const served = await servePage();
  const { page, card, hears, goTo, problems } = await served.open();
  await page.evaluate(headlineWatcher);
  const args = ['--max-calls', '7', '--', 'claude', '-p', 'calls 60'];
  served.startAgent(args, { FAKE_RESUMED: 'calls 3,silent' });
  const halted = card('claude-code stopped: tool calls: 8 of 7');
  await halted.getByRole('spinbutton', { name: 'New limit' }).fill('12');
  await halted.getByText('Last events').waitFor();
  assert.deepEqual(
    await page.evaluate('[...headlines]'),
    ['claude-code stopped: tool calls: 8 of 7'],
    'the headline of a card stays while its details come',
  );
  await halted.getByRole('button', { name: 'Try again with a limit of 12' }).click();
  await hears(/raised task\.max_tool_calls to 12: now \d+ of 12\./);
  await goTo('Tasks');
  await page.getByRole('row').filter({ hasText: '11 of 12' }).waitFor();
  assert.deepEqual(problems, []);
});

testWithBrowser('a run whose supervisor was killed is shown as lost, with what it had used', async () => {
  const served = await servePage();
  const { page, goTo, problems } = await served.open();
  const agent = served.startAgent(['--', 'claude', '-p', 'calls 3,silent']);
  await goTo('Tasks');
  await page.getByRole('row').filter({ hasText: '3 of 50' }).waitFor();
  agent.child.kill('SIGKILL');
  await agent.finished;
  const lost = page.getByRole('row').filter({ hasText: '3 of 50' }).filter({ hasText: /lost/i });
  await lost.waitFor();
  await goTo('Inbox');
  const notice = page.getByRole('article').filter({ hasText: 'its supervisor was killed' });
  assert.equal(await notice.count(), 1);
  await notice.getByRole('button', { name: 'Dismiss' }).click();
  await goTo('Tasks');
  await untilShown(async () => (await lost.count()) === 0);
  assert.deepEqual(problems, []);
});

testWithBrowser('a long list of tasks scrolls by the keys that scroll a page', async () => {
  const served = await servePage();
  const { page, goTo, problems } = await served.open();
  const gear = createSwitchgear({ store: served.openStore(), log: 'silent', env: {} });
  after(() => gear.dispose());
  for (let at = 0; at < 80; at++) gear.startTask({ id: `task-${at}` });
  await goTo('Tasks');
  await page.getByText('80 of 80 tasks').waitFor();
  await page.evaluate('document.activeElement.blur()');
  const scrolled = () => page.evaluate<number>('document.querySelector(".task-frame").scrollTop');
  assert.equal(await scrolled(), 0);
  for (let presses = 0; presses < 3; presses++) await page.keyboard.press('PageDown');
  await untilShown(async () => (await scrolled()) > 500);
  const before = await scrolled();
  for (let presses = 0; presses < 5; presses++) await page.keyboard.press('ArrowDown');
  await untilShown(async () => (await scrolled()) > before);
  await page.keyboard.press('End');
  await page.getByRole('row', { name: 'task-0 ' }).waitFor();
  await page.keyboard.press('Home');
  await untilShown(async () => (await scrolled()) === 0);
  assert.deepEqual(problems, []);
});

/** Counts the tones of the page, and keeps its notifications. */
const attentionWatcher = `globalThis.tones = 0;
globalThis.told = [];
const OwnContext = globalThis.AudioContext;
globalThis.AudioContext = class extends OwnContext {
  constructor() { super(); tones++; }
};
globalThis.Notification = class {
  static permission = 'granted';
  static requestPermission = async () => 'granted';
  constructor(title, { body }) { told.push(title + ': ' + body); }
};
Object.defineProperty(document, 'hidden', { get: () => true });`;

testWithBrowser('a sound and a notification come by choice alone, and have no words of a card', async () => {
  const served = await servePage();
  const store = served.openStore();
  const { page, pending, problems } = await served.open({
    before: async (opened) => void (await opened.addInitScript({ content: attentionWatcher })),
  });
  const favicon = () => page.evaluate<string>('document.querySelector("link[rel=icon]").href');
  const plain = await favicon();
  await putCards(store, [makeQuestion('silent')]);
  await untilShown(async () => (await pending().count()) === 1);
  await untilShown(async () => (await favicon()) !== plain);
  await page.waitForTimeout(1_000);
  assert.deepEqual(await page.evaluate('[tones, told]'), [0, []], 'both are off at first');
  await page.getByRole('button', { name: 'Sound: off' }).click();
  await page.getByRole('button', { name: 'Notifications: off' }).click();
  await page.getByRole('button', { name: 'Notifications: on' }).waitFor();
  await putCards(store, [makeQuestion('loud')]);
  await untilShown(async () => (await page.evaluate<readonly string[]>('told')).length > 0);
  assert.deepEqual(await page.evaluate('[tones, told]'), [1, ['Switchgear: 1 new card.']]);
  await page.reload();
  await page.getByRole('button', { name: 'Sound: on' }).waitFor();
  assert.deepEqual(problems, []);
});

testWithBrowser('a card tells what each of its buttons does, before one is pressed', async () => {
  const served = await servePage();
  await putCards(served.openStore(), [makeQuestion('first')]);
  const { card, pending, problems } = await served.open();
  const help = card('pay first?').getByText('What do these buttons do?');
  await help.focus();
  await help.press('Enter');
  await card('pay first?').getByText('This call runs, once, with these arguments.').waitFor();
  await card('pay first?').getByText('Nothing is decided, and the agent keeps waiting.').waitFor();
  assert.equal(await pending().count(), 1);
  assert.deepEqual(problems, []);
});
