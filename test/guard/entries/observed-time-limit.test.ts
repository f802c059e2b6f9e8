/** A gear that only observes cuts no call: past its time limit the ending of a call is a failure, on every entry. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostCall } from '../../../src/guard/entries/host-call.ts';
import { createSwitchgear } from '../../../src/index.ts';
import { simulatedClock } from '../../../src/testing/index.ts';

function observingGear() {
  const clock = simulatedClock();
  const gear = createSwitchgear({ clock, mode: 'observe', env: {}, log: 'silent' });
  const slow = async () => {
    clock.advance(31_000); // The default limit is 30 s.
    return 'late';
  };
  return { gear, slow };
}

test('a guarded function that ends late returns its value and counts as a failure', async () => {
  const { gear, slow } = observingGear();
  assert.equal(await gear.guard('tool', slow)(), 'late');
  assert.equal(gear.breaker('tool').stats.totalFailures, 1);
});

test('a call of an adapter that ends late returns its value and counts as a failure', async () => {
  const { gear, slow } = observingGear();
  assert.deepEqual(await hostCall(gear, 'tool', [], slow), { value: 'late' });
  assert.equal(gear.breaker('tool').stats.totalFailures, 1);
});

test('a call admitted with gear.admit has no timeout', () => {
  const { gear, slow } = observingGear();
  const admission = gear.admit('tool', []);
  assert.equal(admission.refused, undefined);
  void slow();
  if (admission.refused === undefined) admission.settle({ value: 'late' });
  const { totalFailures, totalSuccesses } = gear.breaker('tool').stats;
  assert.deepEqual([totalFailures, totalSuccesses], [0, 1]);
});
