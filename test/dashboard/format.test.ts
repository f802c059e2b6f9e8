/** Numbers, money and times as the page writes them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  formatAgo,
  formatCents,
  formatCount,
  formatSpan,
  formatUsage,
  libraryCode,
  splitName,
} from '../../dashboard/src/logic/format.ts';

test('a span has at most two units', () => {
  const spans = [-1, 0, 999, 12_000, 89_999, 90_000, 240_000, 5_399_000, 5_400_000, 7_200_000, 90_000_000, 183_600_000];
  assert.deepEqual(spans.map(formatSpan), [
    ...['0 s', '0 s', '0 s', '12 s', '89 s', '1 min', '4 min', '89 min', '1 h 30 min', '2 h', '25 h', '2 d 3 h'],
  ]);
  assert.equal(formatAgo(1_000), 'just now');
  assert.equal(formatAgo(60_000), '60 s ago');
});

test('what was used stands against its limit', () => {
  assert.equal(formatUsage(51, 50), '51 of 50');
  assert.equal(formatUsage(420, 500, 'cents'), '$4.20 of $5.00');
  assert.equal(formatUsage(1_234_567, undefined), '1,234,567');
  assert.equal(formatUsage(61_000, 60_000, 'ms'), '61 s of 60 s');
  assert.equal(formatUsage(0.123456, 1), '0.12 of 1');
});

test('money below a cent is not shown as none', () => {
  assert.deepEqual([0, 0.004, 0.5, 1, 123_456].map(formatCents), ['$0.00', '$0.0000', '$0.0050', '$0.01', '$1,234.56']);
});

test('one is not many', () => {
  assert.deepEqual(
    [formatCount(0, 'card'), formatCount(1, 'card'), formatCount(1_000, 'card')],
    ['0 cards', '1 card', '1,000 cards'],
  );
});

test('the code for a store is a whole program, and quotes its name', () => {
  assert.match(
    libraryCode('sqlite:/a "b".db'),
    /from 'switchgear\/stores\/sqlite';\n\n.*\{ path: "\/a \\"b\\".db" \}\) \}\);$/,
  );
  assert.match(
    libraryCode('redis://host:6379'),
    /stores\/redis'[\s\S]*await redisStore\(\{ url: "redis:\/\/host:6379" \}\)/,
  );
  assert.match(libraryCode('redis://host:6379?prefix=acme'), /\{ url: "redis:\/\/host:6379", prefix: "acme" \}/);
});

test('the end of a long name is never cut', () => {
  assert.deepEqual(splitName('invoices-INV-2026-0131'), ['invoices-INV-2', '026-0131']);
  assert.deepEqual(
    [splitName('reader'), splitName('')],
    [
      ['reader', ''],
      ['', ''],
    ],
  );
});
