import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultSettings } from '../../../../src/core/controls/defaults.ts';
import type { Newness, SettledCall } from '../../../../src/core/controls/loop/past-calls.ts';
import { isKnownAnswer, scoreCall } from '../../../../src/core/controls/loop/score.ts';
import { ensureMemory, initialLoop, type PastCall } from '../../../../src/core/controls/loop/state.ts';
import type { LoopSettings } from '../../../../src/core/settings.ts';

const length = 80;
const seenOf = (said: Partial<PastCall>): PastCall => ({
  ...{ name: 'read', call: 1, ok: true, exact: 10, loose: 100, length, retryable: false, unready: false },
  ...{ reached: true, chances: 0, atMs: 0, pauseMs: 0, at: 1, world: 0, times: 1, waitedMs: 0, inconclusive: false },
  ...said,
});
const failed = (said: Partial<PastCall>) => seenOf({ ok: false, ...said });

interface Now extends Partial<Omit<SettledCall, 'mark'>> {
  readonly mark?: Partial<SettledCall['mark']>;
  readonly recurs?: boolean;
  readonly newness?: Newness;
  readonly editedAt?: number;
  readonly settings?: Partial<LoopSettings>;
}

/** What call 1 of 'read' weighs after these, unless it is another. */
function weighed(seen: readonly PastCall[], now: Now = {}) {
  const { mark, recurs = false, newness = 'new', editedAt = 0, settings, ...said } = now;
  const memory = { ...ensureMemory(initialLoop(), 0), pastCalls: [...seen], recurs, editedAt };
  const facts = { effect: 'read', edit: undefined, waits: false, likeness: 0, reached: true, chances: 0 } as const;
  const result = { ok: true, exact: 10, loose: 100, length, ...mark };
  const settled = { name: 'read', call: 1, ...facts, atMs: 0, tookMs: 0, ...said, mark: result };
  const before = seen.findLast(({ call }) => call === settled.call);
  const score = scoreCall(memory, settled, newness, { ...defaultSettings.loop, ...settings }, before);
  const { evidence, points, times, first, weak } = score;
  return [evidence, points, times, first, ...(weak === undefined ? [] : [weak])];
}

const news = ['news', 0, 1, 0];
const other = { call: 9, exact: 90, loose: 900 };
const failure = { ok: false };

test('a repeat scores as a call or as a cycle, and the score counts all equal results', () => {
  const [one, two] = [seenOf({}), seenOf(other)];
  const newness = 'same';
  assert.deepEqual(weighed([]), news);
  assert.deepEqual(weighed([one], { newness }), ['same_call', 3, 2, 0]);
  assert.deepEqual(weighed([two, one, two, one], { newness }), ['same_call', 3, 3, 1]);
  assert.deepEqual(weighed([one, two], { newness }), ['same_cycle', 2, 2, 0]);
  const unlike = [seenOf({ call: 9 }), failed({}), seenOf({ exact: 11 }), failed({ call: 9 })];
  const seen = [...unlike, one];
  assert.deepEqual(weighed(seen, { newness }), ['same_call', 3, 2, 4], 'another call, a failure, another result');
});

test('a call that waited, is not ready or leaves nothing scores as news; a short answer does not', () => {
  for (const newness of ['waited', 'allowed', 'nothing'] as const) {
    assert.deepEqual(weighed([seenOf({})], { newness }), news, newness);
  }
  assert.deepEqual(weighed([failed({})], { mark: failure, newness: 'allowed' }), news);
  const short = (mark: object) => weighed([seenOf({})], { effect: undefined, newness: 'allowed', mark });
  assert.deepEqual(short({ length: 99 }), ['same_call', 3, 2, 0]);
  assert.deepEqual(short({ length: 100 }), news, 'a poll with a longer answer');
  assert.deepEqual(short({ length: 99, unready: true }), news);
  assert.deepEqual(weighed([], { mark: failure, newness: 'nothing' }), ['other_error', 2, 1, 0], 'a refusal');
});

test('a result that is known, with unknown calls in between, has weak points: for a strong suspicion alone', () => {
  const [before, effect] = [[seenOf({ at: 4 }), seenOf(other)], undefined];
  const weak = weighed(before, { effect });
  assert.deepEqual([weak.slice(0, 2), weak.length], [['same_cycle', 0], 5]);
  assert.ok(Number(weak[4]) >= defaultSettings.loop.cyclePoints);
  assert.deepEqual(weighed(before, { effect: 'read' })[0], 'same_cycle');
  assert.deepEqual(weighed(before, { effect: 'change' }), news, 'a change is told by its input');
  assert.deepEqual(weighed(before, { effect, editedAt: 5 }), news, 'something was edited since');
  assert.deepEqual(weighed(before, { effect, mark: { exact: 11 } }), news, 'another result');
});

test('the same answer to nearly the same call scores from the third time on, if the call is no change', () => {
  const answers = [seenOf({ call: 2 }), seenOf({ call: 3 })];
  const asked = { likeness: 0.5 };
  assert.deepEqual(weighed(answers, asked), ['same_answer', 7, 3, 0]);
  assert.deepEqual(weighed(answers, { ...asked, effect: undefined }), ['same_answer', 7, 3, 0]);
  assert.deepEqual(weighed(answers, { ...asked, effect: 'change' }), news);
  assert.deepEqual(weighed(answers, { ...asked, effect: 'nothing' }), news);
  assert.deepEqual(weighed(answers, { likeness: 0.49 }), news);
  assert.deepEqual(weighed(answers.slice(1), asked), news, 'once is chance');
  assert.deepEqual(weighed(answers, { ...asked, mark: { length: 50 } })[0], 'same_answer');
  assert.deepEqual(weighed(answers, { ...asked, mark: { length: 49 } }), news, 'a short one says little');
  const unlike = [{ name: 'list' }, { ok: false }, { exact: 11 }];
  for (const said of unlike) {
    const between = seenOf({ call: 4, ...said });
    assert.deepEqual(weighed([between, ...answers], asked), ['same_answer', 7, 3, 1], JSON.stringify(said));
    assert.deepEqual(weighed([between, ...answers.slice(1)], asked), news, JSON.stringify(said));
  }
});

test('another answer to the same call is news, even with repeated words', () => {
  const near = { recurs: true, likeness: 1, mark: { exact: 11 } };
  assert.deepEqual(weighed([seenOf({})], near), news, 'a count that moved');
  assert.deepEqual(weighed([seenOf({ loose: 101 })], near), news, 'a longer log');
});

test('near_call needs both a nearly equal call and repeated words, unless wordsAlone is set', () => {
  const likeness = 0.76;
  assert.deepEqual(weighed([seenOf(other)], { recurs: true, likeness }), ['near_call', 4, 2, 1]);
  assert.deepEqual(weighed([seenOf(other)], { recurs: true, likeness: 0.75 }), news);
  assert.deepEqual(weighed([seenOf(other)], { likeness }), news);
  assert.deepEqual(weighed([seenOf(other)], { recurs: true, likeness, effect: 'change' }), news);
  assert.deepEqual(weighed([seenOf(other)], { recurs: true, settings: { wordsAlone: true } })[0], 'near_call');
  assert.deepEqual(weighed([seenOf(other)], { settings: { wordsAlone: true } }), news);
});

test('a failure scores as same, near or other error, and only failures of the same tool count', () => {
  const mark = failure;
  const before = [failed({ call: 2, loose: 101 }), seenOf({ call: 3 }), failed({ name: 'list', call: 5 })];
  assert.deepEqual(weighed([], { mark }), ['other_error', 2, 1, 0]);
  assert.deepEqual(weighed(before, { mark }), ['other_error', 2, 2, 0]);
  assert.deepEqual(weighed(before.slice(1), { mark }), ['other_error', 2, 1, 2]);
  assert.deepEqual(weighed(before, { mark, recurs: true, likeness: 0.76 }), ['near_error', 6, 2, 0]);
  assert.deepEqual(weighed([...before, failed({ call: 4 })], { mark }), ['same_error', 4, 2, 3]);
  assert.deepEqual(weighed([failed({})], { mark: { ...mark, retryable: true } }), news, 'waiting may mend it');
  assert.deepEqual(weighed([failed({})], { mark: { ...mark, unready: true } }), news, 'it may start up');
});

test('the same call that fails again scores by its repetition, and as progress if an edit changed the failure', () => {
  const mark = { ...failure, exact: 11 };
  const before = [failed({ call: 2, loose: 101 }), failed({ at: 3, loose: 102 })];
  assert.deepEqual(weighed(before, { mark, newness: 'same' }), ['same_failure', 4, 2, 1]);
  assert.deepEqual(weighed(before, { mark }), ['other_error', 2, 3, 0]);
  assert.deepEqual(weighed(before, { mark, editedAt: 4 }), news);
  assert.deepEqual(weighed(before, { mark, editedAt: 3 }), ['other_error', 2, 3, 0], 'it was edited before that');
  assert.deepEqual(weighed([failed({ at: 3 })], { mark: failure, editedAt: 4 }), ['same_error', 4, 2, 0], 'unchanged');
});

test('an answer is known once a tool gave that answer twice and the answer is long enough', () => {
  const mark = { ok: true, exact: 10, loose: 100, length: 50 };
  const memory = { ...ensureMemory(initialLoop(), 0), pastCalls: [seenOf({}), seenOf({ call: 2 })] };
  const rows: readonly [boolean, ...Parameters<typeof isKnownAnswer>][] = [
    [true, memory, 'read', mark],
    [false, memory, 'list', mark],
    [false, memory, 'read', { ...mark, exact: 11 }],
    [false, memory, 'read', { ...mark, ok: false }],
    [false, memory, 'read', { ...mark, length: 49 }],
    [false, { ...memory, pastCalls: memory.pastCalls.slice(1) }, 'read', mark],
    [false, null, 'read', mark],
  ];
  for (const [known, ...said] of rows) assert.equal(isKnownAnswer(...said), known, JSON.stringify(said));
});
