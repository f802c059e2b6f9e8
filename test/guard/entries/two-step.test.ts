/** `gear.admit` with a task that does not run. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear } from '../../../src/index.ts';
import { simulatedClock } from '../../../src/testing/index.ts';

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

for (const [name, policy, lastSecs] of [
  ['by default', {}, 599],
  ['with the preset coding', { preset: 'coding' }, 900],
  ['with an idle limit of a minute', { task: { max_idle_secs: 60 } }, 599],
] as const) {
  test(`a call of nine minutes that the host runs is no silence, and one without an end is: ${name}`, async () => {
    const clock = simulatedClock();
    using gear = createSwitchgear({ clock, policy, log: 'silent', env: {} });
    const task = gear.startTask();
    const admit = (n: number) => gear.admit('build', [{ n }], { task: task.id });
    for (let n = 1; n <= 3; n++) {
      const admission = admit(n);
      assert.equal(admission.refused, undefined, `call ${n}`);
      await clock.elapse(540_000);
      assert.equal(task.halt, undefined, `call ${n}`);
      if (admission.refused === undefined) admission.settle({ value: `built ${n}` });
    }
    const short = gear.startTask();
    gear.admit('build', [{}], { task: short.id });
    const codes: unknown[] = [];
    for (const secs of [lastSecs, 1]) {
      await clock.elapse(secs * 1000);
      codes.push(short.halt?.code);
    }
    assert.deepEqual(codes, [undefined, 'idle_timeout']);
  });
}
