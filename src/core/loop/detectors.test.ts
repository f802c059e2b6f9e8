import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seated } from '../../../test/control-story.ts';
import { defaultSettings } from '../defaults.ts';
import { seenCallsMax } from '../limits.ts';
import type { LoopSettings } from '../settings.ts';
import { allow, type Stop } from '../verdict.ts';
import { loop } from './loop.ts';
import { markText, type ResultMark } from './result.ts';
import { whatRepeats } from './words.ts';

/** A watched agent: what it says, calls and gets, told turn by turn. */
function watched(said: Partial<LoopSettings> = {}) {
  const control = loop({ ...defaultSettings.loop, ...said });
  const task = seated(control);
  let atMs = 0;
  const says = (recurs: boolean, calls?: boolean) =>
    task.tell({ type: 'text-observed', atMs, similarity: 0, recurs, ...(calls === undefined ? {} : { calls }) });
  const calls = (name: string, call: number) => task.tell({ type: 'call-observed', atMs, name, call });
  const gets = (name: string, call: number, result: ResultMark, likeness = 0) =>
    task.tell({ type: 'result-observed', atMs, name, call, result, likeness });
  return {
    ...task,
    says,
    calls,
    gets,
    wait: (ms: number) => {
      atMs += ms;
    },
    turn(name: string, call: number, text: string, ok = true, likeness = 0) {
      calls(name, call);
      gets(name, call, ok ? markText(text) : markText(text, false), likeness);
    },
    points: () => (task.cell.state.memory?.turns ?? []).reduce((sum, { points }) => sum + points, 0),
    kinds: () => (task.cell.state.memory?.turns ?? []).map(({ evidence }) => evidence),
    halted: () => {
      const due = task.check();
      return due === allow ? undefined : (due as Stop);
    },
  };
}

test('the same call with the same result is told, and halts at the ninth time', () => {
  const agent = watched();
  const at: Record<string, number> = {};
  for (let times = 1; times <= 9; times++) {
    agent.turn('read', 7, 'nothing here');
    if (loopHint(agent) !== undefined) at.told ??= times;
    if (agent.halted() !== undefined) at.halted ??= times;
  }
  assert.deepEqual(at, { told: 5, halted: 9 });
  assert.equal(
    whatRepeats(agent.halted()!.counters),
    "'read' returned the same result to the same call 9 times in a row",
  );
  assert.deepEqual(agent.kinds().slice(0, 2), ['news', 'same_call']);
});

function loopHint({ cell }: ReturnType<typeof watched>) {
  return loop(defaultSettings.loop).hint?.(cell.state);
}

test('a result that is new, a number that grows, and an id or a time that differs are told apart', () => {
  const news = watched();
  for (let i = 0; i < 30; i++) news.turn('read', 7, `page about ${'abcdefghij'[i % 10]}${'klm'[i % 3]}`);
  assert.equal(news.halted(), undefined);

  const grows = watched();
  for (let i = 0; i < 30; i++) grows.turn('status', 7, `done ${i} of 90 items`);
  assert.equal(grows.points(), 0);

  const ids = watched();
  for (let i = 0; i < 9; i++) {
    ids.turn('pay', 7, `sent as ${(0xabcdef01 + i).toString(16)} on 2026-01-0${i + 1} at 10:0${i}:11 in ${i}.5 ms`);
  }
  assert.equal(ids.halted()?.code, 'tool_loop');

  const wavers = watched();
  for (let i = 0; i < 40; i++) wavers.turn('price', 7, `the price is ${100 + (i % 3)} today`);
  assert.equal(wavers.halted(), undefined);
  assert.ok(wavers.points() > 0);
});

test('a cycle needs more turns than a call repeated at once, and news in between lowers the count', () => {
  const cycle = watched();
  for (let i = 0; i < 60 && cycle.halted() === undefined; i++) cycle.turn('t', i % 3, `answer ${'abc'[i % 3]}`);
  assert.equal(cycle.halted(), undefined);
  assert.equal(cycle.points(), 2 * defaultSettings.loop.turns);

  const moved = watched();
  for (let i = 0; i < 6; i++) moved.turn('read', 7, 'same');
  const before = moved.points();
  for (let i = 0; i < 11; i++) moved.turn('read', 100 + i, `news ${'abcdefghijk'[i]}`);
  assert.ok(before >= 12);
  assert.equal(moved.points(), 0);
});

test('one error behind many different calls halts, but never before the tool failed five times', () => {
  const agent = watched();
  let failures = 0;
  for (let i = 0; i < 10 && agent.halted() === undefined; i++) {
    agent.turn('sql', i, `Unknown column 'c${i}' in line ${i}`, false);
    failures++;
  }
  assert.equal(failures, 7);
  assert.equal(whatRepeats(agent.halted()!.counters), "'sql' returned the same error 7 times in a row");

  const strict = watched({ haltPoints: 6 });
  for (let i = 1; i <= 4; i++) strict.turn('sql', i, 'Unknown column', false);
  assert.equal(strict.halted(), undefined);
  strict.turn('sql', 5, 'Unknown column', false);
  assert.equal(strict.halted()?.code, 'tool_loop');
});

test('different failures alone never halt, and failures that waiting may mend do not count', () => {
  const differs = watched();
  for (let i = 0; i < 40; i++) differs.turn('sql', i, `${'abcdefghij'[i % 10]}${'klmnopqrstu'[i % 11]} failed`, false);
  assert.equal(differs.halted(), undefined);

  const busy = watched();
  for (let i = 0; i < 40; i++) {
    busy.calls('api', i);
    busy.gets('api', i, { ...markText('HTTP 503', false), retryable: true });
  }
  assert.equal(busy.points(), 0);
});

test('an identical failing call that is only watched halts when it is seen for the sixth time', () => {
  const agent = watched();
  for (let i = 0; i < 5; i++) agent.turn('fetch', 7, 'no such host', false);
  assert.equal(agent.halted(), undefined);
  agent.calls('fetch', 7);
  assert.equal(agent.halted()?.code, 'tool_loop');
  const other = watched();
  for (let i = 0; i < 5; i++) other.turn('fetch', 7, 'no such host', false);
  other.calls('fetch', 8);
  assert.equal(other.halted(), undefined);
});

test('the same answer to nearly the same call weighs more than a repeat; a short answer says nothing', () => {
  const long = 'the search found no document that holds all of these words';
  const agent = watched();
  let turns = 0;
  for (; turns < 12 && agent.halted() === undefined; turns++) agent.turn('search', turns, long, true, 0.6);
  assert.equal(turns, 6);
  const far = watched();
  for (let i = 0; i < 12; i++) far.turn('search', i, long, true, 0.4);
  assert.equal(far.halted(), undefined);
  const short = watched();
  for (let i = 0; i < 12; i++) short.turn('mail', i, 'sent', true, 0.9);
  assert.equal(short.halted(), undefined);
});

test('the same words over other calls are work; over nearly the same calls they are not', () => {
  const batch = watched();
  for (let i = 0; i < 30; i++) {
    batch.says(true, true);
    batch.turn('read', i, `file ${'abcdefghij'[i % 10]}${'klm'[i % 3]}`, true, 0.3);
  }
  assert.equal(batch.halted(), undefined);

  const tries = watched();
  let turns = 0;
  for (; turns < 12 && tries.halted() === undefined; turns++) {
    tries.says(turns > 0, true);
    tries.turn('run', turns, `output ${'abcdefghijklm'[turns]}`, true, turns > 0 ? 0.9 : 0);
  }
  assert.equal(turns, 7);

  const silent = watched();
  silent.says(true, true);
  silent.turn('run', 1, 'one', true, 0.9);
  for (let i = 2; i < 30; i++) silent.turn('run', i, `output ${'abcdefghij'[i % 10]}${'klm'[i % 3]}`, true, 0.9);
  assert.equal(silent.halted(), undefined, 'only the turn that spoke said the same again');
});

test('words that come again without a call halt; a call after them makes them part of its turn', () => {
  const talk = watched();
  talk.says(false, false);
  talk.says(true, false);
  talk.says(true, false);
  assert.equal(talk.halted(), undefined);
  talk.says(true, false);
  assert.equal(whatRepeats(talk.halted()!.counters), 'the same words came again 4 times');

  const unknown = watched();
  for (let i = 0; i < 4; i++) unknown.says(i > 0);
  assert.equal(unknown.halted(), undefined, 'the last words may yet have a call');
  unknown.says(true);
  assert.equal(unknown.halted()?.code, 'tool_loop');

  const calls = watched();
  for (let i = 0; i < 12; i++) {
    calls.says(i > 0);
    calls.turn('read', i, `news ${'abcdefghijkl'[i]}`);
  }
  assert.equal(calls.points(), 0);
});

test('parallel calls are one turn, and its best result counts', () => {
  const agent = watched();
  for (let i = 0; i < 20; i++) {
    for (const call of [1, 2, 3]) agent.calls('read', call);
    agent.gets('read', 1, markText('same one'));
    agent.gets('read', 2, markText('same two'));
    agent.gets('read', 3, markText(`news ${'abcdefghij'[i % 10]}${'klm'[i % 3]}`));
  }
  assert.equal(agent.halted(), undefined);
  assert.ok(agent.kinds().every((kind) => kind === 'news'));
});

test('a tool whose purpose is to be repeated is understood', () => {
  const polls = watched({ tools: { '*_status': 'poll' } });
  for (let i = 0; i < 40; i++) {
    polls.turn('job_status', 7, 'running');
    polls.wait(5_000);
  }
  assert.equal(polls.points(), 0);
  for (let i = 0; i < 10; i++) polls.turn('job_status', 7, 'running');
  assert.equal(polls.halted()?.code, 'tool_loop', 'without a pause it is a loop');

  for (const [habit, text] of [
    ['wait', () => 'still waiting'],
    ['off', () => 'anything'],
    ['page', (i: number) => `row ${i % 7} of the table`],
    ['move', (i: number) => `you are at ${i % 5}, ${i % 3}`],
  ] as const) {
    const agent = watched({ tools: { go: habit } });
    for (let i = 0; i < 40; i++) agent.turn('go', 7, text(i));
    assert.equal(agent.halted(), undefined, habit);
  }
  const stuck = watched({ tools: { go: 'move' } });
  for (let i = 0; i < 9; i++) stuck.turn('go', 7, 'you are at 1, 1');
  assert.equal(stuck.halted()?.code, 'tool_loop');
});

test('new words of a person and declared progress begin anew', () => {
  const agent = watched();
  for (let i = 0; i < 8; i++) agent.turn('read', 7, 'same');
  agent.tell({ type: 'user-observed', atMs: 0 });
  assert.equal(agent.cell.state.memory, null);
  for (let i = 0; i < 8; i++) agent.turn('read', 7, 'same');
  assert.equal(agent.halted(), undefined);
  agent.tell({ type: 'progress-observed', atMs: 0 });
  assert.equal(agent.points(), 0);
  agent.turn('read', 7, 'same');
  assert.deepEqual([agent.points(), agent.halted()], [3, undefined]);
});

test('a repeat is refused before the task halts, and the refusal counts as one more of its kind', () => {
  const control = loop(defaultSettings.loop);
  const task = seated(control);
  const call = { name: 'read', fingerprint: 7 };
  let ran = 0;
  for (;;) {
    const verdict = task.judge(call);
    if (verdict !== allow) break;
    task.decided(allow, call);
    task.settled({ kind: 'success' }, call, { result: markText('same') });
    ran++;
  }
  assert.equal(ran, 7);
  const refusal = task.judge(call) as Stop;
  assert.deepEqual([refusal.kind, refusal.code], ['deny', 'tool_loop']);
  assert.equal(task.judge({ ...call, fingerprint: 8 }), allow, 'another call passes');
  task.decided(refusal, call);
  assert.equal(task.check(), allow, 'a refusal halts by being repeated');
  task.decided(refusal, call);
  assert.equal((task.judge(call) as Stop).kind, 'halt');
});

test('an alike output is no loop where a call between brought news or failed, or a prompt came again', () => {
  const alike = { type: 'text-observed', atMs: 0, similarity: 1 } as const;
  const outputs = (between: (agent: ReturnType<typeof watched>, i: number) => void, more = {}) => {
    const agent = watched();
    for (let i = 0; i < 4; i++) {
      agent.tell({ ...alike, ...more });
      if (agent.halted()?.code === 'output_loop') return i + 1;
      between(agent, i);
    }
    return 0;
  };
  assert.equal(
    outputs(() => {}),
    2,
  );
  assert.equal(
    outputs((agent) => agent.turn('read', 7, 'same')),
    4, // The first call brought something.
  );
  assert.equal(
    outputs((agent, i) => agent.turn('read', i, `news ${'abcd'[i]}`)),
    0,
  );
  assert.equal(
    outputs((agent) => agent.turn('read', 7, 'broken', false)),
    0,
  );
  assert.equal(
    outputs((agent) => agent.turn('read', 7, 'same'), { asked: true }),
    0,
  );
  assert.equal(
    outputs(() => {}, { asked: true }),
    2,
  );
});

test('what is remembered is bounded, whatever comes', () => {
  const agent = watched();
  for (let i = 0; i < 1_000; i++) {
    agent.says(i % 2 === 0);
    agent.turn(`tool ${i}`, i, `result ${i}`, i % 3 > 0);
  }
  const { seen, turns } = agent.cell.state.memory!;
  assert.deepEqual([seen.length, turns.length], [seenCallsMax, defaultSettings.loop.turns]);
  assert.ok(JSON.stringify(agent.cell.state).length < 8_000);
});
