import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeRepeat } from '../../../../src/core/controls/loop/messages.ts';

test('the description of a repeat contains its numbers and omits uninformative ones', () => {
  const usual = { name: 'read', evidence: 'same_call', times: 3, of: 3, secs: 0, stale: 3, turns: 9 };
  const rows: readonly [said: object, text: string][] = [
    [{}, "'read' returned the same result to the same call 3 times in a row"],
    [{ evidence: 'same_cycle', of: 4 }, "'read' returned the same result to the same call 3 times in the last 4 calls"],
    [{ evidence: 'same_error', secs: 1 }, "'read' returned the same error 3 times in a row (for 1 s)"],
    [{ evidence: 'other_error', secs: 2 }, "'read' failed 3 times in a row (for 2 s)"],
    [{ evidence: 'same_answer', stale: 4 }, "'read' gave the same answer to nearly the same call 3 times in a row"],
    [
      { evidence: 'near_call', stale: 5 },
      "'read' was called in nearly the same way 3 times in a row; 5 of the last 9 turns brought nothing new",
    ],
    [{ evidence: 'near_error' }, "'read' failed in nearly the same call 3 times in a row"],
    [{ evidence: 'same_words', secs: 5, of: 9 }, 'the same words came again 3 times'],
    [
      { evidence: 'same_words', stale: 5 },
      'the same words came again 3 times; 5 of the last 9 turns brought nothing new',
    ],
  ];
  for (const [said, text] of rows) assert.equal(describeRepeat({ ...usual, ...said }), text);
});
