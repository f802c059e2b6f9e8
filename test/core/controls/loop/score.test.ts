import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultSettings } from '../../../../src/core/controls/defaults.ts';
import { type Habit, isKnownAnswer, type SettledCall, scoreCall } from '../../../../src/core/controls/loop/score.ts';
import { ensureMemory, initialLoop, type PastCall } from '../../../../src/core/controls/loop/state.ts';
import type { LoopSettings } from '../../../../src/core/settings.ts';

const length = 80;
const seenOf = (said: Partial<PastCall>): PastCall => ({
  ...{ name: 'read', call: 1, ok: true, exact: 10, loose: 100, length, retryable: false },
  ...{ reached: true, chances: 0, atMs: 0 },
  ...said,
});
const failed = (said: Partial<PastCall>) => seenOf({ ok: false, ...said });

interface Now extends Partial<Omit<SettledCall, 'mark'>> {
  readonly mark?: Partial<SettledCall['mark']>;
  readonly recurs?: boolean;
  readonly habit?: Habit;
  readonly settings?: Partial<LoopSettings>;
}

/** What call 1 of 'read' weighs after these, unless it is another. */
function weighed(seen: readonly PastCall[], { mark, recurs = false, habit, settings, ...said }: Now = {}) {
  const memory = { ...ensureMemory(initialLoop()), seen: [...seen], recurs };
  const result = { ok: true, exact: 10, loose: 100, length, ...mark };
  const settled = { name: 'read', call: 1, likeness: 0, reached: true, chances: 0, atMs: 0, mark: result, ...said };
  const { evidence, points, times, first } = scoreCall(
    memory,
    settled,
    { ...defaultSettings.loop, ...settings },
    habit,
  );
  return [evidence, points, times, first];
}

const news = ['news', 0, 1, 0];
const other = { call: 9, exact: 90, loose: 900 };
const failure = { ok: false };

test('a result is compared with the last result of the same call, and the score counts all equal results', () => {
  const [one, two] = [seenOf({}), seenOf(other)];
  assert.deepEqual(weighed([]), news);
  assert.deepEqual(weighed([one]), ['same_call', 3, 2, 0]);
  assert.deepEqual(weighed([two, one, two, one]), ['same_call', 3, 3, 1]);
  assert.deepEqual(weighed([one, two]), ['same_cycle', 2, 2, 0]);
  const unlike = [seenOf({ call: 9 }), failed({}), seenOf({ exact: 11 }), failed({ call: 9 })];
  assert.deepEqual(weighed([...unlike, one]), ['same_call', 3, 2, 4], 'another call, a failure, another result');
  assert.deepEqual(weighed([one, seenOf({ exact: 11 })]), news, 'the last result was another');
});

test('a poll scores as news after the poll interval, and a wait always scores as news', () => {
  const last = [seenOf({ atMs: 20_000 })];
  assert.deepEqual(weighed(last, { habit: 'poll', atMs: 24_999 })[0], 'same_call');
  assert.deepEqual(weighed(last, { habit: 'poll', atMs: 25_000 }), news);
  assert.deepEqual(weighed(last, { habit: 'poll', atMs: 21_000, settings: { pollSecs: 1 } }), news);
  assert.deepEqual(weighed(last, { atMs: 25_000 })[0], 'same_call');
  assert.deepEqual(weighed(last, { habit: 'wait', atMs: 20_000 }), news);
});

test('the same answer to nearly the same call scores from the third time on', () => {
  const answers = [seenOf({ call: 2 }), seenOf({ call: 3 })];
  const asked = { likeness: 0.5 };
  assert.deepEqual(weighed(answers, asked), ['same_answer', 7, 3, 0]);
  assert.deepEqual(weighed(answers, { likeness: 0.49 }), news);
  assert.deepEqual(weighed(answers.slice(1), asked), news, 'once is chance');
  assert.deepEqual(weighed(answers, { ...asked, mark: { length: 50 } })[0], 'same_answer');
  assert.deepEqual(weighed(answers, { ...asked, mark: { length: 49 } }), news, 'a short one says little');
  for (const habit of ['page', 'move'] as const) assert.deepEqual(weighed(answers, { ...asked, habit }), news, habit);
  const unlike = [{ name: 'list' }, { ok: false }, { exact: 11 }];
  for (const said of unlike) {
    const between = seenOf({ call: 4, ...said });
    assert.deepEqual(weighed([between, ...answers], asked), ['same_answer', 7, 3, 1], JSON.stringify(said));
    assert.deepEqual(weighed([between, ...answers.slice(1)], asked), news, JSON.stringify(said));
  }
});

test('a nearly equal answer to the same call is news, even with repeated words', () => {
  const near = { recurs: true, likeness: 1, mark: { exact: 11 } };
  assert.deepEqual(weighed([seenOf({})], near), news, 'a count that moved');
  assert.deepEqual(weighed([seenOf({ loose: 101 })], near)[0], 'near_call');
  for (const habit of ['page', 'move'] as const) {
    assert.deepEqual(weighed([seenOf({ loose: 101 })], { ...near, habit }), news, habit);
  }
});

test('near_call needs both a nearly equal call and repeated words, unless wordsAlone is set', () => {
  const likeness = 0.76;
  assert.deepEqual(weighed([seenOf(other)], { recurs: true, likeness }), ['near_call', 4, 2, 1]);
  assert.deepEqual(weighed([seenOf(other)], { recurs: true, likeness: 0.75 }), news);
  assert.deepEqual(weighed([seenOf(other)], { likeness }), news);
  assert.deepEqual(weighed([seenOf(other)], { recurs: true, settings: { wordsAlone: true } })[0], 'near_call');
  assert.deepEqual(weighed([seenOf(other)], { settings: { wordsAlone: true } }), news);
});

test('a failure scores as same, near or other error, and only failures of the same tool count', () => {
  const mark = failure;
  const before = [failed({ call: 2, loose: 101 }), seenOf({ call: 3 }), failed({ name: 'list' })];
  assert.deepEqual(weighed([], { mark }), ['other_error', 2, 1, 0]);
  assert.deepEqual(weighed(before, { mark }), ['other_error', 2, 2, 0]);
  assert.deepEqual(weighed(before.slice(1), { mark }), ['other_error', 2, 1, 2]);
  assert.deepEqual(weighed(before, { mark, recurs: true, likeness: 0.76 }), ['near_error', 6, 2, 0]);
  assert.deepEqual(weighed([...before, failed({ call: 4 })], { mark }), ['same_error', 4, 2, 3]);
  assert.deepEqual(weighed([failed({})], { mark: { ...mark, retryable: true } }), news, 'waiting may mend it');
});

test('an answer is known once a tool gave that answer twice and the answer is long enough', () => {
  const mark = { ok: true, exact: 10, loose: 100, length: 50 };
  const memory = { ...ensureMemory(initialLoop()), seen: [seenOf({}), seenOf({ call: 2 })] };
  const rows: readonly [boolean, ...Parameters<typeof isKnownAnswer>][] = [
    [true, memory, 'read', mark],
    [false, memory, 'list', mark],
    [false, memory, 'read', { ...mark, exact: 11 }],
    [false, memory, 'read', { ...mark, ok: false }],
    [false, memory, 'read', { ...mark, length: 49 }],
    [false, { ...memory, seen: memory.seen.slice(1) }, 'read', mark],
    [false, null, 'read', mark],
  ];
  for (const [known, ...said] of rows) assert.equal(isKnownAnswer(...said), known, JSON.stringify(said));
});
