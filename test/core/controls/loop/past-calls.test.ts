import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultSettings } from '../../../../src/core/controls/defaults.ts';
import {
  compareWithPast,
  editedPlacesMax,
  findOver,
  gapsMax,
  type Habit,
  isImpatient,
  markError,
  recordGap,
  recordPastCall,
  type SettledCall,
} from '../../../../src/core/controls/loop/past-calls.ts';
import { markResult } from '../../../../src/core/controls/loop/result-mark.ts';
import { ensureMemory, initialLoop } from '../../../../src/core/controls/loop/state.ts';
import { pastCallsMax } from '../../../../src/core/limits.ts';
import type { LoopSettings } from '../../../../src/core/settings.ts';

interface Step extends Partial<Omit<SettledCall, 'mark'>> {
  readonly text?: string;
  readonly ok?: boolean;
  readonly habit?: Habit;
  /** The time before the call, in which no call ran; `isModel` if the call is one of a model. */
  readonly gapMs?: number;
  readonly isModel?: boolean;
}

/** An agent whose calls are compared and recorded; each call takes no time unless told otherwise. */
function agent(said: Partial<LoopSettings> = {}) {
  const memory = ensureMemory(initialLoop(), 0);
  const settings = { ...defaultSettings.loop, ...said };
  let nowMs = 0;
  const makes = ({ text = 'same', ok = true, habit, gapMs, isModel = false, ...more }: Step) => {
    const tookMs = more.tookMs ?? 0;
    nowMs += gapMs ?? 0;
    if (gapMs !== undefined) recordGap(memory, nowMs, isModel, settings);
    nowMs += tookMs;
    const facts = { name: 'run', call: 1, effect: undefined, edit: undefined, waits: false, likeness: 0 };
    const mark = markResult(text, ok)!;
    const settled = { ...facts, reached: true, chances: 0, tookMs, ...more, mark, atMs: nowMs };
    const before = memory.pastCalls.findLast((past) => past.call === settled.call);
    const comparison = compareWithPast(memory, settled, settings, habit, before);
    recordPastCall(memory, settled, comparison);
    return comparison;
  };
  return {
    memory,
    makes,
    tells: (...steps: readonly Step[]) => steps.map((step) => makes(step).newness).join(' '),
    isOver: (call = 1, habit?: Habit, isWatched = false) =>
      findOver(memory, call, settings, habit, isWatched) !== undefined,
  };
}

const read = (call = 1, more: Step = {}): Step => ({ name: 'read', call, effect: 'read', ...more });
const runs = (call = 2, more: Step = {}): Step => ({ call, effect: 'command', ...more });
const fails = (text = 'it broke', more: Step = {}): Step => ({ text, ok: false, ...more });
/** An unknown tool that gives an answer of so many characters. */
const asks = (call = 2, length = 2): Step => ({ call, text: 'o'.repeat(length) });
const moves = (length: number) => [asks(2, length), asks(3, length), asks(2, length)];
const edits = (before: number, after: number, call = 10 * before + after): Step => ({
  ...{ name: 'edit', call, effect: 'change', edit: { stateBefore: before, stateAfter: after }, text: 'edited' },
});
const writes = (after: number, call = 100 + after): Step => ({
  ...{ name: 'write', call, effect: 'change', edit: { stateAfter: after }, text: 'written' },
});
const times = (count: number, ...steps: readonly Step[]) => Array.from({ length: count }, () => steps).flat();

test('a call is new if its input, its result or the world is new', () => {
  const rows: readonly (readonly [story: string, steps: readonly Step[], newness: string])[] = [
    ['the same again', times(3, read()), 'new same same'],
    ['other inputs', [read(1), read(2), read(1), read(2)], 'new new same same'],
    ['a result that wavers', [100, 101, 100, 100, 101].map((n) => read(1, { text: `${n}` })), 'new new new same new'],
    ['after a change', [read(), runs(), read()], 'new new new'],
    ['after a change that was made before', [read(), runs(), read(), runs(), read()], 'new new new same same'],
    [
      'after a change that failed',
      [read(), runs(2, fails()), read(), runs(2, fails()), read()],
      'new new new same same',
    ],
    ['after a change that was refused', [read(), runs(2, { reached: false }), read()], 'new nothing same'],
    ['after another read', [read(), read(2), read()], 'new new same'],
    ['after nothing', [read(), runs(2, { effect: 'nothing' }), read()], 'new nothing same'],
    ['a thing that leaves nothing', times(3, { effect: 'nothing' }), 'nothing same same'],
    ['a refusal', [read(), read(1, { reached: false }), read()], 'new same same'],
    ['two commands in turn', times(3, runs(1), runs(2)), 'new new new same same same'],
    ['two calls of unknown tools in turn', times(3, asks(1, 100), asks(2, 100)), 'new new new same same same'],
    ['two with short answers in turn', times(3, asks(1, 99), asks(2, 99)), 'new new new new new new'],
    ['a read after known long answers', [...moves(100), read(), asks(3, 100), read()], 'new new new new same same'],
    ['a read after known short answers', [...moves(99), read(), asks(3, 99), read()], 'new new new new new new'],
    ['one change over and over', times(4, runs()), 'new same same same'],
    ['one failure over and over', times(3, fails()), 'new same same'],
    ['failures in other words', ['a', 'b', 'c'].map((text) => fails(`${text} broke`)), 'new same same'],
    ['a failure after a success', [runs(), runs(2, fails()), runs(2, fails()), runs()], 'new new same same'],
    ['a failure after a change', [fails(), runs(2), fails(), runs(3), fails()], 'new new new new new'],
    ['a failure after the same change', [fails(), runs(2), fails(), runs(2), fails()], 'new new new same same'],
  ];
  for (const [story, steps, newness] of rows) assert.equal(agent().tells(...steps), newness, story);
});

test('an edit that brings back a state for the third time is a repetition, and brings back its world', () => {
  const rows: readonly (readonly [story: string, steps: readonly Step[], newness: string])[] = [
    [
      'a comment on and off',
      [edits(1, 2), edits(2, 1), edits(1, 2), edits(2, 1), edits(1, 2)],
      'new new new same same',
    ],
    ['two contents in turn', times(3, writes(1), writes(2)), 'new new new new same same'],
    ['the same content at once', times(3, writes(1)), 'new same same'],
    ['a third content', [...times(2, writes(1), writes(2)), writes(3), writes(1)], 'new new new new new same'],
    ['other contents', [1, 2, 3, 4, 5, 6].map((after) => writes(after)), 'new new new new new new'],
    ['contents that look alike as inputs', [1, 2, 3, 4].map((after) => writes(after, 7)), 'new new new new'],
    ['edits that failed', times(3, { ...edits(1, 2), ok: false }), 'new same same'],
  ];
  for (const [story, steps, newness] of rows) assert.equal(agent().tells(...steps), newness, story);

  const toggles = agent();
  const [on, off] = ['on', 'off'].map((text) => read(1, { text })) as [Step, Step];
  toggles.tells(off, edits(1, 2), on, edits(2, 1), off, edits(1, 2), on);
  assert.equal(toggles.tells(edits(2, 1), off, edits(1, 2), on), 'same same same same');
  assert.equal(toggles.tells(edits(2, 3), on), 'new new', 'until something else is edited');
});

test('the same edit on another branch, or after another change, is a change', () => {
  const branches = agent();
  for (let branch = 0; branch < 8; branch++) {
    const steps = [runs(500 + branch), writes(1), fails('it broke', { call: 7 })];
    assert.equal(branches.tells(...steps), 'new new new', `branch ${branch}`);
    assert.equal(branches.isOver(7), false);
  }
});

test('an edit with a new content makes the failure of a test new, however often the test ran', () => {
  const tunes = agent();
  for (let i = 1; i <= 30; i++) assert.equal(tunes.tells(writes(i, 7), fails('a test fails')), 'new new', `${i}`);
  const stuck = agent();
  for (let i = 1; i <= 8; i++) {
    assert.equal(stuck.isOver(), false, `${i}`);
    stuck.tells(writes(1 + (i % 2)), fails('a test fails'));
  }
  assert.equal(stuck.isOver(), true, 'from the fifth time on two contents in turn change nothing');
});

test('the same answer after a wait inside a call is no repeat: at once from 5 s, for 90 s from 2 s', () => {
  const rows: readonly (readonly [tookMs: number, count: number, newness: string])[] = [
    [1_999, 4, 'new same same same'],
    [2_000, 4, 'new waited waited waited'],
    [4_999, 19, `new${' waited'.repeat(18)}`],
    [4_999, 21, `new${' waited'.repeat(18)} same same`], // 18 waits of 5 s are just below 90 s.
    [5_000, 40, `new${' waited'.repeat(39)}`],
    [90_000, 3, 'new waited waited'],
  ];
  for (const [tookMs, count, newness] of rows) {
    assert.equal(agent().tells(...times(count, read(1, { tookMs }))), newness, `${tookMs} ms, ${count} times`);
  }
  const patient = agent({ pollSecs: 60 });
  assert.equal(patient.tells(...times(3, read(1, { tookMs: 30_000 }))), 'new waited waited', '30 s are always a wait');
  assert.equal(patient.tells(...times(3, read(1, { tookMs: 29_999 }))), 'waited waited waited');
  assert.equal(patient.tells(read(1, { tookMs: 29_999 })), 'same', 'but 90 s in all');
  const sleeper = agent();
  const sleeps = runs(9, { name: 'Bash', effect: 'nothing', tookMs: 6_000 });
  assert.equal(sleeper.tells(read(), sleeps, read(), sleeps, read()), 'new nothing waited waited waited', 'by another');
  const refused = agent();
  assert.equal(refused.tells(read(), runs(2, { reached: false, tookMs: 6_000 }), read()), 'new nothing same');
});

test('a failure may come again after a wait only if waiting may mend it, or its command waits', () => {
  const rows: readonly (readonly [story: string, step: Step, count: number, newness: string])[] = [
    ['a test that takes 40 s', fails('a test fails', { tookMs: 40_000 }), 3, 'new same same'],
    [
      'a check that is pending, asked after 30 s',
      fails('pending', { tookMs: 30_000 }),
      40,
      `new${' waited'.repeat(39)}`,
    ],
    ['not ready, asked after 30 s', fails('not ready yet', { tookMs: 30_000 }), 5, 'new waited same same same'],
    ['not ready, asked after 29 s', fails('not ready yet', { tookMs: 29_999 }), 5, 'new waited waited same same'],
    ['a command that waits 30 s', fails('no', { waits: true, tookMs: 30_000 }), 4, 'new waited same same'],
    [
      'a command that waits 20 s',
      fails('no', { waits: true, tookMs: 20_000 }),
      6,
      'new waited waited waited same same',
    ],
    ['a command that waits 1 s', fails('no', { waits: true, tookMs: 1_000 }), 3, 'new same same'],
    ['a timeout after 40 s', fails('it timed out', { tookMs: 40_000 }), 4, 'new waited same same'],
    ['a timeout after 5 s', fails('it timed out', { tookMs: 5_000 }), 20, `new${' waited'.repeat(16)} same same same`],
    ['a timeout at once', fails('it timed out'), 3, 'new same same'],
  ];
  for (const [story, step, count, newness] of rows) assert.equal(agent().tells(...times(count, step)), newness, story);
});

test('what is not ready, or a short answer of an unknown tool, may come twelve times', () => {
  const rows: readonly (readonly [story: string, step: Step, isTold: boolean, times?: number])[] = [
    ['connection refused', fails('connect ECONNREFUSED 127.0.0.1:80'), true],
    ['pending', read(1, { text: 'status: pending' }), true],
    ['a tool that polls', read(1, { habit: 'poll' }), true],
    ['a short answer of an unknown tool', asks(1, 99), false],
    ['a longer answer', asks(1, 100), false, 5],
    ['a short answer of a command', runs(1), false, 5],
    ['a short failure of an unknown tool', fails('no'), false, 5],
  ];
  for (const [story, step, isTold, limit = 12] of rows) {
    const polls = agent();
    const { habit } = step;
    for (let i = 1; i <= limit; i++) {
      assert.equal(polls.isOver(1, habit), false, `${story}, ${i}`);
      assert.equal(polls.makes(step).newness, i === 1 ? 'new' : limit < 12 ? 'same' : 'allowed', `${story}, ${i}`);
      assert.equal(isImpatient(polls.memory, habit), isTold && i >= 3, `${story}, ${i}`);
    }
    assert.equal(polls.isOver(1, habit), true, story);
    assert.equal(polls.makes(step).newness, 'same', story);
  }
  const waits = agent();
  assert.equal(waits.tells(...times(9, read(1, { habit: 'wait' }))), `new${' waited'.repeat(8)}`);
});

test('after 90 s of waits what is not ready is refused the third time, or halted the fifth if watched', () => {
  for (const [text, limit, watched] of [
    ['not ready yet', 2, 4],
    ['it timed out', 5, 5],
  ] as const) {
    const waits = agent();
    const ask = fails(text, { tookMs: 20_000 });
    while (waits.makes(ask).newness !== 'same') assert.equal(waits.isOver(), false, text);
    for (let count = 2; count <= 6; count++) {
      const over = [false, true].map((isWatched) => waits.isOver(1, undefined, isWatched));
      assert.deepEqual(over, [count >= limit, count >= watched], `${text}, ${count}`);
      waits.makes(ask);
    }
  }
});

test('the time before a call is a wait before a model call, if it is long, or if it is much longer than usual', () => {
  const rows: readonly (readonly [story: string, gaps: readonly number[], last: Step, newness: string])[] = [
    ['29 s, every time', [29_000, 29_000, 29_000], { gapMs: 29_000 }, 'same'],
    ['30 s, every time', [30_000, 30_000, 30_000], { gapMs: 30_000 }, 'waited'],
    ['the first time', [], { gapMs: 29_999 }, 'same'],
    ['three times the usual', [2_000, 2_000, 2_000], { gapMs: 6_000 }, 'waited'],
    ['less than that', [2_000, 2_000, 2_000], { gapMs: 5_999 }, 'same'],
    ['less than 5 s', [1_000, 1_000, 1_000], { gapMs: 4_999 }, 'same'],
    ['5 s after quick calls', [1_000, 9_000, 1_000], { gapMs: 5_000 }, 'waited'],
    ['5 s before a model call', [5_000, 5_000], { gapMs: 5_000, isModel: true }, 'waited'],
    ['4 s before a model call', [4_000, 4_000], { gapMs: 4_999, isModel: true }, 'same'],
    ['a clock that goes back', [2_000, 2_000], { gapMs: -90_000 }, 'same'],
  ];
  for (const [story, gaps, last, newness] of rows) {
    const calls = agent();
    for (const [at, gapMs] of gaps.entries()) calls.makes(read(50 + at, { gapMs }));
    calls.makes(read());
    assert.equal(calls.makes(read(1, last)).newness, newness, story);
  }
  const many = agent();
  for (let i = 0; i < 100; i++) many.makes(read(1, { gapMs: 1_000 + i }));
  assert.deepEqual(
    many.memory.gaps,
    Array.from({ length: gapsMax }, (_, at) => 1_085 + at),
  );
});

test('a number in an error that falls below all before is news; a number that rises, or comes back, is not', () => {
  const errors = (numbers: readonly number[], by = 'errors') =>
    numbers.map((n) => fails(`${n} ${by} found in 9 files`));
  assert.equal(agent().tells(...errors([9, 8, 7, 5, 1])), 'new new new new new');
  assert.equal(agent().tells(...errors([9, 9, 10, 9, 8, 8])), 'new same same same new same');
  const wavers = agent();
  assert.equal(wavers.tells(...errors([9, 8, 9, 8, 9, 8])), 'new new same same same same');
  assert.equal(wavers.isOver(), true);
  assert.equal(agent().tells(...errors([9]), ...errors([8], 'warnings')), 'new same', 'of another error');
  assert.equal(agent().tells(fails('no number'), fails('no number')), 'new same');
});

test('a call is over after five times with nothing new in between, a failure after those its breaker allows', () => {
  const over = (steps: readonly Step[], call = 1) => {
    const calls = agent();
    return steps.findIndex((step) => calls.tells(step) !== '' && calls.isOver(call)) + 1;
  };
  assert.equal(over(times(9, read())), 5);
  assert.equal(over(times(9, fails())), 5);
  assert.equal(over(times(20, fails('it broke', { chances: 8 }))), 8);
  assert.equal(over(times(20, read(1, { chances: 8 }))), 5, 'only failures have chances');
  assert.equal(over(times(9, read(1), read(2))), 11, 'five times after both were new');
  assert.equal(over([...times(4, read()), read(2), ...times(9, read())]), 10, 'a new read in between: counted anew');
  assert.equal(over([...times(4, fails()), read(2), ...times(9, fails())]), 6, 'a read mends no failure');
  assert.equal(over([...times(4, fails()), runs(2), ...times(9, fails())]), 10, 'a change may');
  assert.equal(agent().isOver(), false);
  const strict = agent({ repeats: 2 });
  strict.tells(...times(2, read()));
  assert.equal(strict.isOver(), true);
});

test('an equal error counts until something changes; never after a wait, or while a thing starts up', () => {
  /** How many different errors these failures are; what succeeds is made in between. */
  const count = (steps: readonly Step[]) => {
    const calls = agent();
    const marks = steps.map((step) => {
      const { ok, text = '', waits = false, tookMs = 0 } = step;
      const mark = markError(calls.memory, { name: 'run', ...(waits && { waits }) }, markResult(text, false)!, tookMs);
      calls.makes(step);
      return ok === false ? [mark] : [];
    });
    assert.ok(marks.flat().every((mark) => Number.isInteger(mark) && mark !== 0));
    return new Set(marks.flat()).size;
  };
  const broken = (more: Step = {}) => fails('3 errors found', { effect: 'command', ...more });
  const rows: readonly (readonly [story: string, steps: readonly Step[], count: number])[] = [
    ['the same', times(6, broken()), 1],
    ['of different calls', [2, 3, 4].map((call) => broken({ call })), 1],
    ['another duration', [fails('gave up, took 5 ms'), fails('gave up, took 6 ms')], 1],
    ['other numbers', [fails('5 errors found'), fails('4 errors found'), fails('5 errors found')], 2],
    ['after a change', [broken(), runs(2), broken()], 2],
    ['after a change that was made before', [broken(), runs(2), broken(), runs(2), broken()], 2],
    ['after a change that failed', [broken(), runs(2, fails('no')), broken()], 2], // The other error.
    ['after a read', [broken(), read(3), broken()], 1],
    ['a test that takes long', times(6, broken({ tookMs: 40_000 })), 1],
    ['a command that waits 2 s', times(6, broken({ tookMs: 2_000, waits: true })), 6],
    ['a command that waits less', times(6, broken({ tookMs: 1_999, waits: true })), 1],
    ['a timeout after 5 s', times(6, fails('the request timed out', { tookMs: 5_000 })), 6],
    ['a timeout at once', times(6, fails('the request timed out')), 1],
    ['not ready, after 40 s', times(20, fails('not ready yet', { tookMs: 40_000 })), 20],
    ['not ready, at once', times(20, fails('not ready yet')), 13], // The first twelve all differ.
  ];
  for (const [story, steps, expected] of rows) assert.equal(count(steps), expected, story);
});

test('the memory of calls is bounded and plain JSON, whatever is called', () => {
  const calls = agent();
  let seed = 7;
  const any = (count: number) => {
    seed = (seed * 48_271) % 0x7fff_ffff;
    return seed % count;
  };
  for (let i = 0; i < 3_000; i++) {
    const effect = (['read', 'change', 'nothing', undefined] as const)[any(4)];
    const habit = ([undefined, undefined, 'poll', 'wait', 'change'] as const)[any(5)];
    const edit = any(3) === 0 ? { edit: { ...(any(2) === 0 && { stateBefore: any(40) }), stateAfter: any(40) } } : {};
    const text = ['not ready', `${any(99)} of ${any(99)} failed`, 'done', '429', '1.2.3 and 5. and 1e999'][any(5)]!;
    const more = { gapMs: any(60_000) - 9_000, isModel: any(4) === 0, tookMs: any(9) ** 5, waits: any(3) === 0 };
    const facts = { effect, ...(habit && { habit }), reached: any(9) > 0, chances: any(9), ok: any(2) === 0, text };
    calls.makes({ name: `tool ${any(5)}`, call: any(30), ...facts, ...edit, ...more });
    const { pastCalls, edits: places, gaps } = calls.memory;
    assert.ok(pastCalls.length <= pastCallsMax && places.length <= editedPlacesMax && gaps.length <= gapsMax);
    if (i % 100 === 0) assert.deepEqual(JSON.parse(JSON.stringify(calls.memory)), calls.memory);
  }
  assert.ok(JSON.stringify(calls.memory).length < 12_000);
});
