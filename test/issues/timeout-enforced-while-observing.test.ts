/** A gear that only observes changes nothing: a call past its time ends as it would have ended without us. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear } from '../../src/index.ts';
import { promisesSettled, simulatedClock } from '../../src/testing/index.ts';

test('in observe mode a slow call returns late and counts as a failure', async () => {
  const clock = simulatedClock();
  const gear = createSwitchgear({ clock, mode: 'observe', log: 'silent', env: {} });
  let finish: (value: string) => void = () => {};
  const slow = gear.guard('slow', () => new Promise<string>((resolve) => (finish = resolve)), { timeoutSecs: 1 });
  const result = slow();
  let state = 'out';
  void result.then(
    () => (state = 'back'),
    () => (state = 'cut'),
  );
  clock.advance(5_000);
  await promisesSettled();
  assert.equal(state, 'out');
  finish('late');
  assert.equal(await result, 'late');
  assert.equal(gear.breaker('slow').stats.totalFailures, 1);
});
