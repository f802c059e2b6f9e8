import assert from 'node:assert/strict';
import { test } from 'node:test';
import { success } from '../../../src/core/action.ts';
import { deadline, durationOf, idleOf } from '../../../src/core/controls/deadline.ts';
import { allow, type Code, type Verdict } from '../../../src/core/verdict.ts';
import { bindControl, makeAction, makeLimits, makePermit, makeStop } from '../../harness/control-story.ts';

const limits = makeLimits({ maxDurationSecs: 100, maxIdleSecs: 10 });
const halt = (code: Code, actual: number, limit: number): Verdict => ({
  kind: 'halt',
  code,
  control: 'deadline',
  counters: { actual, limit },
});

const started = (atMs = 0) => bindControl(deadline(limits), atMs);

test('the deadline control applies to the chain of tasks and starts counting when its task starts', () => {
  const { name, scope, initial } = deadline(limits);
  assert.deepEqual([name, scope], ['deadline', 'chain']);
  assert.deepEqual(initial(5), {
    startedAtMs: 5,
    signAtMs: 5,
    out: 0,
    outUntilMs: 0,
    stops: 0,
    stoppedAtMs: 0,
    stoppedMs: 0,
  });
});

test('a task halts one millisecond after its maximum duration, on a check and on a proposal', () => {
  const task = started(1_000);
  task.tell({ type: 'sign-observed', atMs: 101_000 });
  assert.equal(task.check(101_000), allow);
  assert.equal(task.judge({}, 101_000), allow);
  assert.deepEqual(task.check(101_001), halt('duration_limit', 101, 100));
  assert.deepEqual(task.judge({}, 101_001), halt('duration_limit', 101, 100));
  assert.deepEqual(task.judge({}, 102_999), halt('duration_limit', 102, 100));
});

test('a task halts one millisecond after its maximum idle time, but a proposal ends the idle time', () => {
  const task = started(1_000);
  assert.equal(task.check(11_000), allow);
  assert.deepEqual(task.check(11_001), halt('idle_timeout', 11, 10));
  assert.equal(task.judge({}, 50_000), allow);
});

test('every event resets the idle time, and an event with an older time does not set the idle time back', () => {
  const task = started();
  const permit = makePermit(makeAction());
  const rows: readonly [Parameters<typeof task.tell>[0], number][] = [
    [{ type: 'sign-observed', atMs: 10 }, 10],
    [{ type: 'text-observed', atMs: 20, similarity: 0 }, 20],
    [{ type: 'permit-renewed', atMs: 30, permit }, 30],
    [{ type: 'user-observed', atMs: 25 }, 30],
    [{ type: 'action-decided', atMs: 40, action: makeAction(), verdict: makeStop('deny') }, 40],
  ];
  for (const [event, signAtMs] of rows) {
    task.tell(event);
    assert.equal(task.cell.state.signAtMs, signAtMs, event.type);
  }
  assert.equal(task.cell.state.out, 0);
});

test('the idle time starts after the longest patience of the running calls', () => {
  const task = started();
  task.decided(allow, { patienceMs: 60_000 });
  task.decided(allow, { patienceMs: 20_000 }, 1_000);
  assert.deepEqual([task.cell.state.out, task.cell.state.outUntilMs], [2, 60_000]);
  assert.equal(idleOf(task.cell.state, 59_000), 0);
  assert.equal(task.check(70_000), allow);
  assert.deepEqual(task.check(70_001), halt('idle_timeout', 11, 10));
  task.settled(success, {}, { atMs: 2_000 });
  assert.deepEqual([task.cell.state.out, task.cell.state.outUntilMs], [1, 60_000]);
  assert.equal(idleOf(task.cell.state, 50_000), 0);
  task.settled(success, {}, { atMs: 3_000 });
  assert.deepEqual([task.cell.state.out, task.cell.state.outUntilMs], [0, 0]);
  assert.equal(idleOf(task.cell.state, 5_000), 2_000);
  task.settled(success, {}, { atMs: 3_000 });
  assert.equal(task.cell.state.out, 0);
});

test('a running call whose patience is over does not move the last sign of life back', () => {
  const task = started();
  task.decided(allow, { patienceMs: 1_000 });
  task.tell({ type: 'sign-observed', atMs: 5_000 });
  assert.equal(idleOf(task.cell.state, 7_000), 2_000);
  task.decided(allow, { patienceMs: 500 }, 8_000);
  assert.equal(task.cell.state.outUntilMs, 8_500);
});

test('duration and idle time stop while a task is stopped, until every stop is resumed', () => {
  const task = started();
  const stop = (atMs: number) => task.tell({ type: 'task-stopped', atMs });
  const resume = (atMs: number) => task.tell({ type: 'task-resumed', atMs });
  const clocks = (atMs: number) => [durationOf(task.cell.state, atMs), idleOf(task.cell.state, atMs)];
  resume(1_000);
  assert.deepEqual([task.cell.state.stops, task.cell.state.stoppedMs], [0, 0]);
  stop(5_000);
  stop(6_000);
  assert.deepEqual([task.cell.state.stops, task.cell.state.stoppedAtMs], [2, 5_000]);
  assert.deepEqual(clocks(500_000), [5_000, 0]);
  assert.equal(task.check(500_000), allow);
  resume(7_000);
  assert.deepEqual([task.cell.state.stops, task.cell.state.stoppedMs], [1, 0]);
  assert.deepEqual(clocks(9_000), [5_000, 0]);
  resume(20_000);
  assert.deepEqual([task.cell.state.stops, task.cell.state.stoppedMs], [0, 15_000]);
  assert.deepEqual(clocks(23_000), [8_000, 3_000]);
  stop(30_000);
  resume(31_000);
  assert.equal(task.cell.state.stoppedMs, 16_000);
});

test('a clock that goes back gives a duration and an idle time of zero', () => {
  const task = started(5_000);
  assert.deepEqual([durationOf(task.cell.state, 4_000), idleOf(task.cell.state, 4_000)], [0, 0]);
});

test('gauges report duration and idle time in seconds', () => {
  const task = started();
  task.tell({ type: 'sign-observed', atMs: 2_000 });
  assert.deepEqual(task.gauges(3_500), [
    { name: 'duration_secs', actual: 3.5, limit: 100 },
    { name: 'idle_secs', actual: 1.5, limit: 10 },
  ]);
});
