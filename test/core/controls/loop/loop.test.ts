import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultSettings } from '../../../../src/core/controls/defaults.ts';
import { loop } from '../../../../src/core/controls/loop/loop.ts';
import { ensureMemory, initialLoop, restoreLoop } from '../../../../src/core/controls/loop/state.ts';
import { refusedCallsMax } from '../../../../src/core/limits.ts';
import { allow, type Stop } from '../../../../src/core/verdict.ts';
import { bindControl, makeStop } from '../../../harness/control-story.ts';

const control = loop({ ...defaultSettings.loop, similarityJaccardThreshold: 0.9, windowSize: 3, refusedRepeats: 2 });
const deny = makeStop('deny');
const until = (retryAtMs: number) => makeStop('deny', { retryAtMs });
const call = { name: 'mail', fingerprint: 7 };

const loopHalt = (actual: number) => ({
  kind: 'halt',
  code: 'tool_loop',
  control: 'loop',
  counters: { name: 'mail', actual, limit: 2 },
});

test('the loop control has one state per task and starts with an empty state', () => {
  assert.deepEqual([control.name, control.scope], ['loop', 'task']);
  assert.deepEqual(control.initial(3), { alike: 0, likeness: 1, times: 1, between: 0, refused: [], memory: null });
});

test('alike texts in a row halt the task at the window, and the halt reports the smallest similarity', () => {
  const task = bindControl(control);
  const rows: readonly [similarity: number, alike: number, likeness: number][] = [
    [-1, 0, 1],
    [0.95, 1, 0.95],
    [0.5, 0, 1],
    [0.9, 1, 0.9],
    [0.99, 2, 0.9],
  ];
  for (const [similarity, alike, likeness] of rows) {
    assert.equal(task.check(), allow);
    task.tell({ type: 'text-observed', atMs: 0, similarity });
    assert.deepEqual([task.cell.state.alike, task.cell.state.likeness], [alike, likeness]);
  }
  const counters = { actual: 3, limit: 3, similarity: 0.9, threshold: 0.9 };
  assert.deepEqual(task.check(), { kind: 'halt', code: 'output_loop', control: 'loop', counters });
});

test('the same text halts the task the fourth time, with other texts in between', () => {
  const task = bindControl(control);
  for (const times of [1, 1, 2, 1, 3, 3]) {
    task.tell({ type: 'text-observed', atMs: 0, similarity: 0.2, times });
    assert.equal(task.check(), allow, `${times}`);
  }
  task.tell({ type: 'text-observed', atMs: 0, similarity: 0.2, times: 4 });
  const counters = { actual: 4, limit: 3, similarity: 0.9, threshold: 0.9 };
  assert.deepEqual(task.check(), { kind: 'halt', code: 'output_loop', control: 'loop', counters });
  const black = bindControl(loop({ ...defaultSettings.loop, rowAcrossOutputs: false }));
  black.tell({ type: 'text-observed', atMs: 0, similarity: 0.2, times: 9 });
  assert.equal(black.check(), allow, 'only those in a row count, if the policy says so');
  task.tell({ type: 'text-observed', atMs: 0, similarity: 0.2 });
  assert.equal(task.check(), allow, 'another text');
});

test('a call that was refused twice halts the task when proposed a third time unchanged', () => {
  const task = bindControl(control);
  assert.equal(task.judge(call), allow);
  task.decided(deny, call);
  assert.equal(task.judge(call), allow);
  task.decided(deny, call);
  assert.deepEqual(task.judge(call), loopHalt(3));
  task.decided(deny, call);
  assert.deepEqual(task.judge(call), loopHalt(4));
  assert.equal(task.judge({ ...call, fingerprint: 8 }), allow);
  assert.equal(task.judge({ ...call, fingerprint: 0 }), allow);
});

test('a refused call without a fingerprint is not remembered, nor is a call that waits or asks', () => {
  const task = bindControl(control);
  task.decided(deny, { ...call, fingerprint: 0 });
  task.decided(makeStop('wait'), call);
  task.decided(makeStop('ask'), call);
  assert.deepEqual(task.cell.state.refused, []);
  task.decided(deny, call);
  assert.deepEqual(task.cell.state.refused, [{ fingerprint: 7, name: 'mail', times: 1, retryAtMs: -1, turn: null }]);
});

test('an allowed call is removed from the refused calls, and other calls stay', () => {
  const task = bindControl(control);
  for (const fingerprint of [1, 2, 3]) task.decided(deny, { fingerprint });
  task.decided(allow, { fingerprint: 9 });
  const remembered = () => task.cell.state.refused.map(({ fingerprint }) => fingerprint);
  assert.deepEqual(remembered(), [1, 2, 3]);
  task.decided(allow, { fingerprint: 1 });
  assert.deepEqual(remembered(), [2, 3]);
  task.decided(allow, { fingerprint: 3 });
  assert.deepEqual(remembered(), [2]);
  task.decided(allow, { fingerprint: 2 });
  assert.deepEqual(remembered(), []);
});

test('from its retry time on a refused call is not a repeat, and its count restarts', () => {
  const task = bindControl(control);
  task.decided(until(1_000), call, 0);
  task.decided(until(1_000), call, 10);
  assert.deepEqual(task.judge(call, 999), loopHalt(3));
  assert.equal(task.judge(call, 1_000), allow);
  task.decided(until(2_000), call, 1_000);
  const refused = { fingerprint: 7, name: 'mail', turn: null };
  assert.deepEqual(task.cell.state.refused, [{ ...refused, times: 1, retryAtMs: 2_000, turn: null }]);
  task.decided(until(0), call, 1_500);
  assert.deepEqual(task.cell.state.refused, [{ ...refused, times: 2, retryAtMs: 0, turn: null }]);
  assert.equal(task.judge(call, 0), allow);
});

test('a new message from a person clears the loop state; other events do not', () => {
  const task = bindControl(control);
  task.tell({ type: 'text-observed', atMs: 0, similarity: 0.95 });
  task.decided(deny, call);
  task.tell({ type: 'sign-observed', atMs: 0 });
  assert.deepEqual([task.cell.state.alike, task.cell.state.refused.length], [1, 1]);
  task.tell({ type: 'user-observed', atMs: 0 });
  assert.deepEqual(task.cell.state, control.initial(0));
});

test('the number of remembered refused calls is bounded, and the oldest is dropped', () => {
  const task = bindControl(control);
  for (let fingerprint = 1; fingerprint <= refusedCallsMax; fingerprint++) task.decided(deny, { fingerprint });
  assert.equal(task.cell.state.refused.length, refusedCallsMax);
  assert.equal(task.cell.state.refused[0]?.fingerprint, 1);
  task.decided(deny, { fingerprint: 99 });
  assert.equal(task.cell.state.refused.length, refusedCallsMax);
  assert.deepEqual([task.cell.state.refused[0]?.fingerprint, task.cell.state.refused.at(-1)?.fingerprint], [2, 99]);
});

test('identical refused calls of one turn count once, and those of the next turn count again', () => {
  const task = bindControl(control);
  const turn = (turnId: string) => ({ ...call, turnId });
  const times = () => task.cell.state.refused[0]?.times;
  task.decided(deny, turn('a'));
  task.decided(deny, turn('a'));
  assert.equal(times(), 1);
  task.decided(deny, turn('b'));
  assert.equal(times(), 2);
  assert.equal(task.judge(turn('b')), allow);
  assert.deepEqual(task.judge(turn('c')), loopHalt(3));
  assert.deepEqual(task.judge(call), loopHalt(3));
  task.decided(deny, call);
  task.decided(deny, call);
  assert.equal(times(), 4);
  assert.equal(task.cell.state.refused[0]?.turn, null);
});

test('with refusedRepeats of 1 the first repeat of a refused call halts the task', () => {
  const task = bindControl(loop({ ...defaultSettings.loop, refusedRepeats: 1 }));
  assert.equal(task.judge(call), allow, 'never refused');
  task.decided(until(1_000), { ...call, turnId: 'a' });
  assert.equal((task.judge(call) as Stop).kind, 'halt');
  assert.equal(task.judge({ ...call, turnId: 'a' }), allow, 'a twin');
  assert.equal(task.judge(call, 1_000), allow, 'after its time');
  assert.equal(task.judge({ ...call, fingerprint: 8 }), allow, 'another');
});

test('a state that another version has stored is replaced by a new one, the present one is kept', () => {
  const old = { alike: 0, likeness: 1, between: 0, refused: [], memory: { seen: [], turns: [], failingAgain: 0 } };
  assert.deepEqual(restoreLoop(old as never), initialLoop());
  assert.deepEqual(restoreLoop({ ...old, memory: null } as never), initialLoop());
  const state = initialLoop();
  ensureMemory(state, 5);
  assert.equal(restoreLoop(state), state);
});
