/** The page without a mouse: sign in, reach a card, decide; the focus is always seen and never trapped. */

import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import type { Card } from '../../src/core/card.ts';
import { openPage, testWithBrowser } from './browser.ts';
import { putCards, type Served, servePage, untilShown } from './served-page.ts';

function putQuestions(served: Served, many: number): Promise<void> {
  const cards = Array.from(
    { length: many },
    (_, at): Card => ({
      ...{ id: `ask-${at}`, kind: 'ask', task: `task-${at}`, code: 'rule_declined', counters: {} },
      ...{ evidence: [`pay bill ${at}?`], actions: ['approve', 'decline'], state: 'open' },
    }),
  );
  return putCards(served.openStore(), cards);
}

/** The element with the focus: its role or tag, its name, and whether its focus is seen. */
async function focused(
  page: Page,
): Promise<{ readonly name: string; readonly isVisible: boolean; readonly key: string }> {
  return page.evaluate(`(() => {
    const at = document.activeElement ?? document.body;
    const style = getComputedStyle(at);
    const box = at.getBoundingClientRect();
    const ring = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
    return {
      name: (at.getAttribute('aria-label') ?? at.labels?.[0]?.innerText ?? at.innerText ?? '').trim(),
      isVisible: (ring || style.boxShadow !== 'none') && box.width > 0 && box.height > 0,
      key: at.tagName + '#' + [...document.querySelectorAll('*')].indexOf(at),
    };
  })()`);
}

/** The cards that wait for a decision. */
function waiting(page: Page): Locator {
  return page.getByRole('article').filter({ has: page.getByRole('button', { name: 'Not now…' }) });
}

/** Presses Tab until the focus is on something with this name. */
async function tabTo(page: Page, name: RegExp): Promise<void> {
  for (let presses = 0; presses < 150; presses++) {
    await page.keyboard.press('Tab');
    const at = await focused(page);
    if (at.key.startsWith('BODY')) continue;
    assert.ok(at.isVisible, `the focus on '${at.name}' is not seen`);
    if (name.test(at.name)) return;
  }
  assert.fail(`Tab does not lead to ${name}`);
}

testWithBrowser('a person signs in, goes to a card and decides with Tab, Enter and Space alone', async () => {
  const served = await servePage();
  await putQuestions(served, 2);
  const { page, problems } = await openPage(`${served.origin}/`, { expected: /401/ });
  const [, token = ''] = served.url.split('#token=');
  await page.getByLabel('Token').waitFor();
  await tabTo(page, /Token/).catch(() => page.getByLabel('Token').focus());
  await page.keyboard.type(token);
  await page.keyboard.press('Enter');
  await page.getByRole('article').first().waitFor();
  assert.equal(await page.getByRole('article').count(), 2);
  await tabTo(page, /^Approve once/);
  await page.keyboard.press('Enter');
  await untilShown(async () => (await waiting(page).count()) === 1);
  await tabTo(page, /^Decline…/);
  await page.keyboard.press('Space');
  await page.getByRole('dialog').waitFor();
  assert.ok(await page.evaluate(`document.activeElement.closest('dialog, [role=dialog]') !== null`));
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  assert.match((await focused(page)).name, /^Decline…/, 'the focus returns to the button of a closed dialog');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByRole('textbox').focus();
  await page.keyboard.type('no, thanks');
  await tabTo(page, /^Decline$/);
  await page.keyboard.press('Enter');
  await untilShown(async () => (await waiting(page).count()) === 0);
  assert.deepEqual(problems, []);
});

testWithBrowser('Tab goes through the whole page and comes round again, forwards and backwards', async () => {
  const served = await servePage();
  await putQuestions(served, 3);
  const { page, card } = await served.open();
  await card().first().waitFor();
  for (const key of ['Tab', 'Shift+Tab']) {
    const seen: string[] = [];
    for (let presses = 0; presses < 200; presses++) {
      await page.keyboard.press(key);
      const at = (await focused(page)).key;
      if (at === seen[0]) break;
      seen.push(at);
    }
    assert.ok(seen.length > 15 && seen.length < 190, `${key}: ${seen.length} stops`);
    assert.equal(new Set(seen.filter((each) => !each.startsWith('BODY'))).size >= seen.length - 2, true);
  }
});

testWithBrowser('the first stop skips to the content', async () => {
  const served = await servePage();
  await putQuestions(served, 1);
  const { page, card } = await served.open();
  await card().first().waitFor();
  await page.reload();
  await card().first().waitFor();
  await page.keyboard.press('Tab');
  assert.match((await focused(page)).name, /skip/i);
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  assert.ok(await page.evaluate(`document.activeElement.closest('main') !== null`));
});

testWithBrowser('single keys move, select and decide; they can be switched off; help names them', async () => {
  const served = await servePage();
  await putQuestions(served, 3);
  const { page, pending, problems } = await served.open();
  await untilShown(async () => (await pending().count()) === 3);
  const isIn = async (at: number) =>
    at ===
    (await page.evaluate<number>(
      `[...document.querySelectorAll('article')].findIndex((each) => each.contains(document.activeElement))`,
    ));
  await page.keyboard.press('j');
  assert.ok(await isIn(0));
  await page.keyboard.press('j');
  assert.ok(await isIn(1));
  await page.keyboard.press('k');
  assert.ok(await isIn(0));
  await page.keyboard.press('x');
  await page.getByRole('toolbar', { name: 'Selected cards' }).getByText('1 selected').waitFor();
  await page.keyboard.press('x');
  await page.keyboard.press('a');
  await untilShown(async () => (await pending().count()) === 2);
  await page.keyboard.press('j');
  await page.keyboard.press('d');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.type('aaxx');
  assert.equal(await pending().count(), 2, 'keys in a text box are text');
  await page.keyboard.press('Escape');
  await page.keyboard.press('?');
  await page
    .getByRole('dialog')
    .filter({ hasText: /keyboard/i })
    .waitFor();
  const switchOff = page.getByRole('checkbox', { name: /single|keys/i });
  await switchOff.uncheck();
  await page.keyboard.press('Escape');
  await page.keyboard.press('j');
  await page.keyboard.press('a');
  assert.equal(await pending().count(), 2, 'keys that are switched off do nothing');
  await page.getByRole('button', { name: 'Keyboard help' }).click();
  await switchOff.check();
  await page.keyboard.press('Escape');
  for (const [key, heading] of [
    ['b', 'Breakers'],
    ['t', 'Tasks'],
    ['i', 'Inbox'],
  ] as const) {
    await page.keyboard.press('g');
    await page.keyboard.press(key);
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
  }
  assert.deepEqual(problems, []);
});
