import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultSettings } from '../../../../src/core/controls/defaults.ts';
import type { WorldEffect } from '../../../../src/core/controls/loop/effect.ts';
import { loop } from '../../../../src/core/controls/loop/loop.ts';
import { describeRepeat } from '../../../../src/core/controls/loop/messages.ts';
import { markResult, type ResultMark } from '../../../../src/core/controls/loop/result-mark.ts';
import { pastCallsMax } from '../../../../src/core/limits.ts';
import type { LoopSettings } from '../../../../src/core/settings.ts';
import { allow, type Stop } from '../../../../src/core/verdict.ts';
import { bindControl } from '../../../harness/control-story.ts';

const markText = (text: string, ok = true): ResultMark => markResult(text, ok)!;

/** Tools that change something, or of which nobody knows; every other tool reads. */
const effectOf = (name: string): WorldEffect =>
  name === 'edit' || name === 'run' || name === 'test' ? 'change' : 'read';

/** A watched agent: what it says, calls and gets, told turn by turn. */
function watched(said: Partial<LoopSettings> = {}) {
  const control = loop({ ...defaultSettings.loop, ...said });
  const task = bindControl(control);
  let atMs = 0;
  const says = (recurs: boolean, calls?: boolean) =>
    task.tell({ type: 'text-observed', atMs, similarity: 0, recurs, ...(calls === undefined ? {} : { calls }) });
  const calls = (name: string, call: number) => task.tell({ type: 'call-observed', atMs, name, call });
  const gets = (name: string, call: number, result: ResultMark, likeness = 0) =>
    task.tell({ type: 'result-observed', atMs, name, call, result, likeness, effect: effectOf(name) });
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
      gets(name, call, markText(text, ok), likeness);
    },
    points: () => (task.cell.state.memory?.turns ?? []).reduce((sum, { points }) => sum + points, 0),
    kinds: () => (task.cell.state.memory?.turns ?? []).map(({ evidence }) => evidence),
    told: () => control.hint?.(task.cell.state)?.counters,
    halted: () => {
      const due = task.check();
      return due === allow ? undefined : (due as Stop);
    },
  };
}

test('the same call with the same result gives a hint the fifth time, and halts when it is seen a sixth time', () => {
  const agent = watched();
  for (let times = 1; times <= 5; times++) {
    assert.equal(agent.told() !== undefined, false, `${times}`);
    agent.turn('read', 7, 'nothing here');
    assert.equal(agent.halted(), undefined, `${times}`);
  }
  const { evidence, times, of, points } = agent.told()!;
  assert.deepEqual([evidence, times, of, points], ['same_call', 5, 5, 12]);
  agent.calls('read', 7);
  assert.equal(
    describeRepeat(agent.halted()!.counters),
    "the same call of 'read' returned the same 5 times, with nothing new in between",
  );
  assert.deepEqual(agent.kinds(), ['news', 'same_call', 'same_call', 'same_call', 'same_call']);
});

test('new results and changing numbers are news; results that differ only in ids and times are repeats', () => {
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
  let turns = 0;
  for (; turns < 40 && wavers.halted() === undefined; turns++)
    wavers.turn('price', 7, `the price is ${100 + (turns % 3)}`);
  assert.equal(turns, 13, 'results that are all known are no news, as in a cycle of three calls');
});

test('a result that differs in an item, a lone id, a log line, a list entry or a date is news to the same call', () => {
  const results: Record<string, (i: number) => unknown> = {
    item: (i) => `item k${i}`,
    id: (i) => `${(0xabcdef01 + i * 7919).toString(16)}-0000-4000-8000-0000000000${10 + i}`,
    time: (i) => new Date(1e12 + i * 1e7),
    log: (i) => 'a line of the log\n'.repeat(200 + i),
    tail: (i) => `${'a line of the log\n'.repeat(200)}${'abcdefghijklmnop'[i]}`,
    fraction: (i) => (i % 2 === 0 ? 0.0001 + i / 1e6 : 0.0003 - i / 1e6),
    field: (i) => ({ schema: 'column '.repeat(500), rows: [`row ${'abcdefghijklmnop'[i]}`] }),
    list: (i) => Array.from({ length: 1_000 }, (_, at) => (at === 999 ? i : at)),
    bytes: (i) => new Uint8Array(1_000).fill(i, 990),
  };
  for (const [name, result] of Object.entries(results)) {
    const agent = watched();
    for (let i = 0; i < 16; i++) {
      agent.calls('next', 7);
      agent.gets('next', 7, markResult(result(i), true)!);
    }
    assert.equal(agent.points(), 0, name);
    const stuck = watched();
    for (let i = 0; i < 5; i++) {
      stuck.calls('next', 7);
      stuck.gets('next', 7, markResult(result(3), true)!);
    }
    stuck.calls('next', 7);
    assert.equal(stuck.halted()?.code, 'tool_loop', name);
  }
});

test('a value without readable content has no mark', () => {
  const throws = {
    get any() {
      throw new Error('no');
    },
  };
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const opaque = [new Map([['a', 1]]), new Set([1]), Promise.resolve(1), { at: new Map() }, throws, proxy];
  assert.deepEqual(
    opaque.map((value) => markResult(value, true)),
    opaque.map(() => undefined),
  );
  for (const value of [undefined, null, '', {}, [], 0, false]) assert.notEqual(markResult(value, true), undefined);
});

test('a mark contains no text of its result, and the mark of a failure says if the failure is retryable', () => {
  assert.deepEqual(Object.keys(markText('your code is 4821')), ['ok', 'exact', 'loose', 'length']);
  const content = [{ type: 'text', text: 'HTTP 503: try later' }];
  assert.equal(markResult({ isError: true, content }, false)?.retryable, true);
  assert.equal(markResult(new Error('429 Too Many Requests'), false)?.retryable, true);
  assert.equal(
    markResult({ isError: true, content: [{ type: 'text', text: 'no such row' }] }, false)?.retryable,
    undefined,
  );
});

test('ten turns in a row that only repeat calls halt: a cycle of n halts at n + 10; news ends the row', () => {
  for (const length of [2, 3, 4, 5, 10]) {
    const cycle = watched();
    let turns = 0;
    for (; turns < 60 && cycle.halted() === undefined; turns++) {
      cycle.turn('t', turns % length, `answer ${'abcdefghij'[turns % length]}`);
    }
    assert.equal(turns, length + 10, `a cycle of ${length}`);
    const { evidence, times } = cycle.halted()!.counters;
    // A call of the shortest cycle comes a sixth time just then.
    assert.deepEqual([evidence, times], length === 2 ? ['same_call', 6] : ['same_cycle', 10]);
  }
  const broken = watched();
  for (let i = 0; i < 60; i++) {
    const isNew = i % 9 === 0;
    broken.turn('t', isNew ? 100 + i : i % 3, `answer ${isNew ? 'klmnopqrst'[i % 10] : 'abc'[i % 3]}`);
  }
  assert.equal(broken.halted(), undefined, 'news now and then');
  const patient = watched({ repeats: 20 });
  for (let i = 0; i < 60; i++) patient.turn('run', i % 3, `answer ${'abc'[i % 3]}`);
  assert.equal(patient.halted(), undefined, 'calls that may change something');

  const moved = watched();
  for (let i = 0; i < 5; i++) moved.turn('read', 7, 'same');
  const before = moved.points();
  for (let i = 0; i < 11; i++) moved.turn('read', 100 + i, `news ${'abcdefghijk'[i]}`);
  assert.deepEqual([before, moved.points()], [12, 0]);
});

test('one error from many different calls is a strong suspicion from the fifth failure on, and halts nobody', () => {
  const agent = watched();
  const at: Record<string, number> = {};
  for (let i = 1; i <= 40; i++) {
    agent.turn('sql', i, `Unknown column 'c${i}' in line ${i}`, false);
    if (agent.told() !== undefined) at.told ??= i;
    if (agent.told()?.strong === 1) at.strong ??= i;
    assert.equal(agent.halted(), undefined);
  }
  assert.deepEqual(at, { told: 5, strong: 5 });
  assert.equal(describeRepeat(agent.told()!), "'sql' returned the same error 21 times in a row");

  const strict = watched({ notePoints: 6 });
  for (let i = 1; i <= 4; i++) strict.turn('sql', i, 'Unknown column', false);
  assert.equal(strict.told(), undefined);
  strict.turn('sql', 5, 'Unknown column', false);
  assert.equal(strict.told()?.evidence, 'same_error');
});

test('different failures alone never halt, and retryable failures do not count', () => {
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

test('an observed call that failed five times, however worded, halts when the identical call is observed again', () => {
  const agent = watched();
  for (let i = 0; i < 5; i++) agent.turn('fetch', 7, `${'abcde'[i]} is no such host`, false);
  assert.equal(agent.halted(), undefined);
  agent.calls('fetch', 7);
  assert.equal(agent.halted()?.code, 'tool_loop');
  const other = watched();
  for (let i = 0; i < 5; i++) other.turn('fetch', 7, 'no such host', false);
  other.calls('fetch', 8);
  assert.equal(other.halted(), undefined);
  const falls = watched();
  for (let i = 0; i < 12; i++) {
    falls.turn('test', 7, `${40 - i} tests fail`, false);
    falls.calls('test', 7);
    assert.equal(falls.halted(), undefined, 'a number that falls is news');
  }
});

test('the same long answer to nearly the same call is a suspicion sooner than a repeat; a short one never is', () => {
  const long = 'the search found no document that holds all of these words';
  const agent = watched();
  const at: Record<string, number> = {};
  for (let i = 1; i <= 12; i++) {
    agent.turn('search', i, long, true, 0.6);
    if (agent.told() !== undefined) at.told ??= i;
    if (agent.told()?.strong === 1) at.strong ??= i;
    assert.equal(agent.halted(), undefined);
  }
  assert.deepEqual(at, { told: 4, strong: 6 });
  const far = watched();
  for (let i = 0; i < 12; i++) far.turn('search', i, long, true, 0.4);
  const short = watched();
  for (let i = 0; i < 12; i++) short.turn('mail', i, 'sent', true, 0.9);
  const changes = watched();
  for (let i = 0; i < 12; i++) changes.turn('edit', i, long, true, 0.9);
  assert.deepEqual([far.told(), short.told(), changes.told()], [undefined, undefined, undefined]);
});

test('repeated words are a suspicion only if the calls are nearly the same too', () => {
  const batch = watched();
  for (let i = 0; i < 30; i++) {
    batch.says(true, true);
    batch.turn(
      'read',
      i,
      `file ${'abcdefghij'[i % 10]}${'klm'[i % 3]} with more than fifty characters, so that it is no short answer`,
    );
  }
  assert.equal(batch.told(), undefined);

  const tries = watched();
  const at: Record<string, number> = {};
  for (let i = 0; i < 12; i++) {
    tries.says(i > 0, true);
    tries.turn('list', i, `output ${'abcdefghijklm'[i]}`, true, i > 0 ? 0.9 : 0);
    if (tries.told() !== undefined) at.told ??= i + 1;
    if (tries.told()?.strong === 1) at.strong ??= i + 1;
    assert.equal(tries.halted(), undefined);
  }
  assert.deepEqual(at, { told: 4, strong: 6 });

  const silent = watched();
  silent.says(true, true);
  silent.turn('list', 1, 'one', true, 0.9);
  for (let i = 2; i < 30; i++) silent.turn('list', i, `output ${'abcdefghij'[i % 10]}${'klm'[i % 3]}`, true, 0.9);
  assert.equal(silent.told(), undefined, 'only the turn that spoke said the same again');
});

test('repeated words without a call are a suspicion; words before a call are part of the turn of that call', () => {
  const talk = watched();
  talk.says(false, false);
  talk.says(true, false);
  assert.equal(talk.told(), undefined);
  talk.says(true, false);
  assert.equal(describeRepeat(talk.told()!), 'the same words came again 3 times, without a call');
  assert.equal(talk.told()?.strong, undefined);
  talk.says(true, false);
  assert.equal(talk.told()?.strong, 1);
  assert.equal(talk.halted(), undefined);

  const unknown = watched();
  for (let i = 0; i < 3; i++) unknown.says(i > 0);
  assert.equal(unknown.told(), undefined, 'the last words may yet have a call');
  unknown.says(true);
  assert.equal(unknown.told()?.evidence, 'same_words');

  const calls = watched();
  for (let i = 0; i < 12; i++) {
    calls.says(i > 0);
    calls.turn('read', i, `news ${'abcdefghijkl'[i]}`);
  }
  assert.equal(calls.points(), 0);
});

test('parallel calls are one turn, and one new result makes the turn news', () => {
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

test('polling and waiting tools may repeat calls as their habit allows', () => {
  const polls = watched({ tools: { '*_state': 'poll' } });
  for (let i = 0; i < 40; i++) {
    polls.turn('job_state', 7, 'building');
    polls.wait(30_000);
    polls.judge({ name: 'other', fingerprint: 1 });
  }
  const rows = [
    ['poll', 'the lights are red', 13],
    ['wait', 'still here', 0],
    ['off', 'anything', 0],
    ['read', 'the lights are red', 6],
    ['change', 'the lights are red', 6],
  ] as const;
  for (const [habit, text, halts] of rows) {
    const agent = watched({ tools: { go: habit } });
    let seen = 0;
    for (; seen < 40 && agent.halted() === undefined; seen++) {
      agent.calls('go', 7);
      if (agent.halted() === undefined) agent.gets('go', 7, markText(text));
    }
    assert.equal(agent.halted() === undefined ? 0 : seen, halts, habit);
  }
});

test('a new message from a person and declared progress reset the count and the points', () => {
  const agent = watched();
  for (let i = 0; i < 5; i++) agent.turn('read', 7, 'same');
  agent.tell({ type: 'user-observed', atMs: 0 });
  assert.equal(agent.cell.state.memory, null);
  for (let i = 0; i < 5; i++) agent.turn('read', 7, 'same');
  assert.equal(agent.halted(), undefined);
  agent.tell({ type: 'progress-observed', atMs: 0 });
  assert.equal(agent.points(), 0);
  agent.turn('read', 7, 'same');
  assert.deepEqual([agent.points(), agent.halted()], [0, undefined]);

  const tests = watched();
  for (let i = 0; i < 12; i++) {
    tests.turn('test', 7, 'one test fails', false);
    tests.tell({ type: 'progress-observed', atMs: 0 });
  }
  assert.equal(tests.halted(), undefined);
});

test('the failures of a call are counted anew after a change with a new input', () => {
  const agent = watched();
  for (let i = 0; i < 12; i++) {
    agent.turn('edit', 10 + i, 'edited');
    agent.turn('test', 7, 'one test fails', false);
    assert.equal(agent.halted(), undefined, `test ${i + 1}`);
  }
  const same = watched();
  for (let i = 0; i < 5; i++) {
    same.turn('test', 7, 'one test fails', false);
    same.turn('read', 8 + i, `page ${'abcde'[i]}`);
  }
  same.calls('test', 7);
  assert.equal(same.halted()?.code, 'tool_loop', 'what was read in between mends nothing');
});

test('a success clears the failures of its call, and a halt describes the call that halted', () => {
  const agent = watched();
  for (let i = 0; i < 4; i++) agent.turn('api', 7, 'refused', false);
  agent.turn('api', 7, 'fine');
  assert.equal(agent.points(), 0);

  const over = watched();
  for (let i = 0; i < 5; i++) over.turn('fetch', 7, 'no such host', false);
  over.turn('fetch', 9, 'another failure', false);
  over.calls('fetch', 7);
  const text = "the same call of 'fetch' failed 5 times, with no change in between";
  assert.equal(describeRepeat(over.halted()!.counters), text);
});

test('a call that keeps failing is refused for a minute; a call with retryable failures is not refused', () => {
  const call = { name: 'api', fingerprint: 7 };
  const failing = (mark: ResultMark) => {
    const task = bindControl(loop(defaultSettings.loop));
    for (let i = 0; i < 5; i++) {
      task.decided(allow, call);
      task.settled({ kind: 'failure', error: 'Error', errorFingerprint: 3 }, call, { result: mark });
    }
    return task;
  };
  const task = failing(markText('no such host', false));
  const refusal = task.judge(call) as Stop;
  assert.deepEqual([refusal.kind, refusal.retryAtMs], ['deny', 60_000]);
  assert.equal((task.judge(call, 59_999) as Stop).kind, 'deny');
  assert.equal(task.judge(call, 60_000), allow);
  assert.equal(failing({ ...markText('busy', false), retryable: true }).judge(call), allow);
});

test('a call is judged by its own repeats alone, and may come again a minute after the last time', () => {
  for (const habit of ['wait', 'poll', 'read'] as const) {
    const agent = watched({ tools: { sleep: habit } });
    for (let i = 0; i < 2; i++) agent.turn('sleep', 1, 'slept');
    for (let i = 0; i < 5; i++) agent.turn('read', 7, 'same');
    assert.equal(agent.judge({ name: 'sleep', fingerprint: 1 }).kind, 'allow', habit);
    assert.equal(agent.judge({ name: 'read', fingerprint: 7 }, 59_999).kind, 'deny', habit);
    assert.equal(agent.judge({ name: 'read', fingerprint: 7 }, 60_000).kind, 'allow', habit);
  }
});

test('a policy with fewer turns shortens the remembered turns at once', () => {
  const task = bindControl(loop(defaultSettings.loop));
  const turn = (control: ReturnType<typeof loop>, call: number) => {
    const settled = { name: 'read', call, result: markText('same') };
    control.apply(task.cell.state, { type: 'call-observed', atMs: 0, name: 'read', call }, 'self');
    control.apply(task.cell.state, { type: 'result-observed', atMs: 0, ...settled }, 'self');
  };
  for (let i = 0; i < 11; i++) turn(loop(defaultSettings.loop), i);
  turn(loop({ ...defaultSettings.loop, turns: 4 }), 12);
  assert.equal(task.cell.state.memory!.turns.length, 4);
});

test('a call is refused the sixth time, and repeating the refused call twice halts the task', () => {
  const control = loop(defaultSettings.loop);
  const task = bindControl(control);
  const call = { name: 'read', fingerprint: 7 };
  let ran = 0;
  for (;;) {
    const verdict = task.judge(call);
    if (verdict !== allow) break;
    task.decided(allow, call);
    task.settled({ kind: 'success' }, call, { result: markText('same') });
    ran++;
  }
  assert.equal(ran, 5);
  const refusal = task.judge(call) as Stop;
  assert.deepEqual([refusal.kind, refusal.code, refusal.retryAtMs], ['deny', 'tool_loop', 60_000]);
  assert.equal(task.judge({ ...call, fingerprint: 8 }), allow, 'another call passes');
  task.decided(refusal, call);
  assert.equal(task.judge(call).kind, 'deny');
  assert.equal(task.check(), allow, 'a refusal halts by being repeated');
  task.decided(refusal, call);
  assert.equal((task.judge(call) as Stop).kind, 'halt', 'the eighth time');
});

test('alike outputs are not a loop if a call between had news or failed, or ran after a repeated prompt', () => {
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

test('the memory of calls and turns is bounded for any events', () => {
  const agent = watched();
  for (let i = 0; i < 1_000; i++) {
    agent.says(i % 2 === 0);
    agent.turn(`tool ${i}`, i, `result ${i}`, i % 3 > 0);
  }
  const { pastCalls, turns } = agent.cell.state.memory!;
  assert.deepEqual([pastCalls.length, turns.length], [pastCallsMax, defaultSettings.loop.turns]);
  assert.ok(JSON.stringify(agent.cell.state).length < 8_000);
});

test('a tool whose breaker allows more failures may fail as often before the loop control refuses', () => {
  const task = bindControl(loop(defaultSettings.loop));
  const call = { name: 'fetch', fingerprint: 7, chances: 8 };
  let ran = 0;
  while (task.judge(call) === allow && task.check() === allow) {
    task.decided(allow, call);
    task.settled({ kind: 'success' }, call, { result: markText('no such host', false) });
    ran++;
  }
  assert.equal(ran, 8);
});

test('a tool name such as job_status or sleep sets the habit, unless the policy sets another habit', () => {
  const rows: readonly (readonly [name: string, halts: number])[] = [
    ['job_status', 13],
    ['check_job', 13],
    ['BashOutput', 13],
    ['wait_for_build', 0],
    ['sleep', 0],
    ['waiter_list', 6],
  ];
  const haltOf = (name: string, tools: LoopSettings['tools'] = {}) => {
    const agent = watched({ tools });
    for (let i = 1; i <= 20; i++) {
      agent.calls(name, 7);
      if (agent.halted() !== undefined) return i;
      agent.gets(name, 7, markText('the lights are red'));
    }
    return 0;
  };
  for (const [name, halts] of rows) assert.equal(haltOf(name), halts, name);
  assert.equal(haltOf('wait_for_build', { 'wait_*': 'read' }), 6);
});

test('a suspicion for many different failures reports how many of the last turns failed or repeated something', () => {
  const agent = watched();
  for (let i = 0; i < 12; i++) agent.turn('sql', i, `${'abcdefghijkl'[i]} is not a table`, false);
  assert.equal(agent.halted(), undefined);
  assert.equal(
    describeRepeat(agent.told()!),
    "11 of the last 11 turns failed or repeated something, last a call of 'sql'",
  );
});
