import assert from 'node:assert/strict';
import test from 'node:test';
import type { Entry, EntryBody } from '../../src/core/event.ts';
import { patienceMaxMs } from '../../src/core/limits.ts';
import { readJournalTasks } from '../../src/operator/tasks.ts';

const limits = { maxToolCalls: 50, maxSpendCents: 5_000, maxDurationSecs: 100, maxIdleSecs: 30, maxDenials: 5 };
const started = { type: 'task-started', limits: { ...limits, noticeShare: 0.8, atLimit: 'close' } } as const;
const stop = { kind: 'halt', code: 'tool_call_limit', control: 'budget', counters: {} } as const;
const halted = { type: 'task-halted', stop, message: 'tool calls: 51 of 50' } as const;
const longest = 100_000 + patienceMaxMs;

type Row = readonly [number, string, EntryBody];

/** A journal as a table: when, which task, what. */
function journal(...rows: readonly Row[]): readonly Entry[] {
  return rows.map(([atMs, task, body], at) => ({
    seq: at + 1,
    atMs,
    wallMs: atMs,
    task,
    agent: 'a',
    session: 's',
    ...body,
  }));
}

const states = (atMs: number, ...rows: readonly Row[]) =>
  readJournalTasks(journal(...rows), atMs).map(({ id, state }) => `${id} ${state}`);

test('a task is listed as running from its start to its end', () => {
  assert.deepEqual(states(5, [1, 'x', started], [2, 'y', started], [3, 'x', { type: 'task-ended', how: 'done' }]), [
    'y running',
  ]);
  assert.deepEqual(readJournalTasks(journal([1, 'x', started]), 5), [
    { id: 'x', agent: 'a', session: 's', state: 'running', startedWallMs: 1, ageMs: 4 },
  ]);
});

test('a task is paused until every stop is resumed', () => {
  const stopped = [2, 'x', { type: 'task-stopped' }] as const;
  const resumed = [3, 'x', { type: 'task-resumed' }] as const;
  assert.deepEqual(states(5, [1, 'x', started], stopped, stopped, resumed), ['x paused']);
  assert.deepEqual(states(5, [1, 'x', started], stopped, stopped, resumed, resumed, resumed), ['x running']);
});

test('a halt is shown with its reason; a halt in observe mode is not shown', () => {
  assert.deepEqual(states(5, [1, 'x', started], [2, 'x', { ...halted, enforced: false }]), ['x running']);
  const [task] = readJournalTasks(journal([1, 'x', started], [2, 'x', { ...halted, enforced: true }]), 5);
  assert.deepEqual([task?.state, task?.halt], ['halted', { code: 'tool_call_limit', message: 'tool calls: 51 of 50' }]);
});

test('a task is lost after its maximum duration, without the time that the task was paused', () => {
  assert.deepEqual(states(longest, [0, 'x', started]), ['x running']);
  assert.deepEqual(states(longest + 1, [0, 'x', started]), ['x lost']);
  const still = [
    [0, 'x', { type: 'task-stopped' }],
    [500, 'x', { type: 'task-resumed' }],
  ] as const;
  assert.deepEqual(states(longest + 500, [0, 'x', started], ...still), ['x running']);
  assert.deepEqual(states(longest + 501, [0, 'x', started], ...still), ['x lost']);
  assert.deepEqual(states(10 * longest, [0, 'x', started], still[0]), ['x paused']);
});

test('a task id that is used twice refers to the later task', () => {
  assert.deepEqual(states(5, [1, 'x', started], [2, 'x', { ...halted, enforced: true }], [3, 'x', started]), [
    'x running',
  ]);
});
