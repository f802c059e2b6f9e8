import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultSettings } from '../../../../src/core/controls/defaults.ts';
import { loop } from '../../../../src/core/controls/loop/loop.ts';
import { markResult } from '../../../../src/core/controls/loop/result-mark.ts';
import type { LoopSettings } from '../../../../src/core/settings.ts';
import { allow, type Counters, type Stop } from '../../../../src/core/verdict.ts';
import { bindControl, makeAction, makePermit, makeStop } from '../../../harness/control-story.ts';

/** A watched agent, a second per turn unless told otherwise. */
function watched(said: Partial<LoopSettings> = {}, turnMs = 1_000) {
  const control = loop({ ...defaultSettings.loop, ...said });
  const task = bindControl(control);
  let atMs = 50_000;
  const says = (recurs: boolean, calls?: boolean) =>
    task.tell({ type: 'text-observed', atMs, similarity: 0, recurs, ...(calls !== undefined && { calls }) });
  const calls = (name: string, call: number) => task.tell({ type: 'call-observed', atMs, name, call });
  const gets = (name: string, call: number, text: string, ok = true, likeness = 0) =>
    task.tell({ type: 'result-observed', atMs, name, call, result: markResult(text, ok)!, likeness, effect: 'read' });
  const echoes = (call: number, text: string) => {
    const result = markResult(text, true)!;
    task.tell({ type: 'result-observed', atMs, name: 'echo', call, result, effect: 'nothing' });
  };
  const turns = () => task.cell.state.memory?.turns ?? [];
  return {
    ...task,
    says,
    calls,
    gets,
    echoes,
    turn(...[name, call, text, ok, likeness]: Parameters<typeof gets>) {
      atMs += turnMs;
      calls(name, call);
      gets(name, call, text, ok, likeness);
    },
    /** A call that a guard let through, and its result. */
    runs(name: string, fingerprint: number, text: string, ok = true) {
      atMs += turnMs;
      const call = { name, fingerprint, effect: 'read' } as const;
      task.decided(allow, call, atMs);
      const permit = { ...makePermit(makeAction(call)), atMs };
      task.settled({ kind: 'success' }, call, { permit, atMs, result: markResult(text, ok)! });
    },
    refused: (name: string, fingerprint: number) =>
      task.decided(makeStop('deny'), { name, fingerprint, effect: 'read' }, atMs),
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
  const call = { name: 'read', call: 1, reached: true, chances: 0, atMs: 50_000, retryable: false, unready: false };
  const place = { pauseMs: 0, at: 1, world: 0, times: 1, waitedMs: 0, inconclusive: false };
  assert.deepEqual(agent.cell.state.memory, {
    pastCalls: [{ ...call, ...place, ok: true, exact, loose, length: 6 }],
    turns: [{ evidence: 'news', points: 0, name: '', failed: false, times: 1, of: 1, secs: 0 }],
    ...{ settled: 1, newsAt: 1, world: 0, worldFrom: 0, changedAt: 0, commandWorld: 0, editedAt: 0, edits: [] },
    ...{ repeating: 0, repeats: 0, isRepeat: false },
    ...{ idleFromMs: 50_000, pauseMs: 0, gaps: [], again: 0, recurring: 0, apologies: 0 },
    ...{ placed: true, answered: true, recurs: false, spoke: false, waiting: false, texts: 0 },
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
  const counters = { name: '', evidence: 'same_words', times: 3, of: 3, stale: 2, turns: 2, points: 16 };
  assert.deepEqual(agent.told(), counters);
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
  assert.deepEqual([agent.told()?.name, agent.kinds().length], ['read', 8]);
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

test('a repeat is reported with its count and the number of calls, and is remembered with its duration', () => {
  const cycle = watched();
  for (let i = 0; i < 9; i++) cycle.turn('read', i % 2, `answer ${letter(i % 2)}`);
  const counters = { name: 'read', evidence: 'same_cycle', times: 5, of: 9, stale: 7, turns: 9, points: 14 };
  assert.deepEqual(cycle.told(), counters);
  assert.equal(cycle.cell.state.memory?.turns.at(-1)?.secs, 8);

  const slow = watched({ notePoints: 1 }, 500_500);
  for (let i = 0; i < 2; i++) slow.turn('read', 1, 'same');
  assert.equal(slow.cell.state.memory?.turns.at(-1)?.secs, 501);

  const errors = watched();
  errors.turn('read', 99, 'news');
  for (let i = 0; i < 5; i++) errors.turn('sql', i, 'no such row', false);
  const { times, of, stale, points } = errors.told()!;
  assert.deepEqual([times, of, stale, points], [5, 5, 5, 18]);
});

test('turns of one point count towards hints and strong suspicions, and no points halt', () => {
  const agent = watched({ notePoints: 1, cardPoints: 2, repeatPoints: 1 });
  for (let i = 0; i < 2; i++) agent.turn('read', 1, 'same');
  assert.deepEqual([agent.told()?.points, agent.told()?.stale, agent.told()?.strong], [1, 1, undefined]);
  agent.turn('read', 1, 'same');
  assert.deepEqual([agent.told()?.points, agent.told()?.strong, agent.halted()], [2, 1, false]);

  const row = watched({ notePoints: 99, cardPoints: 99, cyclePoints: 1 });
  for (let i = 0; i < 12; i++) {
    assert.equal(row.halted(), false, `${i}`);
    row.turn('read', i % 2, `answer ${letter(i % 2)}`);
  }
  assert.equal(row.halted(), true, 'a row of ten turns that only repeat does');
});

test('a turn with news gives no hint, and ends a row of turns that only repeat', () => {
  const agent = watched();
  for (let i = 0; i < 12; i++) agent.turn('read', i % 3, `answer ${letter(i % 3)}`);
  assert.notEqual(agent.told(), undefined);
  agent.turn('read', 9, 'news');
  assert.deepEqual([agent.halted(), agent.told()], [false, undefined]);
  agent.turn('read', 9, 'news');
  assert.notEqual(agent.told(), undefined, 'and the next repeat is told again');
  for (let i = 0; i < 9; i++) {
    assert.equal(agent.halted(), false, `${i}`);
    agent.turn('read', i % 3, `answer ${letter(i % 3)}`);
  }
  assert.equal(agent.halted(), true);
});

test('a row of turns that leave nothing halts only if half of the turns repeat for certain', () => {
  const play = (isNew: (i: number) => boolean) => {
    const agent = watched();
    for (let i = 0; i < 20; i++) {
      const call = isNew(i) ? 100 + i : i % 5;
      agent.calls('echo', call);
      agent.echoes(call, `said ${letter(call % 20)}`);
      if (agent.halted()) return i + 1;
    }
    return 0;
  };
  assert.equal(
    play(() => true),
    0,
  );
  assert.equal(
    play(() => false),
    10,
    'five that are new, and five repeats',
  );
  assert.equal(
    play((i) => i % 3 > 0),
    0,
    'a third of them',
  );
});

test('a turn that repeats a call is a repeat once, even with an echo before it or after it', () => {
  for (const order of ['same echo', 'echo same', 'echo same echo'] as const) {
    const agent = watched();
    for (const call of [1, 2, 3]) agent.turn('read', call, `answer ${letter(call)}`);
    for (let i = 1; i <= 10; i++) {
      assert.equal(agent.halted(), false, `${order}, ${i}`);
      const call = 1 + (i % 3);
      const parts = order.split(' ');
      for (const part of parts) part === 'echo' ? agent.calls('echo', 100 + i) : agent.calls('read', call);
      for (const part of parts)
        if (part === 'echo') agent.echoes(100 + i, `said ${letter(i)}`);
        else agent.gets('read', call, `answer ${letter(call)}`);
      const { repeating, repeats } = agent.cell.state.memory!;
      assert.deepEqual([repeating, repeats], [i, i], `${order}, ${i}`);
    }
    assert.equal(agent.halted(), true, order);
  }
});

test('a suspicion for errors needs five failures of the tool; successes, refusals and other tools do not count', () => {
  const between: Record<string, (agent: ReturnType<typeof watched>, i: number) => void> = {
    successes: (agent, i) => agent.turn('sql', 50 + i, `row ${letter(i)}`),
    'failures of another': (agent, i) => agent.turn('list', 50 + i, `${letter(i)} is gone`, false),
    refusals: (agent) => agent.refused('sql', 60),
  };
  for (const [name, act] of Object.entries(between)) {
    const agent = watched({ notePoints: 4 });
    agent.turn('sql', 1, 'no such row', false);
    for (let i = 0; i < 4; i++) act(agent, i);
    agent.turn('sql', 2, 'no such row', false);
    assert.equal(agent.told(), undefined, name);
    for (let i = 3; i < 6; i++) agent.turn('sql', i, 'no such row', false);
    assert.equal(agent.told()?.evidence, 'same_error', name);
    assert.equal(agent.halted(), false, name);
  }
});

test('a refused repeat is a turn of the same kind, does not halt and does not count as a run', () => {
  const agent = watched();
  agent.runs('read', 9, 'other');
  for (let i = 0; i < 5; i++) agent.runs('read', 7, 'same');
  const counters = { name: 'read', evidence: 'same_call', times: 5, secs: 4, limit: 5 };
  assert.deepEqual(agent.refusal('read', 7).counters, counters);
  agent.refused('read', 7);
  assert.deepEqual([agent.kinds().at(-1), agent.kinds().length], ['same_call', 7]);
  assert.equal(agent.halted(), false);
  assert.deepEqual(agent.refusal('read', 7).counters, counters);
});

test('a call is refused only if the same call repeated the same result, or failed', () => {
  const rows: readonly (readonly [name: string, act: (agent: ReturnType<typeof watched>, i: number) => void])[] = [
    ['others failed so', (agent, i) => agent.runs('sql', 2 + i, 'no such row', false)],
    ['it works now and then', (agent, i) => agent.runs('sql', 1, 'no such row', i % 2 > 0)],
    ['others gave that', (agent, i) => agent.runs('sql', 2 + i, 'done')],
    ['it gave something else', (agent, i) => agent.runs('sql', 1, `${letter(i)} is there`)],
  ];
  for (const [name, act] of rows) {
    const agent = watched();
    for (let i = 0; i < 5; i++) act(agent, i);
    assert.equal(agent.refusal('sql', 1), allow, name);
  }
  const agent = watched({}, 11_000);
  for (let i = 0; i < 5; i++) agent.runs('sql', 1, `${letter(i)} is gone`, false);
  const { kind, counters } = agent.refusal('sql', 1);
  assert.deepEqual([kind, counters.evidence, counters.times, counters.secs], ['deny', 'same_failure', 5, 44]);
});
