/** What the document of the session breaker leaves open or gets wrong. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SessionBreaker } from '../../src/compat/index.ts';
import { createSwitchgear, refusalOf, type SwitchgearOptions } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

function geared(options: SwitchgearOptions = {}) {
  const clock = simulatedClock();
  return { clock, gear: createSwitchgear({ clock, log: 'silent', env: {}, ...options }) };
}

function watched(...taskIds: readonly string[]) {
  const breaker = new SessionBreaker({}, { clock: simulatedClock(), env: {}, log: 'silent' });
  for (const taskId of taskIds) breaker.observe({ type: '[heartbeat]', taskId, phase: 'starting' });
  return breaker;
}

test('as a gate the 51st call is refused before it runs; as an observer it is noticed', () => {
  const { gear } = geared();
  let ran = 0;
  const search = gear.guard('search', (page: number) => {
    ran++;
    return page;
  });
  const task = gear.startTask();
  task.run(() => {
    for (let page = 0; page < 50; page++) assert.equal(search(page), page);
    assert.deepEqual(refusalOf(search(50))?.counters, { actual: 51, limit: 50 });
  });
  assert.equal(ran, 50);
});

test('three turns with only tool calls are not outputs and do not halt the task', () => {
  const breaker = watched('a');
  const turn = { type: 'assistant', text: '', toolUse: true } as const;
  for (let i = 0; i < 10; i++) assert.equal(breaker.observe(turn), null);
  for (let i = 0; i < 2; i++) {
    assert.equal(breaker.observe({ type: 'assistant', text: 'Still searching.', toolUse: true }), null);
    assert.equal(breaker.observe(turn), null);
  }
  const third = breaker.observe({ type: 'assistant', text: 'Still searching.', toolUse: true });
  assert.equal(third?.kind, 'OutputLoop', 'and they do not hide a loop either');
});

test('short lines of progress that differ in a number are no loop', () => {
  const breaker = watched('a');
  for (let i = 0; i < 50; i++) {
    assert.equal(breaker.observe({ type: 'assistant', text: `processed ${i} of 200 pages` }), null);
  }
});

test('siblings with ids never pool: a busy one stops alone', () => {
  const breaker = watched('busy', 'healthy');
  for (let i = 0; i < 60; i++) breaker.observe({ type: 'tool_use', taskId: 'busy' });
  assert.equal(breaker.observe({ type: 'tool_use', taskId: 'healthy' }), null);
  const halted = breaker.snapshot().tasks.map(({ taskId, halt }) => [taskId, halt?.kind]);
  assert.deepEqual(halted, [
    ['busy', 'ToolCallLimit'],
    ['healthy', undefined],
  ]);
});

test('siblings without ids: counts go to the topmost and, when it ends, to the one below', () => {
  const breaker = watched('first', 'last');
  for (let i = 0; i < 30; i++) breaker.observe({ type: 'tool_use' });
  breaker.observe({ type: '[heartbeat]', taskId: 'last', phase: 'done' });
  for (let i = 0; i < 30; i++) assert.equal(breaker.observe({ type: 'tool_use' }), null);
  assert.equal(breaker.snapshot().tasks[0]?.toolCalls, 30);
});

test('the spending of child tasks also counts for their parent', () => {
  const { gear } = geared();
  const root = gear.startTask();
  for (let i = 0; i < 3; i++) {
    const child = gear.startTask({ parent: root.id });
    child.observe({ type: 'usage', model: 'claude-sonnet-4', inputTokens: 6_000_000, outputTokens: 0 });
    child.end();
  }
  assert.deepEqual([root.halt?.code, root.halt?.counters.actual], ['token_spend_limit', 5400]);
});

test('a retry doubles the reached limit and keeps the counters, at most three times', () => {
  const { gear } = geared();
  let task = gear.startTask({ limits: { maxToolCalls: 1 } });
  const limits: unknown[] = [];
  for (;;) {
    while (task.halt === undefined) task.observe({ type: 'tool_use', name: 'search' });
    limits.push(`${task.halt.counters.actual} of ${task.halt.counters.limit}`);
    const options = gear.retryOptions(task.id);
    if (options === undefined) break;
    task = gear.startTask(options);
  }
  assert.deepEqual(limits, ['2 of 1', '3 of 2', '5 of 4', '9 of 8']);
});

test('an unknown model costs the highest known price, reported once', () => {
  const lines: string[] = [];
  const { gear } = geared({ log: (line) => lines.push(line) });
  const task = gear.startTask();
  for (let i = 0; i < 2; i++) {
    task.observe({ type: 'usage', model: 'someone-elses-model', inputTokens: 1_000_000, outputTokens: 0 });
  }
  assert.equal(task.snapshot().spendUsd >= 6, true);
  assert.equal(lines.filter((line) => line.includes('someone-elses-model')).length, 1);
});

test('the size of the window and the words compared can be set', () => {
  const { gear } = geared({ policy: { loop: { window_size: 5, token_cap: 2 } } });
  const task = gear.startTask();
  const halts = [1, 2, 3, 4, 5].map((n) => task.observe({ type: 'assistant', text: `same start ${n}` })?.code);
  assert.deepEqual(halts, [undefined, undefined, undefined, undefined, 'output_loop']);
});

test('new words of a person start the loop afresh, a prompt said before does not', () => {
  const { gear } = geared();
  const task = gear.startTask();
  const says = () => task.observe({ type: 'assistant', text: 'I am done.' })?.code;
  task.observe({ type: 'user', text: 'continue' });
  assert.deepEqual([says(), says()], [undefined, undefined]);
  task.observe({ type: 'user', text: 'now the other file' });
  assert.deepEqual([says(), says()], [undefined, undefined]);
  task.observe({ type: 'user', text: 'continue' });
  assert.equal(says(), 'output_loop');
});

test('the wall clock may jump as it likes: only time that passed counts', () => {
  const { gear, clock } = geared();
  const task = gear.startTask();
  clock.wallJump(86_400_000);
  clock.advance(5_000);
  assert.equal(task.observe({ type: 'heartbeat' }), undefined);
  assert.equal(task.snapshot().durationMs, 5_000);
});
