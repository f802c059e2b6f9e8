/** A user's control that throws while it learns keeps nobody else from learning. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allow, type Control, createSwitchgear } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

const broken: Control<object> = {
  name: 'broken',
  scope: 'gear',
  initial: () => ({}),
  judge: () => allow,
  apply(state, event) {
    if (event.type === 'action-settled') throw new Error('mine');
    return state;
  },
};

test('if a control throws, the call still counts, its slot is freed and the error is counted', async () => {
  const gear = createSwitchgear({ clock: simulatedClock(), env: {} });
  gear.addControl(broken);
  const tool = gear.guard('tool', () => 'ran', { breaker: { maxConcurrent: 1 } });
  await gear.task({}, (task) => {
    assert.equal(tool(), 'ran');
    assert.equal(tool(), 'ran');
    assert.equal(task.snapshot().toolCalls, 2);
  });
  assert.equal(gear.breaker('tool').stats.inFlight, 0);
  assert.ok(gear.snapshot().internalErrors >= 2);
});
