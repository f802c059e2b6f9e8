/** A child that went silent ended its parent, which had only been waiting for it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, type Task } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

function family(limits = {}) {
  const clock = simulatedClock();
  const gear = createSwitchgear({ clock, log: 'silent', env: {} });
  const root = gear.startTask({ id: 'root' });
  const child = gear.startTask({ parent: 'root', limits });
  child.observe({ type: 'heartbeat' });
  return { clock, root, child };
}

test('an idle child is halted alone, and the idle time of its parent restarts', () => {
  const { clock, root, child } = family();
  clock.advance(302_000);
  assert.deepEqual([child.halt?.code, root.halt], ['idle_timeout', undefined]);
  clock.advance(290_000);
  assert.equal(root.snapshot().halt, undefined);
  clock.advance(20_000);
  assert.equal(root.halt?.code, 'idle_timeout');
});

test('a task is not idle while a child with a longer idle limit is not idle', () => {
  const { clock, root, child } = family({ maxIdleSecs: 900 });
  clock.advance(800_000);
  assert.deepEqual([root.halt, child.halt], [undefined, undefined]);
});

test('the end of a child resets the idle time of its parent', () => {
  const { clock, root, child } = family();
  clock.advance(290_000);
  child.end();
  clock.advance(290_000);
  assert.equal(root.snapshot().halt, undefined);
  clock.advance(20_000);
  assert.equal(root.halt?.code, 'idle_timeout');
});

test('a worker that becomes idle after long work is halted, and its supervisor continues', async () => {
  const clock = simulatedClock();
  const gear = createSwitchgear({ clock, log: 'silent', env: {} });
  const work = async (task: Task) => {
    for (let part = 0; part < 7; part++) {
      await new Promise<void>((resolve) => void clock.after(100_000, resolve));
      task.observe({ type: 'heartbeat' });
    }
    await new Promise(() => {});
  };
  const result = gear.task({}, async () => {
    await gear.delegate('worker', work);
    return 'went on';
  });
  for (let part = 0; part < 11; part++) await clock.elapse(100_000);
  assert.deepEqual(await result, { status: 'done', value: 'went on' });
});
