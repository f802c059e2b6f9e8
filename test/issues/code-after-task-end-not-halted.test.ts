/** Code that went on after its task had ended was out of reach when the task above was halted. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, isRefused } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

function ended() {
  const gear = createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {} });
  const tool = gear.guard('tool', () => 'ran');
  gear.startTask({ id: 'root' });
  const child = gear.startTask({ parent: 'root' });
  child.end();
  return { gear, tool, child };
}

test('calls from code of an ended task are refused once the parent task is halted', () => {
  const { gear, tool, child } = ended();
  assert.equal(child.run(tool), 'ran');
  gear.halt('root', 'enough');
  assert.ok(isRefused(child.run(tool)));
});

test('a task started inside an ended task is halted with its ancestors', () => {
  const { gear, tool, child } = ended();
  const late = child.run(() => gear.startTask());
  assert.equal(late.parent, 'root');
  gear.halt('root', 'enough');
  assert.equal(late.halt?.code, 'operator_halt');
  assert.ok(isRefused(late.run(tool)));
});
