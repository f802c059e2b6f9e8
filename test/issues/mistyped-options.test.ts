/** Options with a typo were taken, and the limit that was meant stayed off. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  allow,
  type Control,
  createSwitchgear,
  type GuardOptions,
  refusalOf,
  type TaskOptions,
  type WatchOptions,
} from '../../src/index.ts';
import { priceBook } from '../../src/prices/index.ts';
import { type SqliteOptions, sqliteStore } from '../../src/stores/sqlite/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

const gear = createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {} });

test('a maxCost with an unknown key or a non-number is rejected at set-up', () => {
  for (const maxCost of [{ cents: 5 }, { usd: '5' }, { tokens: -1 }, { usd: Number.NaN }, 5]) {
    assert.throws(
      () => gear.guard('tool', () => 1, { maxCost } as unknown as GuardOptions),
      /invalid_argument|must|has no/,
    );
  }
});

test('a breaker setting is rejected as a task limit, and a task limit as a breaker setting', () => {
  assert.throws(() => gear.startTask({ limits: { timeoutSecs: 5 } } as TaskOptions), /timeoutSecs is not a setting/);
  const options = { breaker: { maxTokens: 5 } } as GuardOptions;
  assert.throws(() => gear.guard('tool', () => 1, options), /maxTokens is not a setting/);
});

test('the events of a watch must be a list of names', () => {
  for (const events of ['change', [7]]) {
    const options = { events } as unknown as WatchOptions;
    assert.throws(() => gear.watch('files', { on() {} }, () => {}, options), /must be a (list|text)/);
  }
});

test('retry rejects a baseSecs that is not a number and a `when` that is not a function', async () => {
  await assert.rejects(
    gear.retry(() => 1, { baseSecs: Number.NaN }),
    /baseSecs must be a number from 0/,
  );
  await assert.rejects(
    gear.retry(() => 1, { when: 'never' as unknown as () => boolean }),
    /when must be a function/,
  );
});

test('breaker settings that could never trip are rejected by guard', () => {
  for (const breaker of [
    { trip: 'count_window', failureThreshold: 200 },
    { rateWindow: 'calls', failureRateThreshold: 0.5, minimumCalls: 200 },
  ] as const) {
    assert.throws(() => gear.guard('tool', () => 1, { breaker }), /is 200, but the window holds 100 calls/);
  }
});

test('addControl rejects methods that are not functions and names already in use', () => {
  const control: Control<null> = {
    name: 'mine',
    scope: 'gear',
    initial: () => null,
    judge: () => allow,
    apply: (s) => s,
  };
  const add = (more: object) => () => gear.addControl({ ...control, ...more });
  assert.throws(add({ check: 1 }), /^\w*Error: check of the control "mine" must be a function, got 1$/);
  assert.throws(add({ gauges: 'x' }), /gauges of the control "mine" must be a function, got "x"/);
  assert.throws(add({ name: 'budget' }), /must differ from those of the built-in ones, got "budget"/);
  add({})();
  assert.throws(add({}), /must be new to the gear, got "mine"/);
});

test('a card accepts only a known answer with the name of a person', () => {
  const answer = gear.cards.answer as (card: string, answer: unknown, by?: unknown) => unknown;
  assert.throws(() => answer('card', 'yes', 'ann'), /the answer must be one of .*"approve".*, got "yes"/);
  assert.throws(() => answer('card', 'approve'), /the name of the person who answers must be a text .*, got undefined/);
  assert.equal(answer('card', 'approve', 'ann'), undefined);
});

test('a call whose maximum cost is not an amount is refused', () => {
  for (const maxCost of [{ usd: -1 }, { usd: Number.NaN }, { cents: 5 }, 7]) {
    let ran = false;
    const run = () => {
      ran = true;
    };
    const pay = gear.guard('pay', run, { maxCost: () => maxCost as { usd: number } });
    assert.match(refusalOf(pay())?.explanation ?? '', /must be (a number from 0|an object), got|has no "cents"/);
    assert.equal(ran, false);
  }
});

test('the file store and the price book reject unknown options and invalid values', () => {
  for (const [options, message] of [
    [{ waitMs: -1 }, /waitMs must be a number from 0, got -1/],
    [{ keysMax: 0 }, /keysMax must be a whole number from 1, got 0/],
    [{ retain: { days: -1 } }, /retain\.days must be a number from 0, got -1/],
    [{ retain: { day: 1 } }, /retain has no "day"/],
    [{ pth: 1 }, /sqliteStore has no "pth"/],
  ] as const) {
    assert.throws(() => sqliteStore({ path: '/nowhere/at/all.db', ...options } as SqliteOptions), message);
  }
  assert.throws(() => priceBook({ override: {} } as object), /priceBook has no "override"; it has overrides/);
});
