/** The tasks that a gateway holds at once. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createGatewayTasks } from '../../src/gateway/gateway-tasks.ts';
import { createSwitchgear } from '../../src/guard/create-switchgear.ts';
import { halt, runtimeOf, type TaskState } from '../../src/guard/internal.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { simulatedClock } from '../../src/testing/simulated-clock.ts';

test('of too many tasks the longest unused one ends that is not halted and runs no call', () => {
  const runtime = runtimeOf(createSwitchgear({ store: memoryStore(), log: 'silent', env: {} }));
  const tasks = createGatewayTasks(runtime, { limits: {} }, undefined);
  const find = (id: string) => tasks.find({ id, agent: 'a', isNamed: true }) as TaskState;
  const [running, halted, idle] = [find('running'), find('halted'), find('idle')];
  running.cells.budget.state.reservedTokens = 1_000;
  const stop = { kind: 'halt', code: 'operator_halt', control: 'operator', counters: {} } as const;
  halt(runtime, halted, stop, 'operator', 0);
  for (let at = 0; at < 5_000; at++) tasks.findConversation(find(`t${at}`), 'c');
  assert.ok(runtime.tasks.size <= 3_000, `${runtime.tasks.size}`);
  assert.deepEqual([running.ended, halted.ended, idle.ended], [false, false, true]);
  assert.equal(find('running'), running);
});

test('a task whose call runs is not idle, however long its answer takes', () => {
  const clock = simulatedClock();
  const runtime = runtimeOf(createSwitchgear({ store: memoryStore(clock), log: 'silent', env: {} }));
  const tasks = createGatewayTasks(runtime, { limits: {} }, undefined);
  const find = (id: string) => tasks.find({ id, agent: 'a', isNamed: false }) as TaskState;
  const [idle, running] = [find('idle'), find('running')];
  running.cells.budget.state.reservedTokens = 1_000;
  clock.advance(31 * 60_000);
  find('other');
  assert.deepEqual([running.ended, idle.ended], [false, true]);
  assert.equal(find('running'), running);
});
