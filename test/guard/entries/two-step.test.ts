/** `gear.admit` with a task that does not run. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear } from '../../../src/index.ts';

test('admit refuses a call of a task that is unknown or over, and reports it', async () => {
  const lines: string[] = [];
  using gear = createSwitchgear({ log: (line) => lines.push(line), env: {} });
  const task = gear.startTask({ id: 'over' });
  task.end();
  for (const id of ['nobody', 'over']) {
    const admission = gear.admit('read', ['a'], { task: id });
    assert.ok(admission.refused !== undefined);
    assert.equal(admission.refusal.code, 'internal_error');
    assert.match(admission.refusal.explanation, new RegExp(`no task with the id "${id}" is running`));
    assert.match(lines.at(-1) ?? '', new RegExp(`no task with the id "${id}" is running`));
  }
  assert.equal(gear.journal().filter(({ type }) => type === 'internal-error').length, 2);
});

test('admit throws on a task that is no id', () => {
  using gear = createSwitchgear({ log: 'silent', env: {} });
  const task = gear.startTask();
  for (const wrong of [task, 5, '']) {
    assert.throws(() => gear.admit('read', [], { task: wrong as never }), /task must be a text/);
  }
  assert.equal(gear.admit('read', [], { task: task.id }).refused, undefined);
});
