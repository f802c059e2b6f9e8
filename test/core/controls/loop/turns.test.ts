import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultSettings } from '../../../../src/core/controls/defaults.ts';
import { loop } from '../../../../src/core/controls/loop/loop.ts';
import { markResult } from '../../../../src/core/controls/loop/result-mark.ts';
import type { LoopSettings } from '../../../../src/core/settings.ts';
import { allow, type Counters, type Stop } from '../../../../src/core/verdict.ts';
import { bindControl, makeStop } from '../../../harness/control-story.ts';

/** A watched agent, a second per turn unless told otherwise. */
function watched(said: Partial<LoopSettings> = {}, turnMs = 1_000) {
  const control = loop({ ...defaultSettings.loop, ...said });
  const task = bindControl(control);
  let atMs = 50_000;
  const says = (recurs: boolean, calls?: boolean) =>
    task.tell({ type: 'text-observed', atMs, similarity: 0, recurs, ...(calls !== undefined && { calls }) });
  const calls = (name: string, call: number) => task.tell({ type: 'call-observed', atMs, name, call });
  const gets = (name: string, call: number, text: string, ok = true, likeness = 0) =>
    task.tell({ type: 'result-observed', atMs, name, call, result: markResult(text, ok)!, likeness });
  const turns = () => task.cell.state.memory?.turns ?? [];
  return {
    ...task,
    says,
    calls,
    gets,
    turn(...[name, call, text, ok, likeness]: Parameters<typeof gets>) {
      atMs += turnMs;
      calls(name, call);
      gets(name, call, text, ok, likeness);
    },
    /** A call that a guard let through, and its result. */
    runs(name: string, fingerprint: number, text: string, ok = true) {
      atMs += turnMs;
      task.decided(allow, { name, fingerprint }, atMs);
      task.settled({ kind: 'success' }, { name, fingerprint }, { atMs, result: markResult(text, ok)! });
    },
    refused: (name: string, fingerprint: number) => task.decided(makeStop('deny'), { name, fingerprint }, atMs),
    points: () => turns().map(({ points }) => points),
    kinds: () => turns().map(({ evidence }) => evidence),
    halted: () => task.check() !== allow,
    told: () => (control.hint?.(task.cell.state) as { counters: Counters } | undefined)?.counters,
    refusal: (name: string, fingerprint: number) => task.judge({ name, fingerprint }, atMs) as Stop,
  };
}

const letter = (i: number) => 'abcdefghijklmnopqrst'[i];

test('a result whose call was not observed is a turn with news', () => {
  const agent = watched();
  agent.gets('read', 1, 'one', true, 0.9);
  assert.deepEqual(agent.kinds(), ['news']);
});

test('the memory of a first result is plain data without the text of the result', () => {
  const agent = watched();
  agent.gets('read', 1, 'secret');
  const { exact, loose } = markResult('secret', true)!;
  const call = { name: 'read', call: 1, reached: true, chances: 0, atMs: 50_000 };
  assert.deepEqual(agent.cell.state.memory, {
    seen: [{ ...call, ok: true, exact, loose, length: 6, retryable: false }],
    turns: [{ evidence: 'news', points: 0, name: '', failed: false, times: 1, of: 1, secs: 0 }],
    ...{ placed: true, answered: true, recurs: false, spoke: false, waiting: false, texts: 0, failingAgain: 0 },
  });
});

test('a first text without a call is a turn with news', () => {
  const agent = watched();
  agent.says(false, false);
  assert.deepEqual([agent.kinds(), agent.points()], [['news'], [0]]);
});

test('repeated texts are counted without the seconds between the texts', () => {
  const agent = watched();
  for (let i = 0; i < 2; i++) agent.says(true, false);
  const counters = { name: '', evidence: 'same_words', times: 3, of: 3, secs: 0, stale: 2, turns: 2 };
  assert.deepEqual(agent.told(), { ...counters, actual: 16, limit: 24 });
});

test('a text that is followed by a call is not a turn, even if the call has no result', () => {
  const agent = watched();
  for (let i = 0; i < 5; i++) {
    agent.says(true);
    agent.calls('read', i);
  }
  assert.deepEqual(agent.kinds(), []);
});

test('a repeated text applies to all calls of its turn, and to no later call', () => {
  const twins = watched();
  twins.says(true, true);
  for (const call of [1, 2]) twins.calls('run', call);
  twins.gets('run', 1, 'one', true, 0.9);
  assert.deepEqual(twins.kinds(), ['near_call']);

  const later = watched();
  later.calls('run', 1);
  later.says(true, true);
  later.turn('run', 2, 'two', true, 0.9);
  later.turn('run', 3, 'three', true, 0.9);
  assert.deepEqual(later.kinds(), ['near_call', 'news']);

  const unread = watched();
  unread.says(true, true);
  unread.decided(allow, { name: 'run', fingerprint: 1 });
  unread.settled({ kind: 'success' }, { name: 'run', fingerprint: 1 });
  unread.turn('run', 2, 'two', true, 0.9);
  assert.deepEqual(unread.kinds(), ['news'], 'a result that cannot be told ends a turn, too');
});

test('of parallel calls with equal points the first one is reported', () => {
  const agent = watched();
  const twins = [
    ['read', 1],
    ['list', 2],
  ] as const;
  for (let i = 0; i < 8; i++) {
    for (const [name, call] of twins) agent.calls(name, call);
    for (const [name, call] of twins) agent.gets(name, call, 'same');
  }
  assert.equal(agent.told()?.name, 'read');
});

test('a call that succeeds clears the points of its own failures, and of no other call', () => {
  const agent = watched();
  for (let i = 0; i < 3; i++) agent.turn('read', 7, 'same');
  for (let i = 0; i < 2; i++) agent.turn('sql', i, 'no such row', false);
  agent.turn('read', 9, 'busy now', false);
  agent.turn('read', 8, 'news');
  assert.deepEqual(agent.points(), [0, 3, 3, 2, 4, 2, 0], 'another call of the tool worked');
  agent.turn('read', 9, 'other news');
  assert.deepEqual(agent.points(), [0, 3, 3, 2, 4, 0, 0, 0]);
});

test('a repeat is reported with its count, the number of calls and the duration', () => {
  const cycle = watched();
  for (let i = 0; i < 9; i++) cycle.turn('read', i % 2, `answer ${letter(i % 2)}`);
  const counters = { name: 'read', evidence: 'same_cycle', times: 5, of: 9, secs: 8, stale: 7, turns: 9 };
  assert.deepEqual(cycle.told(), { ...counters, actual: 14, limit: 24, poll_secs: 5 });

  const slow = watched({ notePoints: 1 }, 500_500);
  for (let i = 0; i < 2; i++) slow.turn('read', 1, 'same');
  assert.equal(slow.told()?.secs, 501);

  const errors = watched();
  errors.turn('read', 99, 'news');
  for (let i = 0; i < 5; i++) errors.turn('sql', i, 'no such row', false);
  const { times, of, secs, stale, actual } = errors.told()!;
  assert.deepEqual([times, of, secs, stale, actual], [5, 5, 4, 5, 18]);
});

test('turns of one point count towards hints and halts', () => {
  const agent = watched({ notePoints: 1, haltPoints: 2, repeatPoints: 1 });
  for (let i = 0; i < 2; i++) agent.turn('read', 1, 'same');
  assert.deepEqual([agent.halted(), agent.told()?.actual, agent.told()?.stale], [false, 1, 1]);
  agent.turn('read', 1, 'same');
  assert.equal(agent.halted(), true);

  const row = watched({ refusePoints: 11, haltPoints: 99, cyclePoints: 1 });
  for (let i = 0; i < 13; i++) row.turn('read', i % 2, `answer ${letter(i % 2)}`);
  assert.equal(row.halted(), true);
});

test('a turn with news never halts and gives no hint, whatever the earlier turns were', () => {
  const agent = watched();
  for (let i = 0; i < 9; i++) agent.turn('read', 1, 'same');
  assert.equal(agent.halted(), true);
  agent.turn('read', 2, 'news');
  assert.deepEqual([agent.halted(), agent.told()], [false, undefined]);
  agent.turn('read', 2, 'news');
  assert.equal(agent.halted(), true, 'and the next repeat is');
});

test('a halt for errors needs five failures of the tool; successes, refusals and other tools do not count', () => {
  const between: Record<string, (agent: ReturnType<typeof watched>, i: number) => void> = {
    successes: (agent, i) => agent.turn('sql', 50 + i, `row ${letter(i)}`),
    'failures of another': (agent, i) => agent.turn('list', 50 + i, `${letter(i)} is gone`, false),
    refusals: (agent) => agent.refused('sql', 60),
  };
  for (const [name, act] of Object.entries(between)) {
    const agent = watched({ haltPoints: 4 });
    agent.turn('sql', 1, 'no such row', false);
    for (let i = 0; i < 5; i++) act(agent, i);
    agent.turn('sql', 2, 'no such row', false);
    assert.equal(agent.halted(), false, name);
    for (let i = 3; i < 6; i++) agent.turn('sql', i, 'no such row', false);
    assert.equal(agent.halted(), true, name);
  }
});

test('a refused repeat is a turn of the same kind, does not halt and does not count as a run', () => {
  const agent = watched({ haltPoints: 20 });
  agent.runs('read', 9, 'other');
  for (let i = 0; i < 7; i++) agent.runs('read', 7, 'same');
  const counters = { name: 'read', evidence: 'same_call', times: 7, of: 7, secs: 6, turns: 8 };
  assert.deepEqual(agent.refusal('read', 7).counters, { ...counters, stale: 6, actual: 18, limit: 20, poll_secs: 5 });
  agent.refused('read', 7);
  assert.deepEqual([agent.kinds().at(-1), agent.kinds().length], ['same_call', 9]);
  assert.equal(agent.halted(), false);
  const { times, of, stale } = agent.refusal('read', 7).counters;
  assert.deepEqual([times, of, stale], [7, 7, 7]);
});

test('a call is refused only if the same call repeated the same result or error', () => {
  const rows: readonly [name: string, act: (agent: ReturnType<typeof watched>, i: number) => void][] = [
    ['others failed so', (agent, i) => agent.runs('sql', 1 + i, 'no such row', false)],
    ['it failed in other ways', (agent, i) => agent.runs('sql', 1, `${letter(i)} is gone`, false)],
    ['it works now and then', (agent, i) => agent.runs('sql', 1, 'no such row', i % 2 > 0)],
    ['others gave that', (agent, i) => agent.runs('sql', 1 + i, 'done')],
    ['it gave something else', (agent, i) => agent.runs('sql', 1, `${letter(i)} is there`)],
  ];
  for (const [name, act] of rows) {
    const agent = watched({ refusePoints: 0 });
    for (let i = 0; i < 5; i++) act(agent, i);
    assert.equal(agent.refusal('sql', 1), allow, name);
  }
  const agent = watched({ refusePoints: 0 }, 200_000);
  for (let i = 0; i < 5; i++) agent.runs('sql', 1, 'no such row', false);
  const { kind, counters } = agent.refusal('sql', 1);
  assert.deepEqual([kind, counters.evidence, counters.times, counters.secs], ['deny', 'same_error', 5, 800]);
});
