import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { createRun } from '../../src/chains/run/storage/runs.ts';
import type { Entry, EntryBody } from '../../src/core/event.ts';
import { patienceMaxMs } from '../../src/core/limits.ts';
import { judgeByRuns, listTasks, readJournalTasks } from '../../src/operator/tasks.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { chainOf } from '../chains/run/run-setup.ts';

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

test('a task of a chain run has no process if the run has none, and is over with its run', () => {
  const owner = (untilMs: number) => ({ process: 'p', untilMs, pid: 1, machine: 'm' });
  const runs = [
    { id: 'works', status: 'running', owner: owner(6) },
    { id: 'asks', status: 'waiting', owner: owner(6) },
    { id: 'killed', status: 'running', owner: owner(5) },
    { id: 'doubtful', status: 'in-doubt' },
    { id: 'left', status: 'waiting' },
    { id: 'cancelled', status: 'cancelled' },
  ] as const;
  const rows: readonly Row[] = [...runs.map(({ id }) => id), 'killed/worker', 'other'].map((id) => [1, id, started]);
  const tasks = readJournalTasks(journal(...rows, [2, 'asks', { type: 'task-stopped' }]), 5);
  assert.deepEqual(
    judgeByRuns(tasks, runs, 5).map(({ id, state }) => `${id} ${state}`),
    [
      'works running',
      'asks paused',
      'killed lost',
      'doubtful lost',
      'left lost',
      'killed/worker lost',
      'other running',
    ],
  );
  const [halt] = readJournalTasks(journal([1, 'doubtful', started], [2, 'doubtful', { ...halted, enforced: true }]), 5);
  assert.equal(judgeByRuns([halt!], runs, 5)[0]?.state, 'halted');
});

test('the list of tasks does not call a chain run running on which no process works', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-tasks-'));
  const store = sqliteStore({ path: join(folder, 'state.db') });
  const steps = [{ id: 'transfer', status: 'in-doubt', attempts: 1 }] as const;
  for (const id of ['payout', 'digest'])
    store.append({ ...started }, { task: id, agent: 'a', session: 's' }, store.clock.nowMs());
  await createRun(store, {
    ...{ format: 1, id: 'payout', status: 'in-doubt', chain: chainOf(['transfer']), params: {}, modelRules: [] },
    ...{ startedWallMs: 1, steps, approved: [] },
  });
  await store.shared.settled();
  const states = (await listTasks(store)).map(({ id, state }) => `${id} ${state}`);
  assert.deepEqual(states.toSorted(), ['digest running', 'payout lost']);
  store.close();
  rmSync(folder, { recursive: true, force: true });
});

test('tasks are listed oldest first, whatever wall time their first journal entry got', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-tasks-'));
  const store = sqliteStore({ path: join(folder, 'agents.db') });
  try {
    const atMs = store.clock.nowMs();
    const entries = journal([atMs - 900, 'first', started], [atMs - 500, 'second', started]);
    const [first, second] = entries as readonly [Entry, Entry];
    const sentLater = [{ ...first, wallMs: second.wallMs + 100 }, second];
    const listed = await listTasks(store, async () => sentLater);
    assert.deepEqual(
      listed.map(({ id }) => id),
      ['first', 'second'],
    );
  } finally {
    store.close();
    rmSync(folder, { recursive: true });
  }
});
