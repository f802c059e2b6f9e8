import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 as zlibCrc } from 'node:zlib';
import { crc32 } from '../../../src/stores/cells/checksums.ts';
import { createFingerprintReplacer, createFingerprintRewriter } from '../../../src/stores/cells/keyed-fingerprints.ts';

const texts = [
  '',
  'a',
  'Grüße, 世界 🌍',
  ...[55, 56, 63, 64, 65, 119, 120, 1_000].map((length) => 'xyz'.repeat(length).slice(-length)),
];

test('the first checksums of a process equal those of zlib', () => {
  for (const text of texts) assert.equal(crc32(text), zlibCrc(text), text);
});

test('checksums stay the same after zlib is loaded', () => {
  const long = 'state '.repeat(20_000);
  assert.equal(crc32(long), zlibCrc(long));
  for (const text of texts) assert.equal(crc32(text), zlibCrc(text), text);
});

test('stored fingerprints stay what earlier versions wrote', () => {
  const secret = 'c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlYzE';
  const entry = { type: 'action-allowed', action: { fingerprint: 77 }, exact: -1.5, loose: 0, errorFingerprint: 4e9 };
  const stored =
    '{"type":"action-allowed","action":{"fingerprint":1762238689},"exact":468099328,"loose":0,' +
    '"errorFingerprint":3647428145}';
  assert.equal(JSON.stringify(entry, createFingerprintReplacer(secret)), stored);
  assert.equal(createFingerprintRewriter(secret)(JSON.stringify(entry)), stored);
});
