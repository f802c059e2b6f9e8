/** Hostile texts in every field that an agent, a tool or a rule can fill, and secrets in arguments: all stay text. */

import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Page } from 'playwright-core';
import { cardApprover } from '../../src/approvers/index.ts';
import { createChains } from '../../src/chains/index.ts';
import { createSwitchgear } from '../../src/index.ts';
import type { CrossProcessStore } from '../../src/ports/store.ts';
import { hostileFlag, hostileStrings } from '../attacks/hostile-strings.ts';
import { findPlantedSecrets, plantedSecrets } from '../attacks/planted-secrets.ts';
import { chainOf, counting, step } from '../chains/run/run-setup.ts';
import { until } from '../supervisor/processes.ts';
import { testWithBrowser } from './browser.ts';
import { servePage, untilShown } from './served-page.ts';

const views = ['inbox', 'history', 'standing', 'breakers', 'tasks', 'chains', 'store'];
const texts = hostileStrings.map(({ text }) => text);
const isIgnored = () => undefined;
/** On a busy machine the longest of these tests takes minutes. */
const long = { timeout: 300_000 };
/** Cards far from the view are not drawn: a high window needs few steps. */
const viewport = { width: 1280, height: 4_000 };

/** What a page shows while everything on it is scrolled to its end. */
interface ReadThrough {
  /** The flag of scripts that ran; the numbers of elements and of addresses that only markup of a text can make. */
  readonly traces: readonly unknown[];
  /** Everything that was drawn: the markup, and the texts in boxes. */
  readonly drawn: string;
}

/** Code that runs in pages is text: the types of this project have no DOM. */
const readingThrough = `(async () => {
  const drawn = new Set();
  const traces = [undefined, 0, 0];
  const look = () => {
    traces[0] ??= globalThis.${hostileFlag};
    traces[1] += document.querySelectorAll('iframe, object, embed, base, form[action], svg script, [onerror], [onload],'
      + '[onclick], [onmouseover], [onfocus], [ontoggle], a[href^="javascript" i], script:not([src]), style').length;
    traces[2] += [...document.querySelectorAll('img, video, source, link')].filter((each) =>
      !/^(blob:|data:image|\\/)/.test(each.getAttribute('src') ?? each.getAttribute('href') ?? '/')).length;
    for (const each of document.querySelectorAll('article, tr, h1, h2, h3, p, dl, svg, [role=row]'))
      drawn.add(each.outerHTML);
    for (const each of document.querySelectorAll('input, textarea')) drawn.add(each.value);
  };
  const isUnfinished = (card) => {
    const { top, bottom } = card.getBoundingClientRect();
    const isSeen = bottom > 0 && top < innerHeight;
    return isSeen && (card.querySelector('button') === null || card.querySelector('button:disabled') !== null);
  };
  for (let still = 0, waits = 0; still < 6; still++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    if (/Loading/.test(document.querySelector('main').innerText)) still = 0;
    const isInbox = location.hash === '#/inbox';
    if (isInbox && waits++ < 200 && [...document.querySelectorAll('article')].some(isUnfinished)) {
      still = -1;
      continue;
    }
    waits = 0;
    look();
    for (const each of [document.scrollingElement, ...document.querySelectorAll('main *')]) {
      if (each.scrollHeight <= each.clientHeight + 1) continue;
      const from = each.scrollTop;
      each.scrollTop += each.clientHeight;
      if (each.scrollTop > from) still = 0;
    }
    const older = [...document.querySelectorAll('nav button')].find((each) => /Older/.test(each.innerText));
    if (still < 5 || older === undefined || older.disabled) continue;
    older.click();
    still = 0;
  }
  return { traces, drawn: [...drawn].join('\\n') };
})()`;

async function readThrough(page: Page, url: string): Promise<ReadThrough> {
  await page.goto(url);
  await untilShown(async () => !/^.*\s+Loading/.test(await page.getByRole('main').innerText()));
  return page.evaluate<ReadThrough>(readingThrough);
}

/** Questions whose agent, task, rule and arguments are hostile; each is answered with `note`. */
function askQuestions(store: CrossProcessStore) {
  const approver = cardApprover({ store });
  const rules = texts.map((reason, at) => ({ condition: `ability:pay${at}`, action: 'confirm' as const, reason }));
  const gear = createSwitchgear({ store, approver, policy: { rules }, log: 'silent', env: {} });
  after(() => gear.dispose());
  const asked = texts.map((text, at) => {
    const pay = gear.guard(`pay${at}`, async (_input: unknown) => 1);
    return gear.task({ id: `asks ${text}`, agent: text }, () => pay({ [text]: text, note: [text] }));
  });
  return {
    listOpen: () => gear.cards.list().filter(({ kind, state }) => kind === 'ask' && state === 'open'),
    async decline() {
      const open = gear.cards.list().filter(({ kind, state }) => kind === 'ask' && state === 'open');
      await Promise.all(open.map(({ id }, at) => gear.cards.answer(id, 'decline', texts[at]!, texts[at]!)));
      await Promise.all(asked);
    },
  };
}

/** Failing tools, running and halted tasks, and chain runs with hostile names, errors, reasons and outputs. */
async function fillBoard(store: CrossProcessStore): Promise<void> {
  const policy = { circuit_breaker: { failure_threshold: 1 }, journal: { level: 'all' as const } };
  const gear = createSwitchgear({ store, policy, log: 'silent', env: {} });
  after(() => gear.dispose());
  for (const text of texts) {
    const failure = Object.assign(new Error(text), { name: text, code: text });
    gear.startTask({ id: text, agent: text });
    await gear.task({ id: `fails ${text}` }, () =>
      gear.run(text, () => Promise.reject(failure)).then(isIgnored, isIgnored),
    );
  }
  for (const text of texts.slice(0, 100)) gear.halt(text, text);
  const chains = createChains({ abilities: [counting()], store, log: 'silent', env: {} });
  for (const [at, text] of texts.slice(0, 60).entries()) {
    if (text.includes('{{')) continue; // The mark of a parameter: such a chain is refused.
    const rules = [`ability:pay|confirm|${text.replaceAll('|', '')}`];
    const steps = [step('first', { args: { note: text } }), step('pay')];
    await chains.run(chainOf(steps, rules, { id: `c${at}` }), {}, { id: `run-${at}`, wait: false });
  }
  await store.shared.settled();
}

testWithBrowser(`${texts.length} hostile strings in questions and decisions stay text`, long, async () => {
  const served = await servePage();
  const store = served.openStore();
  const { listOpen, decline } = askQuestions(store);
  await until(() => listOpen().length === texts.length);
  await store.shared.settled();
  const { page, problems } = await served.open({ viewport });
  const { traces, drawn } = await readThrough(page, `${served.origin}/#/inbox`);
  assert.deepEqual(traces, [undefined, 0, 0]);
  for (const { id } of listOpen()) assert.ok(drawn.includes(id), `${id} was drawn`);
  await decline();
  await store.shared.settled();
  assert.deepEqual((await readThrough(page, `${served.origin}/#/history`)).traces, [undefined, 0, 0]);
  assert.deepEqual(problems, []);
});

testWithBrowser(`${texts.length} hostile strings in tasks, breakers, errors and chains stay text`, long, async () => {
  const served = await servePage();
  await fillBoard(served.openStore());
  const { page, problems } = await served.open({ viewport, expected: /404/ });
  for (const view of views) {
    const { traces } = await readThrough(page, `${served.origin}/#/${view}`);
    assert.deepEqual(traces, [undefined, 0, 0], view);
  }
  for (const [at, text] of texts.entries()) {
    if (at % 83 !== 0 && text.isWellFormed()) continue;
    for (const view of ['tasks', 'breakers', 'inbox', 'chains']) {
      await page.goto(`${served.origin}/#/${view}/${encodeURIComponent(text.toWellFormed())}`);
      assert.equal(await page.evaluate(`globalThis.${hostileFlag}`), undefined, text);
    }
  }
  assert.deepEqual(problems, []);
});

testWithBrowser(`none of ${plantedSecrets.length} secrets is on the page, and questions show them masked`, async () => {
  const served = await servePage();
  const store = served.openStore();
  const rules = [{ condition: 'ability:pay', action: 'confirm', reason: 'really?' }] as const;
  const gear = createSwitchgear({
    ...{ store, approver: cardApprover({ store }), log: 'silent', env: {} },
    policy: { rules, circuit_breaker: { failure_threshold: 1 }, journal: { level: 'all' } },
  });
  after(() => gear.dispose());
  const pay = gear.guard('pay', async (_input: unknown) => 1);
  plantedSecrets.forEach(({ text }, at) => {
    void gear.task({ id: `asks-${at}` }, () => pay({ note: text, headers: { authorization: text } }));
    const failing = gear.guard(`tool-${at}`, (_input: unknown) => Promise.reject(new Error(text)));
    void gear.task({ id: `fails-${at}` }, () => failing({ url: text })).then(isIgnored, isIgnored);
  });
  await until(() => gear.cards.list().filter(({ kind }) => kind === 'ask').length === plantedSecrets.length);
  await store.shared.settled();
  const { page, card, problems } = await served.open({ viewport });
  for (const view of [...views, 'tasks/fails-1', 'tasks/asks-1']) {
    const { drawn } = await readThrough(page, `${served.origin}/#/${view}`);
    assert.deepEqual(findPlantedSecrets(drawn), [], view);
    if (view !== 'inbox') continue;
    const articles = drawn.split('<article');
    plantedSecrets.forEach((_, at) => {
      const isMasked = articles.some((each) => new RegExp(`asks-${at}\\b`).test(each) && each.includes('[hidden: '));
      assert.ok(isMasked, `question ${at} shows its secret masked`);
    });
  }
  await page.goto(`${served.origin}/#/inbox`);
  await card().getByRole('button', { name: 'Edit and approve…' }).first().click();
  const arguments_ = await page.getByRole('dialog').getByRole('textbox').inputValue();
  assert.match(arguments_, /\[hidden: /);
  assert.deepEqual(findPlantedSecrets(arguments_), []);
  assert.deepEqual(problems, []);
});
