/** Every view with realistic data, in both themes: accessible, narrow enough for a phone, and still where asked. */

import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after } from 'node:test';
import type { Page } from 'playwright-core';
import { root } from '../harness/source.ts';
import { isCi, missingService } from '../services.ts';
import { assertAccessible, openPage, testWithBrowser } from './browser.ts';
import { toPalettePng } from './palette-png.ts';
import { type Served, servePage } from './served-page.ts';
import { playStage } from './stage.ts';

/** The views, the words that tell that the data is there, and what is opened in them. */
const views = {
  inbox: { address: '#/inbox', shows: 'Nordwind' },
  history: { address: '#/history', shows: 'call them first' },
  standing: { address: '#/standing', shows: 'weekly_report' },
  breakers: { address: '#/breakers', shows: 'web_search' },
  tasks: { address: '#/tasks', shows: 'supplier-report' },
  timeline: { address: '#/tasks/supplier-report', shows: 'read_file' },
  chains: { address: '#/chains', shows: 'payout-november' },
  chain: { address: '#/chains/payout-november', shows: 'transfer' },
  store: { address: '#/store', shows: 'Journal entries' },
} as const;

const themes = ['light', 'dark'] as const;
/** Each width with its height: whole cards fit. */
const sizes = { 360: 1_120, 1280: 1_000 } as const;
const widths = [360, 1280] as const;
const folder = process.env.PAGE_SCREENSHOTS;
/** The pictures of docs/guides/serve.md; another folder gets all. */
const shown = new Set([
  ...['inbox', 'breakers', 'tasks', 'timeline'].flatMap((view) => themes.map((theme) => `${view}-1280-${theme}`)),
  ...themes.map((theme) => `inbox-360-${theme}`),
]);
/** A picture of the docs has at most so many bytes. */
const pictureMax = 120_000;

/** Where all tests are skipped, nothing is played. */
const isPlayed = missingService('chromium') === undefined || isCi();
const served = (isPlayed ? await servePage() : undefined) as Served;
/** Pictures show a name that is not of this machine. */
const address = isPlayed ? await served.addToken('ann', 'operator') : '';
const stage = isPlayed ? await playStage(served) : undefined;
after(() => stage?.end());

async function show(page: Page, view: keyof typeof views): Promise<void> {
  const { address, shows } = views[view];
  await page.goto(`${served.origin}/${address}`);
  await page.getByRole('main').getByText(shows).first().waitFor();
}

for (const theme of themes) {
  testWithBrowser(`axe finds nothing on any view in the ${theme} theme`, async () => {
    const { page, problems } = await served.open({ colorScheme: theme });
    for (const view of Object.keys(views) as (keyof typeof views)[]) {
      await show(page, view);
      await assertAccessible(page, `${view}, ${theme}`);
    }
    await page.getByRole('button', { name: 'Keyboard help' }).click();
    await page.getByRole('dialog').waitFor();
    await assertAccessible(page, `keyboard help, ${theme}`);
    await page.keyboard.press('Escape');
    await show(page, 'inbox');
    for (const name of ['Decline…', 'Narrow the request…', 'Not now…']) {
      await page.getByRole('button', { name }).first().click();
      await assertAccessible(page, `${name}, ${theme}`);
      await page.keyboard.press('Escape');
    }
    await page
      .getByRole('checkbox', { name: /^Select: / })
      .first()
      .check();
    await assertAccessible(page, `a selected card, ${theme}`);
    assert.deepEqual(problems, []);
  });

  testWithBrowser(`axe finds nothing on the sign-in and on empty views in the ${theme} theme`, async () => {
    const empty = await servePage();
    const signIn = await openPage(`${empty.origin}/`, { colorScheme: theme, expected: /401/ });
    await signIn.page.getByLabel('Token').waitFor();
    await assertAccessible(signIn.page, `sign-in, ${theme}`);
    await signIn.close();
    const { page, problems } = await empty.open({ colorScheme: theme });
    for (const [view, { address }] of Object.entries(views)) {
      if (view === 'timeline' || view === 'chain') continue;
      await page.goto(`${empty.origin}/${address}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await assertAccessible(page, `empty ${view}, ${theme}`);
    }
    assert.deepEqual(problems, []);
  });
}

testWithBrowser('the theme button overrides the theme of the system, and is kept', async () => {
  const { page } = await served.open({ colorScheme: 'light' });
  const colour = () => page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor');
  await show(page, 'inbox');
  const light = await colour();
  for (let clicks = 0; clicks < 3 && (await page.getByRole('button', { name: 'Theme: dark' }).count()) === 0; clicks++)
    await page.getByRole('button', { name: /^Theme: / }).click();
  await page.getByRole('button', { name: 'Theme: dark' }).waitFor();
  const dark = await colour();
  assert.notEqual(dark, light);
  await page.reload();
  await page.getByRole('button', { name: 'Theme: dark' }).waitFor();
  assert.equal(await colour(), dark);
});

testWithBrowser('no view scrolls sideways at 360 pixels', async () => {
  const { page, problems } = await served.open({ viewport: { width: 360, height: 740 } });
  const wide: string[] = [];
  for (const view of Object.keys(views) as (keyof typeof views)[]) {
    await show(page, view);
    const [content, width] = await page.evaluate<[number, number]>(
      '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
    );
    if (content > width) wide.push(`${view}: ${content} of ${width}`);
  }
  assert.deepEqual(wide, []);
  assert.deepEqual(problems, []);
});

testWithBrowser('no table is cut at 1280 pixels', async () => {
  const { page } = await served.open();
  for (const view of ['breakers', 'tasks', 'chains', 'store'] as const) {
    await show(page, view);
    const cut = await page.evaluate<readonly string[]>(
      `[...document.querySelectorAll('.table-frame, .task-grid, .task-usage .meter-text, .badge, button')]
        .filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => each.innerText)`,
    );
    assert.deepEqual(cut, [], view);
    const names = await page.evaluate<readonly string[]>(
      `[...document.querySelectorAll('tbody td span, tbody td button')].filter((each) =>
        /^\\S+$/.test(each.textContent) && each.getClientRects().length > 1).map((each) => each.textContent)`,
    );
    assert.deepEqual(names, [], `${view}: no word is broken`);
  }
});

testWithBrowser('nothing moves where motion is unwanted', async () => {
  const { page } = await served.open({ reducedMotion: 'reduce' });
  for (const view of Object.keys(views) as (keyof typeof views)[]) {
    await show(page, view);
    const moving = await page.evaluate<readonly string[]>(
      `document.getAnimations().filter((each) => each.playState === 'running'
        && each.effect.getComputedTiming().duration > 1).map((each) => each.animationName ?? each.transitionProperty)`,
    );
    assert.deepEqual(moving, [], view);
  }
});

testWithBrowser('every view has a picture at both widths in both themes', async () => {
  for (const theme of themes) {
    for (const width of widths) {
      const viewport = { width, height: sizes[width] };
      const { page, close } = await served.open({ address, colorScheme: theme, viewport });
      for (const view of Object.keys(views) as (keyof typeof views)[]) {
        await show(page, view);
        const picture = await page.screenshot();
        assert.ok(picture.length > 5_000, `${view} is not empty`);
        const name = `${view}-${width}-${theme}`;
        if (folder === undefined || (folder === 'docs/images' && !shown.has(name))) continue;
        mkdirSync(join(root, folder), { recursive: true });
        const small = toPalettePng(picture);
        assert.ok(small.length < pictureMax, `${name} has ${small.length} bytes`);
        writeFileSync(join(root, folder, `serve-${name}.png`), small);
      }
      await close();
    }
  }
});
