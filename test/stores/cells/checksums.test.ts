import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { crc32 as zlibCrc } from 'node:zlib';
import { crc32, sha256Head } from '../../../src/stores/cells/checksums.ts';

const texts = [
  '',
  'a',
  'Grüße, 世界 🌍',
  ...[55, 56, 63, 64, 65, 119, 120, 1_000].map((length) => 'xyz'.repeat(length).slice(-length)),
];
const headOf = (text: string) => Number.parseInt(hash('sha256', text).slice(0, 8), 16);

test('the first sums of a process are those that Node makes', () => {
  for (const text of texts) {
    assert.equal(crc32(text), zlibCrc(text), text);
    assert.equal(sha256Head(text), headOf(text), text);
  }
});

test('they stay the same once Node makes them', () => {
  const long = 'state '.repeat(20_000);
  assert.equal(crc32(long), zlibCrc(long));
  for (const text of [...texts, ...texts]) {
    assert.equal(crc32(text), zlibCrc(text), text);
    assert.equal(sha256Head(text), headOf(text), text);
  }
});
