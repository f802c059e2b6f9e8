import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear } from '../../../src/index.ts';
import { simulatedClock } from '../../../src/testing/index.ts';

test('the end of a task removes the breakers of that task and no others', () => {
  const policy = { circuit_breaker: { scope: 'task' } } as const;
  const gear = createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {}, policy });
  const read = gear.guard('read', () => 1);
  const write = gear.guard('write', () => 1);
  const keys = () => gear.snapshot().breakers.map(({ key }) => key.split('/').slice(3).join(' '));
  const first = gear.startTask({ id: 'first/a' });
  const second = gear.startTask({ id: 'second' });
  first.run(read);
  first.run(write);
  second.run(read);
  assert.deepEqual(keys(), ['first%2Fa read', 'first%2Fa write', 'second read']);
  first.end();
  assert.deepEqual(keys(), ['second read']);
  second.end();
  assert.deepEqual(keys(), []);
});

test('a breaker shared by tasks outlives each of them', () => {
  const gear = createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {} });
  const read = gear.guard('read', () => 1);
  for (const id of ['first', 'second']) {
    const task = gear.startTask({ id });
    task.run(read);
    task.end();
  }
  assert.deepEqual(
    gear.snapshot().breakers.map(({ name, totalRequests }) => [name, totalRequests]),
    [['read', 2]],
  );
});
