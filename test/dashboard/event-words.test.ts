/** Entries of the journal in words for people. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventWord } from '../../dashboard/src/logic/event-words.ts';
import { formatShort, plainSentence } from '../../dashboard/src/logic/format.ts';

test('types of entries are words, also those of a newer version', () => {
  assert.deepEqual(['action-allowed', 'failure-counted', 'task-halted'].map(eventWord), [
    'allowed',
    'failed',
    'halted',
  ]);
  assert.equal(eventWord('moon-landed'), 'moon landed');
});

test('cents of a sentence are money', () => {
  assert.equal(plainSentence('billing: spend cents: 410 of 500'), 'billing: spend: $4.10 of $5.00');
  assert.equal(plainSentence('tool calls: 40 of 50'), 'tool calls: 40 of 50');
});

test('large numbers have three digits', () => {
  assert.deepEqual([0, 950, 9_540, 219_000, 1_250_000].map(formatShort), ['0', '950', '9.54k', '219k', '1.25M']);
});
