import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adviseOnRepeat, describeRepeat, nameSetting } from '../../../../src/core/controls/loop/messages.ts';

const usual = { name: 'read', times: 3, of: 3 };

test('a refusal or a halt is described by what repeated for certain', () => {
  const rows: readonly [said: object, text: string][] = [
    [{ evidence: 'same_call' }, "the same call of 'read' returned the same 3 times, with nothing new in between"],
    [
      { evidence: 'same_cycle' },
      "the last 3 turns only repeated earlier calls and their results, the last one of 'read'",
    ],
    [{ evidence: 'same_failure' }, "the same call of 'read' failed 3 times, with no change in between"],
    [
      { evidence: 'same_failure', says: 'timeout' },
      "the same call of 'read' failed 3 times with 'timeout', with no change in between",
    ],
    [{ evidence: 'unready' }, "'read' was asked 3 times for something that is not ready"],
    [
      { evidence: 'unready', says: 'connection refused' },
      "'read' was asked 3 times for something that is not ready with 'connection refused'",
    ],
  ];
  for (const [said, text] of rows) assert.equal(describeRepeat({ ...usual, ...said }), text);
});

test('a suspicion is described by its last turn, and by how many of the last calls it was', () => {
  const rows: readonly [said: object, text: string][] = [
    [{ evidence: 'same_call' }, "'read' was called 3 times with the same result in a row"],
    [{ evidence: 'same_cycle', of: 7 }, "'read' was called 3 times with the same result in the last 7 calls"],
    [{ evidence: 'same_failure', of: 4 }, "the same call of 'read' failed 3 times in the last 4 calls"],
    [{ evidence: 'same_error' }, "'read' returned the same error 3 times in a row"],
    [{ evidence: 'same_error', says: 'timeout' }, "'read' returned the same error 3 times with 'timeout' in a row"],
    [{ evidence: 'other_error' }, "5 of the last 9 turns failed or repeated something, last a call of 'read'"],
    [{ evidence: 'near_error' }, "'read' failed again in nearly the same call"],
    [{ evidence: 'same_answer' }, "'read' gave the same answer to nearly the same call 3 times"],
    [{ evidence: 'near_call' }, "'read' was called again in nearly the same way, with nearly the same words"],
    [{ evidence: 'same_words', turns: undefined }, '3 of the last texts were nearly the same apology'],
    [{ evidence: 'same_words', name: '' }, 'the same words came again 3 times, without a call'],
  ];
  for (const [said, text] of rows) assert.equal(describeRepeat({ ...usual, stale: 5, turns: 9, ...said }), text);
});

test('an agent that asks for what is not ready is told to wait, any other to try something else', () => {
  assert.match(adviseOnRepeat({ evidence: 'unready' }), /^Wait first, then ask: put the wait into the call itself/);
  assert.match(
    adviseOnRepeat({ evidence: 'same_call' }),
    /^Doing the same again will not change that: try something else/,
  );
});

test('a certain repetition names the setting that changes it, a suspicion says that nothing was refused', () => {
  const rows: Readonly<Record<string, readonly string[]>> = {
    'if it is meant to be repeated: [loop.tools] read = "poll"': ['same_call', 'same_cycle', 'unready'],
    'repeats of [loop] changes that': ['same_failure'],
    'a suspicion: nothing was refused': [
      'same_words',
      'same_error',
      'other_error',
      'near_error',
      'same_answer',
      'near_call',
    ],
  };
  for (const [text, kinds] of Object.entries(rows)) {
    for (const evidence of kinds) assert.equal(nameSetting({ ...usual, evidence }), text, evidence);
  }
  assert.match(nameSetting({ name: 'a "b"', evidence: 'unready' }), /\[loop\.tools\] "a \\"b\\"" = "poll"$/);
});
