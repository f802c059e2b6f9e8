/** Dates of HTTP headers are read as JavaScript reads them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseHttpDate } from '../../src/core/retry-delay.ts';

test('every date that JavaScript writes is read as the same time', () => {
  const dayMs = 86_400_000;
  for (let wallMs = Date.UTC(1970, 0, 1); wallMs < Date.UTC(2105, 0, 1); wallMs += 13 * dayMs + 3_723_000)
    assert.equal(parseHttpDate(new Date(wallMs).toUTCString()), wallMs);
  for (const text of [
    '',
    'soon',
    '2024-02-29T00:00:00Z',
    'Thu, 29 Foo 2024 00:00:00 GMT',
    'Thu, 29 anF 2024 00:00:00 GMT',
  ])
    assert.equal(parseHttpDate(text), undefined);
});
