/** A full store: how soon the page is there and how it scrolls is printed; what it shows and keeps is asserted. */

import assert from 'node:assert/strict';
import { after, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import type { Card } from '../../src/core/card.ts';
import { cardsMax } from '../../src/core/limits.ts';
import { createSwitchgear } from '../../src/index.ts';
import type { CrossProcessStore } from '../../src/ports/store.ts';
import { redisStore } from '../../src/stores/redis/index.ts';
import { startRedis, testWithRedis } from '../redis-server.ts';
import { missingService } from '../services.ts';
import { patienceMs, testWithBrowser } from './browser.ts';
import { type Served, servePage, untilShown } from './served-page.ts';

const makeCards = (many: number): readonly Card[] =>
  Array.from({ length: many }, (_, at) => ({
    ...{ id: `card-${at}`, kind: 'halt', task: `task-${at}`, code: 'tool_call_limit', counters: { limit: at } },
    ...{ evidence: [`tool calls: ${at + 1} of ${at}`], actions: ['pause', 'dismiss'], state: 'open' },
  }));

/** On a busy machine the longest of these tests takes minutes. */
const long = { timeout: 300_000 };

interface Frames {
  readonly longest: number;
  readonly median: number;
  readonly moved: number;
}

/** Scrolls a page, or the list in it that scrolls, for 120 frames; times in ms. Code in pages is text. */
function scrollFrames(page: Page): Promise<Frames> {
  return page.evaluate<Frames>(`new Promise((resolve) => {
    const all = [document.scrollingElement, ...document.querySelectorAll('main *')];
    const spare = (each) => each.scrollHeight - each.clientHeight;
    const frame = all.reduce((best, each) => (spare(each) > spare(best) ? each : best));
    const times = [];
    let last = performance.now();
    const step = (now) => {
      times.push(now - last);
      last = now;
      frame.scrollTop += 400;
      if (times.length < 120) return requestAnimationFrame(step);
      times.sort((a, b) => a - b);
      resolve({ longest: times.at(-1), median: times[60], moved: frame.scrollTop });
    };
    requestAnimationFrame(step);
  })`);
}

/** Opens a view anew, and prints the times until it is painted and has its data, and those of its frames. */
async function measureView(context: TestContext, page: Page, url: string, role: 'article' | 'row'): Promise<void> {
  await page.goto('about:blank');
  const beganMs = performance.now();
  await page.goto(url);
  await page.getByRole(role).nth(5).waitFor();
  const dataMs = Math.round(performance.now() - beganMs);
  const paintMs = await page.evaluate<number>(`performance.getEntriesByName('first-contentful-paint')[0]?.startTime`);
  const { longest, median, moved } = await scrollFrames(page);
  assert.ok(moved > 400, `${url} scrolls`);
  context.diagnostic(
    `${url.replace(/.*#/, '#')}: first paint ${Math.round(paintMs)} ms, data after ${dataMs} ms, ` +
      `frames of ${Math.round(median)} ms, longest ${Math.round(longest)} ms`,
  );
}

testWithBrowser('1,000 cards and 1,000 tasks are shown', async (context) => {
  const served = await servePage();
  const store = served.openStore();
  for (const card of makeCards(cardsMax)) store.putCard(card);
  const gear = createSwitchgear({ store, log: 'silent', env: {} });
  after(() => gear.dispose());
  for (let at = 0; at < 1_000; at++) gear.startTask({ id: `task-${at}` });
  await store.shared.settled();
  const { page, goTo, problems } = await served.open();
  await measureView(context, page, `${served.origin}/#/inbox`, 'article');
  await page.getByRole('link', { name: /^Inbox \((1,?000|999\+)\)/ }).waitFor();
  await measureView(context, page, `${served.origin}/#/tasks`, 'row');
  await page.getByText(/1,?000 of 1,?000 tasks/).waitFor();
  // The last task is reached by the keyboard, too.
  await goTo('Inbox');
  await goTo('Tasks');
  await page.getByRole('row').nth(2).focus();
  await page.keyboard.press('End');
  await page.locator('[role=row][aria-rowindex="1001"]').waitFor();
  assert.deepEqual(problems, []);
});

/** Opens and closes cards as a busy store does, and returns when the page has seen it. */
async function playBurst(store: CrossProcessStore, burst: number, isQuiet: () => Promise<boolean>): Promise<void> {
  for (let round = 0; round < 8; round++) {
    for (const open of makeCards(100)) {
      const id = `card-${burst}-${round}-${open.id}`;
      for (const card of [
        { ...open, id },
        { ...open, id, state: 'answered', answer: 'dismiss', by: 'ann' },
      ] as const) {
        store.putCard(card);
        store.append({ type: 'card-changed', card }, {}, store.clock.nowMs());
      }
    }
    await store.shared.settled();
  }
  await untilShown(isQuiet);
  await sleep(1_000);
}

testWithBrowser('the memory of a page does not grow with the number of events', long, async (context) => {
  const served = await servePage();
  const { page, pending, problems } = await served.open();
  const store = served.openStore();
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.enable');
  const sizes: number[] = [];
  for (const burst of [1, 2, 3]) {
    await playBurst(store, burst, async () => (await pending().count()) === 0);
    await session.send('HeapProfiler.collectGarbage');
    sizes.push((await session.send('Runtime.getHeapUsage')).usedSize / 2 ** 20);
  }
  const [first = 0, , third = 0] = sizes;
  const words = sizes.map((each) => `${each.toFixed(1)} MB`).join(', ');
  context.diagnostic(`memory of the page after 1,600, 3,200 and 4,800 events: ${words}`);
  assert.ok(third < first + 8, words);
  assert.deepEqual(problems, []);
});

async function readCards({ origin, url }: Served, query: string) {
  const [, token = ''] = url.split('#token=');
  const response = await fetch(`${origin}/api/cards?${query}`, { headers: { authorization: `Bearer ${token}` } });
  return (await response.json()) as { readonly cards: readonly Card[]; readonly total: number };
}

testWithRedis('of 10,000 cards on Redis the page has 1,000, and the others follow', async (context) => {
  if (missingService('chromium') !== undefined) return context.skip(missingService('chromium'));
  const redis = await startRedis();
  after(() => redis.stop());
  const store = await redisStore({ url: redis.url });
  after(() => store.close());
  const cards = makeCards(10_000);
  for (let at = 0; at < cards.length; at += 100) {
    for (const card of cards.slice(at, at + 100)) store.putCard(card);
    await store.shared.settled();
  }
  // A busy machine may take the burst for a lost connection: what waits then is written a little later.
  await untilShown(async () => (await store.shared.read('card/', cards.length)).length === cards.length);
  const served = await servePage(['--store', redis.url]);
  const { page, problems } = await served.open();
  await measureView(context, page, `${served.origin}/#/inbox`, 'article');
  await page.getByRole('link', { name: /^Inbox \((10,?000|999\+)\)/ }).waitFor();
  const ids = new Set<string>();
  for (let offset = 0; offset < 10_000; offset += 1_000) {
    const page = await readCards(served, `offset=${offset}&limit=1000`);
    assert.equal(page.total, 10_000);
    for (const { id } of page.cards) ids.add(id);
  }
  assert.equal(ids.size, 10_000, 'the pages of the API have every card once');
  for (let ends = 0; (await page.getByText(/9,?000 more are open/).count()) === 0; ends++) {
    assert.ok(ends < 200, 'the list ends with how many cards there are');
    await page.keyboard.press('End');
    await sleep(100);
  }
  await page.keyboard.press('Home');
  await page.getByRole('checkbox', { name: 'Select all' }).check();
  const toolbar = page.getByRole('toolbar', { name: 'Selected cards' });
  await toolbar.getByText('1000 selected').or(toolbar.getByText('1,000 selected')).waitFor();
  const beganMs = performance.now();
  await toolbar.getByRole('button', { name: /^Dismiss/ }).click();
  await page.getByRole('link', { name: /^Inbox \((9,?000|999\+)\)/ }).waitFor({ timeout: 3 * patienceMs });
  context.diagnostic(`1,000 cards dismissed at once: ${Math.round(performance.now() - beganMs)} ms`);
  await untilShown(async () => (await readCards(served, 'limit=1')).total === 9_000);
  await page.getByRole('article').first().waitFor();
  assert.deepEqual(problems, []);
});
