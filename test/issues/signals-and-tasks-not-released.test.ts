/** What a task or call held on to outlived it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

function countingSignal() {
  let listeners = 0;
  const signal = new EventTarget() as AbortSignal;
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
    listeners++;
    addEventListener.apply(signal, args);
  };
  signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
    listeners--;
    removeEventListener.apply(signal, args);
  };
  return { signal, listeners: () => listeners };
}

test('each task removes its listener from a signal that outlives the task', async () => {
  const gear = createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {} });
  const { signal, listeners } = countingSignal();
  for (let task = 0; task < 5; task++) await gear.task({ signal }, () => task);
  gear.startTask({ id: 'halted', signal });
  assert.equal(listeners(), 1);
  gear.halt('halted', 'enough');
  gear.dispose();
  assert.equal(listeners(), 0);
});

test('a signal of a call that ended is not aborted when its task halts later', async () => {
  const gear = createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {} });
  const ended: (AbortSignal | undefined)[] = [];
  const running: (AbortSignal | undefined)[] = [];
  const quick = gear.guard('quick', async () => ended.push(gear.currentCall()?.signal));
  const slow = gear.guard('slow', () => new Promise(() => running.push(gear.currentCall()?.signal)), { async: true });
  const task = gear.startTask({ id: 't' });
  await task.run(quick);
  void task.run(slow);
  gear.halt('t', 'enough');
  assert.deepEqual([ended[0]?.aborted, running[0]?.aborted], [false, true]);
});

test('a task that fails to start is not listed as a running task', () => {
  const gear = createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {} });
  assert.throws(() => gear.startTask({ signal: {} as AbortSignal }), /signal must have a method/);
  assert.deepEqual(gear.snapshot().tasks, []);
});
