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

/** What a tool does by its name; every other tool reads. */
const effects: Readonly<Record<string, WorldEffect | undefined>> = { edit: 'change', run: 'command', any: undefined };
const effectOf = (name: string) => {
  const effect = name in effects ? effects[name] : 'read';
  return effect && { effect };
};

/** A watched agent: what it says, calls and gets, told turn by turn. */
function watched(said: Partial<LoopSettings> = {}) {
  const control = loop({ ...defaultSettings.loop, ...said });
  const task = bindControl(control);
  const atMs = 0;
  const says = (recurs: boolean, calls?: boolean) =>
    task.tell({ type: 'text-observed', atMs, similarity: 0, recurs, ...(calls === undefined ? {} : { calls }) });
  const calls = (name: string, call: number) => task.tell({ type: 'call-observed', atMs, name, call });
  const gets = (name: string, call: number, result: ResultMark, likeness = 0) =>
    task.tell({ type: 'result-observed', atMs, name, call, result, likeness, ...effectOf(name) });
  return {
    ...task,
    says,
    calls,
    gets,
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
  const rows: readonly (readonly [name: string, length: number, ok: boolean, told: number, halts: number])[] = [
    ['read', 2, true, 5, 6],
    ['run', 2, true, 5, 6],
    ['any', 100, true, 5, 6],
    ['any', 99, true, 5, 13], // A short answer of an unknown tool says little.
    ['any', 2, false, 5, 6],
  ];
  for (const [name, length, ok, ...expected] of rows) {
    const agent = watched();
    let told = 0;
    for (let i = 1; i <= 20; i++) {
      agent.calls(name, 7);
      if (agent.halted() !== undefined) {
        assert.deepEqual([told, i], expected, `${name} ${length}`);
        const words = ok ? 'returned the same' : 'failed';
        const limit = expected[1] - 1;
        assert.match(
          describeRepeat(agent.halted()!.counters),
          new RegExp(`of '${name}' ${words} ${limit} times, with no`),
        );
        break;
      }
      agent.gets(name, 7, markText('o'.repeat(length), ok));
      if (told > 0 || agent.told() === undefined) continue;
      told = i;
      const { evidence, times, of, points } = agent.told()!;
      assert.deepEqual([evidence, times, of, points], ok ? ['same_call', 5, 5, 12] : ['same_failure', 5, 5, 18]);
    }
    assert.notEqual(agent.halted(), undefined, name);
  }
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
  for (let i = 0; i < 40; i++) wavers.turn('price', 7, `the price is ${100 + (i % 2)}`);
  assert.deepEqual([wavers.halted(), wavers.points()], [undefined, 0], 'only the last result is repeated');
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

test('ten turns that only repeat calls halt: a cycle of n halts at n + 10, one of changes at 2n - 1 + 10', () => {
  for (const length of [2, 3, 4, 5, 10]) {
    const rows: readonly (readonly [name: string, size: number, halts: number])[] = [
      ['t', 10, length + 10],
      ['run', 10, 2 * length - 1 + 10],
      ['edit', 10, 2 * length - 1 + 10],
      ['any', 100, 2 * length - 1 + 10],
      ['any', 99, 0], // Short answers of unknown tools say nothing, so each may have changed something.
    ];
    for (const [name, size, halts] of rows) {
      const cycle = watched();
      let turns = 0;
      for (; turns < 60 && cycle.halted() === undefined; turns++) {
        cycle.turn(name, turns % length, 'abcdefghij'[turns % length]!.repeat(size));
      }
      assert.equal(cycle.halted() === undefined ? 0 : turns, halts, `a cycle of ${length} of '${name}'`);
      if (halts === 0) continue;
      const { evidence, times } = cycle.halted()!.counters;
      // A call of the shortest cycle comes a sixth time just then.
      assert.deepEqual([evidence, times], halts === 12 ? ['same_call', 6] : ['same_cycle', 10]);
    }
  }
  const broken = watched();
  for (let i = 0; i < 60; i++) {
    const isNew = i % 9 === 0;
    broken.turn('t', isNew ? 100 + i : i % 3, `answer ${isNew ? 'klmnopqrst'[i % 10] : 'abc'[i % 3]}`);
  }
  assert.equal(broken.halted(), undefined, 'news now and then');

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

test('polling and waiting tools may repeat calls as the policy says, or else as their name says', () => {
  const rows: readonly (readonly [name: string, halts: number, tools?: LoopSettings['tools']])[] = [
    ['job_status', 13],
    ['check_job', 13],
    ['BashOutput', 13],
    ['wait_for_build', 0],
    ['sleep', 0],
    ['waiter_list', 6],
    ['any', 13], // Its answer is short.
    ['wait_for_build', 6, { 'wait_*': 'read' }],
    ...Object.entries({ poll: 13, wait: 0, off: 0, read: 6, change: 6 } as const).map(
      ([habit, halts]) => ['any', halts, { 'a*': habit as 'poll' }] as const,
    ),
  ];
  for (const [name, halts, tools = {}] of rows) {
    const agent = watched({ tools });
    let seen = 0;
    for (; seen < 40 && agent.halted() === undefined; seen++) {
      agent.calls(name, 7);
      if (agent.halted() === undefined) agent.gets(name, 7, markText('the lights are red'));
    }
    assert.equal(agent.halted() === undefined ? 0 : seen, halts, `${name} ${JSON.stringify(tools)}`);
  }
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
