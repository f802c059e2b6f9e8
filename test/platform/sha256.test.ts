import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { computeSha256Hex, sha256Head, sha256Hex } from '../../src/platform/sha256.ts';

const texts = [
  '',
  'a',
  'Grüße, 世界 🌍',
  ...[55, 56, 63, 64, 65, 119, 120, 1_000].map((length) => 'xyz'.repeat(length).slice(-length)),
];

test('a digest is the first 32 bits of the SHA-256 of the text', () => {
  // The vectors of FIPS 180-4 for one block, two blocks and the empty text, and a text with multi-byte characters.
  assert.equal(sha256Head('abc'), 0xba7816bf);
  assert.equal(sha256Head('abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq'), 0x248d6a61);
  assert.equal(sha256Head(''), 0xe3b0c442);
  assert.equal(sha256Head('Grüße, 世界 🌍'), 0x56ce95b9);
});

test('a digest is the same before and after node:crypto is loaded', () => {
  for (const text of [...texts, 'long '.repeat(10_000), ...texts]) {
    const expected = hash('sha256', text);
    assert.equal(computeSha256Hex(Buffer.from(text)), expected, text);
    assert.equal(sha256Hex(text), expected, text);
    assert.equal(sha256Hex(Buffer.from(text)), expected, text);
    assert.equal(sha256Head(text), Number.parseInt(expected.slice(0, 8), 16), text);
  }
});
