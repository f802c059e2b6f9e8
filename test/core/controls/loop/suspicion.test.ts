import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultSettings } from '../../../../src/core/controls/defaults.ts';
import type { WorldEffect } from '../../../../src/core/controls/loop/effect.ts';
import { loop } from '../../../../src/core/controls/loop/loop.ts';
import { markResult } from '../../../../src/core/controls/loop/result-mark.ts';
import type { LoopSettings } from '../../../../src/core/settings.ts';
import { allow } from '../../../../src/core/verdict.ts';
import { bindControl } from '../../../harness/control-story.ts';

interface Turn {
  readonly call?: number;
  readonly name?: string;
  readonly text?: string;
  readonly ok?: boolean;
  readonly effect?: WorldEffect | undefined;
  readonly likeness?: number;
  readonly tookMs?: number;
  /** The text before the call; `sorry` and `again` repeat earlier words. */
  readonly says?: 'sorry' | 'again' | 'news';
}

/** Tells turns to the control: the numbers of the turns at which a suspicion began and was strong, and its evidence. */
function play(turns: readonly Turn[], said: Partial<LoopSettings> = {}) {
  const control = loop({ ...defaultSettings.loop, ...said });
  const task = bindControl(control);
  const found: { told?: number; strong?: number; evidence?: unknown } = {};
  for (const [at, turn] of turns.entries()) {
    const { call = 100 + at, name = 'look', text = `page ${'abcdefghijklmnopqrst'[at % 20]}`, ok = true, says } = turn;
    const recurs = says === 'sorry' || says === 'again';
    const words = { recurs, isSorry: says === 'sorry', calls: true };
    if (says !== undefined) task.tell({ type: 'text-observed', atMs: 0, similarity: 0, ...words });
    task.tell({ type: 'call-observed', atMs: 0, name, call });
    const { likeness = 0, tookMs = 0 } = turn;
    const effect = 'effect' in turn ? turn.effect : 'read';
    const facts = { name, call, result: markResult(text, ok)!, likeness, tookMs, ...(effect && { effect }) };
    task.tell({ type: 'result-observed', atMs: 0, ...facts });
    assert.equal(task.check(), allow, 'a suspicion halts nobody');
    assert.equal(task.judge({ name: 'other', fingerprint: 999 }), allow, 'and refuses nothing');
    const hint = control.hint?.(task.cell.state)?.counters;
    if (hint === undefined) continue;
    found.told ??= at + 1;
    found.evidence ??= hint.evidence;
    if (hint.strong === 1) found.strong ??= at + 1;
  }
  return found;
}

const times = (count: number, turn: (at: number) => Turn) => Array.from({ length: count }, (_, at) => turn(at));
const fails = (text: string, more: Turn = {}): Turn => ({ text, ok: false, ...more });
const long = 'an answer of more than fifty characters, which is not a short one: ';

test('what makes a suspicion, and what makes it strong', () => {
  const rows: readonly (readonly [story: string, turns: readonly Turn[], found: ReturnType<typeof play>])[] = [
    ['news', times(20, () => ({})), {}],
    ['four repeats', times(5, () => ({ call: 1, text: 'same' })), { told: 5, evidence: 'same_call' }],
    ['one error', times(9, (at) => fails('no such row', { call: at })), { told: 5, strong: 5, evidence: 'same_error' }],
    [
      'five failures of six, the last a repeat',
      [{}, fails('b is gone'), fails('c is lost'), fails('d is bad'), fails('e broke'), fails('e broke')],
      { told: 6, strong: 6, evidence: 'same_error' },
    ],
    ['other failures alone are no strong one', times(5, (at) => fails(`${'abcde'[at]} is gone`)), {}],
    [
      'six of them are a plain one, and none of forty halts',
      times(40, (at) => fails(`${'abcdefghij'[at % 10]}${'klmnopqrstu'[at % 11]} is gone`)),
      { told: 6, evidence: 'other_error' },
    ],
    ['a failure that waiting may mend', times(12, (at) => fails('HTTP 429', { call: at })), {}],
    [
      'a thing that is not ready, asked at once',
      times(4, () => fails('connection refused', { call: 1 })),
      { told: 3, evidence: 'unready' },
    ],
    ['the same, asked after a wait', times(20, () => fails('checks pending', { call: 1, tookMs: 31_000 })), {}],
    ['apologies', times(5, () => ({ says: 'sorry', text: long })), { told: 5, strong: 5, evidence: 'same_words' }],
    [
      'apologies with other words in between',
      times(8, (at) => ({ says: at % 3 === 2 ? 'news' : 'sorry' })),
      { told: 7, strong: 7, evidence: 'same_words' },
    ],
    ['fewer apologies', times(12, (at) => ({ says: at % 2 ? 'news' : 'sorry' })), {}],
    ['the same words before other work', times(20, () => ({ says: 'again' })), {}],
    [
      'the same words before nearly the same calls',
      times(6, () => ({ says: 'again', likeness: 0.9 })),
      { told: 3, strong: 5, evidence: 'near_call' },
    ],
    [
      'calls of which nobody knows what they do, in turn',
      times(30, (at) => ({ call: at % 3, text: `answer ${'abc'[at % 3]}`, effect: undefined })),
      {},
    ],
  ];
  for (const [story, turns, found] of rows) assert.deepEqual(play(turns), found, story);
});

test('the points of the policy decide when a suspicion begins, and when it is strong', () => {
  const repeats = times(5, () => ({ call: 1, text: 'same' }));
  assert.deepEqual(play(repeats, { notePoints: 3 }), { told: 2, evidence: 'same_call' });
  assert.deepEqual(play(repeats, { cardPoints: 9 }), { told: 4, strong: 4, evidence: 'same_call' });
  assert.deepEqual(play(repeats, { notePoints: 99, cardPoints: 99 }), {});
});

test('calls of which nobody knows what they do count for a strong suspicion, with other repeats', () => {
  const known = times(6, (at) => ({ call: at % 2, text: `answer ${'ab'[at % 2]}`, effect: undefined }));
  const errors = times(5, (at) => fails('no such row', { call: 50 + at }));
  assert.deepEqual(play([...known, ...errors], { cardPoints: 27 }).strong, 11);
  assert.deepEqual(play(errors, { cardPoints: 27 }).told, 5);
});
