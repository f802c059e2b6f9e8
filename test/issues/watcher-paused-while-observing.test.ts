/** A gear that only observes paused watchers all the same. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

test('in observe mode a watch reports a storm once and passes on every event', () => {
  const gear = createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {}, mode: 'observe' });
  const listeners: (() => void)[] = [];
  let passed = 0;
  let trips = 0;
  const source = { on: (_event: string, listener: () => void) => listeners.push(listener) };
  const watching = gear.watch('files', source, () => passed++, {
    maxEvents: 2,
    events: ['change'],
    onTrip: () => trips++,
  });
  for (let event = 0; event < 5; event++) listeners[0]?.();
  assert.deepEqual([passed, trips, watching.paused], [5, 0, false]);
  const told = gear.journal().flatMap((entry) => (entry.type === 'storm-tripped' ? [entry.counters.observed] : []));
  assert.deepEqual(told, [1]);
});
