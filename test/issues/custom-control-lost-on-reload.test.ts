/** After a reload a control of one's own was not asked by the sweep any more. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allow, type Control, createSwitchgear } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

test('the sweep still checks custom controls after a reload', async () => {
  const clock = simulatedClock();
  const gear = createSwitchgear({ clock, log: 'silent', env: {} });
  const curfew: Control<object> = {
    name: 'curfew',
    scope: 'task',
    initial: () => ({}),
    judge: () => allow,
    apply: (state) => state,
    check: (_, atMs) =>
      atMs < 5_000 ? allow : { kind: 'halt', code: 'rule_abort', control: 'curfew', counters: {}, reason: 'late' },
  };
  gear.addControl(curfew);
  const task = gear.startTask({});
  gear.reload({ task: { max_tool_calls: 7 } });
  await clock.elapse(6_000);
  assert.equal(task.halt?.control, 'curfew');
});
