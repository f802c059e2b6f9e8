/** Options with a typo were taken, and the limit that was meant stayed off. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, type GuardOptions, type TaskOptions, type WatchOptions } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

const gear = createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {} });

test('a worst case under another name, or that is no number, is refused at set-up', () => {
  for (const maxCost of [{ cents: 5 }, { usd: '5' }, { tokens: -1 }, { usd: Number.NaN }, 5]) {
    assert.throws(
      () => gear.guard('tool', () => 1, { maxCost } as unknown as GuardOptions),
      /invalid_argument|must|has no/,
    );
  }
});

test('a setting of breakers is none of a task, and the other way round', () => {
  assert.throws(() => gear.startTask({ limits: { timeoutSecs: 5 } } as TaskOptions), /timeoutSecs is not a setting/);
  const options = { breaker: { maxTokens: 5 } } as GuardOptions;
  assert.throws(() => gear.guard('tool', () => 1, options), /maxTokens is not a setting/);
});

test('the events of a watch are a list of names', () => {
  for (const events of ['change', [7]]) {
    const options = { events } as unknown as WatchOptions;
    assert.throws(() => gear.watch('files', { on() {} }, () => {}, options), /must be a (list|text)/);
  }
});

test('retries have a wait that can be waited, and a question that can be asked', async () => {
  await assert.rejects(
    gear.retry(() => 1, { baseSecs: Number.NaN }),
    /baseSecs must be a number from 0/,
  );
  await assert.rejects(
    gear.retry(() => 1, { when: 'never' as unknown as () => boolean }),
    /when must be a function/,
  );
});

test('settings that could never trip together are refused where they are written', () => {
  for (const breaker of [
    { trip: 'count_window', failureThreshold: 200 },
    { rateWindow: 'calls', failureRateThreshold: 0.5, minimumCalls: 200 },
  ] as const) {
    assert.throws(() => gear.guard('tool', () => 1, { breaker }), /is 200, but the window holds 100 calls/);
  }
});
