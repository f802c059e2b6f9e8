/** The rates of a key: a request waits for its turn within a bound, and else is refused with the time of its turn. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { takeTurn } from '../../../src/gateway/keys/rate-limits.ts';
import { HttpError } from '../../../src/http/http-error.ts';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';

const record = { name: 'ann', hash: '', addedWallMs: 0, by: 'tester', requestsPerMinute: 1 };
/** The end of a slice of 5 s: a request of the slice one minute before counts until then. */
const sliceEndMs = 5_000_000;

/** A store whose time begins at some moment and passes as usual. */
function storeAt(store: ReturnType<typeof sqliteStore>, startMs: number) {
  const sinceMs = performance.now();
  const nowMs = () => startMs + performance.now() - sinceMs;
  return { ...store, clock: { ...store.clock, nowMs } };
}

test('a request waits for its turn if that is near, and passes', async () => {
  const store = sqliteStore({ path: ':memory:' });
  const { signal } = new AbortController();
  await takeTurn(storeAt(store, sliceEndMs - 60_100), record, 0, signal);
  const later = storeAt(store, sliceEndMs - 100);
  await takeTurn(later, record, 0, signal);
  assert.ok(later.clock.nowMs() >= sliceEndMs, 'it has waited');
  store.close();
});

test('a request whose turn is too far away is refused at once, with the time of its turn', async () => {
  const store = sqliteStore({ path: ':memory:' });
  const { signal } = new AbortController();
  await takeTurn(storeAt(store, sliceEndMs - 60_100), record, 0, signal);
  await assert.rejects(takeTurn(storeAt(store, sliceEndMs - 20_000), record, 0, signal), (error: unknown) => {
    assert.ok(error instanceof HttpError);
    assert.deepEqual([error.status, error.code, error.retryAfterSecs], [429, 'rate_limit', 20]);
    return true;
  });
  store.close();
});

test('a request whose client leaves waits no longer, and takes no turn', async () => {
  const store = sqliteStore({ path: ':memory:' });
  const leaving = new AbortController();
  await takeTurn(storeAt(store, sliceEndMs - 60_100), record, 0, leaving.signal);
  const waiting = takeTurn(storeAt(store, sliceEndMs - 9_000), record, 0, leaving.signal);
  leaving.abort();
  await assert.rejects(waiting, { name: 'AbortError' });
  await takeTurn(storeAt(store, sliceEndMs + 1), record, 0, new AbortController().signal);
  store.close();
});

test('tokens that were not used are free again, and those of a past minute are not given back twice', async () => {
  const store = sqliteStore({ path: ':memory:' });
  const { signal } = new AbortController();
  const rates = { ...record, requestsPerMinute: 100, tokensPerMinute: 1_000 };
  const ticket = await takeTurn(storeAt(store, sliceEndMs), rates, 900, signal);
  ticket?.settle(100);
  const late = await takeTurn(storeAt(store, sliceEndMs), rates, 900, signal);
  await takeTurn(storeAt(store, sliceEndMs + 120_000), rates, 1_000, signal);
  late?.settle(0);
  await assert.rejects(takeTurn(storeAt(store, sliceEndMs + 120_000), rates, 1, signal), { status: 429 });
  store.close();
});
