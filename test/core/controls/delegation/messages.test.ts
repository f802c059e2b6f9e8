import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  blockReason,
  failureLines,
  isOwnMessage,
  shortMessage,
  toOneLine,
  tripLine,
  userMessage,
} from '../../../../src/core/controls/delegation/messages.ts';
import { nameLengthMax, reasonLengthMax } from '../../../../src/core/limits.ts';

test('the user message names the worker and the limit in force', () => {
  assert.equal(
    userMessage('chef_team', 2),
    '\u26a0\ufe0f Safety limit reached: chef_team has failed 2+ times. ' +
      'I cannot complete this request with current tools. Please try a different approach or contact support.',
  );
  assert.match(userMessage('baker', 3), /baker has failed 3\+ times\./);
});

test('a hint precedes the explanation in the user message, and replaces the advice in the short message', () => {
  assert.match(userMessage('chef_team', 2, 'Database may be down.'), /2\+ times\. Database may be down\. I cannot/);
  assert.equal(shortMessage(), 'Safety limit reached. Try different approach.');
  assert.equal(shortMessage('Database may be down.'), 'Safety limit reached. Database may be down.');
});

test('log lines contain attempt, limit and reason', () => {
  assert.deepEqual(failureLines('chef_team', 1, 2, 'Worker reported limitation: I do not have ability'), [
    '\u26a0\ufe0f  DELEGATION FAILURE: chef_team failed (attempt #1, limit: 2)',
    '   Reason: Worker reported limitation: I do not have ability',
  ]);
  assert.equal(
    tripLine('chef_team', 2, 2),
    '\u{1f534} CIRCUIT BREAKER: chef_team has failed 2 times (limit: 2). Stopping delegation.',
  );
  assert.equal(blockReason('chef_team', 2, 2), 'CIRCUIT BREAKER: chef_team has failed 2 times (limit: 2)');
});

test('worker names and reasons are printed on one line of bounded length', () => {
  const [first, second] = failureLines('evil\n\u001b[2Jname', 1, 2, `a\nb${'x'.repeat(1000)}`);
  assert.doesNotMatch(first + second, /\p{Cc}/u);
  assert.equal(second.length, '   Reason: '.length + reasonLengthMax);
  assert.ok(blockReason('w'.repeat(10_000), 2, 2).length < nameLengthMax + 100);
  assert.ok(toOneLine('\u{1f534}\u{1f534}', 3).isWellFormed());
});

test('isOwnMessage recognises messages of Switchgear, with or without an emoji, and no other text', () => {
  for (const text of [
    userMessage('chef_team', 2),
    userMessage('chef_team', 2).replace('\ufe0f', ''),
    shortMessage(),
    tripLine('chef_team', 2, 2),
    blockReason('chef_team', 2, 2),
    failureLines('chef_team', 1, 2, 'x')[0],
  ]) {
    assert.ok(isOwnMessage(text), text);
  }
  for (const text of [
    '',
    'I cannot list kitchens',
    'The report says: Safety limit reached: x',
    'circuit breakers are red',
  ]) {
    assert.ok(!isOwnMessage(text), text);
  }
});
