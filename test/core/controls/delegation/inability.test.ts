import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { hasInabilityPhrase, reportsInability } from '../../../../src/core/controls/delegation/inability.ts';
import { textLengthMax } from '../../../../src/core/limits.ts';

const fixtures = new URL('../../../fixtures/worker-answers/', import.meta.url);
const readFixture = (name: string) => JSON.parse(readFileSync(new URL(name, fixtures), 'utf8'));

/** Last answers of good runs that contain a word of inability; `inability` marks those that a person reads as one. */
interface GoodRuns {
  /** All good runs, with and without such a word. */
  readonly runs: number;
  readonly answers: readonly { readonly run: string; readonly text: string; readonly inability?: true }[];
}

test('fewer than 0.5 % of good runs end with an answer that is read as an inability', (t) => {
  const { runs, answers }: GoodRuns = readFixture('good-runs.json');
  const shareOf = (isFailure: (text: string) => boolean) => {
    const failures = answers.filter(({ text, inability }) => inability === undefined && isFailure(text));
    return { failures, share: failures.length / runs };
  };
  const reported = shareOf(reportsInability);
  const anywhere = shareOf(hasInabilityPhrase);
  const setAside = answers.filter(({ inability }) => inability);
  const percent = (share: number) => `${(100 * share).toFixed(2)} %`;
  t.diagnostic(`${percent(reported.share)} of ${runs} good runs (the words anywhere: ${percent(anywhere.share)})`);
  t.diagnostic(`set aside as inabilities in the eyes of a person: ${setAside.length}`);
  assert.ok(reported.share < 0.005, reported.failures.map(({ run }) => run).join(', '));
  assert.ok(anywhere.share > reported.share);
});

test('fewer than 10 % of 60 honest inabilities are missed', (t) => {
  const texts: readonly string[] = readFixture('inabilities.json');
  const missed = texts.filter((text) => !reportsInability(text));
  t.diagnostic(`${missed.length} of ${texts.length} missed; the words anywhere miss ${countMissed(texts)}`);
  assert.equal(texts.length, 60);
  assert.ok(missed.length < 6, missed.join('\n'));
});

test('fewer than 10 % of 144 further inabilities are missed, and no healthy report with such words counts', (t) => {
  const inabilities: readonly string[] = readFixture('more-inabilities.json');
  const healthy: readonly string[] = readFixture('healthy-reports.json');
  const missed = inabilities.filter((text) => !reportsInability(text));
  t.diagnostic(`${missed.length} of ${inabilities.length} missed; ${healthy.length} healthy reports`);
  assert.ok(missed.length < inabilities.length / 10, missed.join('\n'));
  assert.deepEqual(healthy.filter(reportsInability), []);
});

function countMissed(texts: readonly string[]): number {
  return texts.filter((text) => !hasInabilityPhrase(text)).length;
}

test('a phrase counts with a first-person subject, and without a subject at the beginning of a sentence', () => {
  for (const text of [
    'I cannot list kitchens',
    "I can't list kitchens.",
    'Unable to complete Z',
    'CANNOT DO THIS',
    "We don't have the ability to Y",
    'I do not have ability to list kitchens',
    'I am NOT ABLE TO do this',
    'I am unable\n  to go on',
    'I looked everywhere. Cannot find it.',
    '**I cannot** do this',
    '- Unable to connect',
    '{"message":"I cannot list kitchens"}',
  ]) {
    assert.ok(reportsInability(text), text);
  }
});

test('a phrase about somebody or something else is no inability of the worker', () => {
  for (const text of [
    'Root cause found: the parser cannot handle nested quotes.',
    'Users who were unable to log in are in the list below.',
    'This **cannot** be done by hand.',
    'The build prints "Cannot find module x" on Windows.',
    'The customer said "I cannot log in" on Monday.',
    'The log has `cannot open file` at line 3.',
    '```\nCannot open file\n```\nThat is the output of the old version.',
    'You cannot combine gift cards. You do not have unread mail.',
    'There is no ability for that in version 2.',
    'I could not find any issues in the module.',
    'I do not have any further questions.',
  ]) {
    assert.ok(!reportsInability(text), text);
  }
});

test('an inability beside a reported success does not count, and beside a denied success it counts', () => {
  for (const text of [
    'I rewrote tokenize() and all 42 tests pass. I could not run the linter.',
    'Fixed. I cannot reproduce the crash any more.',
    'I was unable to reach the first mirror, but I downloaded and installed it. Done.',
    'Your booking is confirmed. I was not able to arrange seats.',
    'All set. I am not able to send text messages.',
  ]) {
    assert.ok(!reportsInability(text), text);
  }
  for (const text of [
    'I cannot finish this. It is not done.',
    'I was unable to get it fixed.',
    "The order could not be completed successfully. I can't go on.",
  ]) {
    assert.ok(reportsInability(text), text);
  }
});

test('a long text of one repeated part is read', () => {
  const parts = [
    'i unfortunately ',
    '`',
    '"',
    'x \u201c',
    '.',
    '.x',
    ' ',
    '\n',
    '\\n',
    '\n ',
    ', ',
    '```',
    'find any a b ',
    'i tried a but ',
    'i looked for it ',
    'my search ',
    'i am x ',
    'we x and ',
    'the task ',
  ];
  for (const part of parts) assert.equal(reportsInability(part.repeat(textLengthMax / part.length)), false, part);
});
