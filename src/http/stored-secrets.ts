/**
 * Secrets that a store knows by their hashes alone, so that all processes on the store agree and a reader of the store
 * cannot use them.
 */

import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { SwitchgearError } from '../core/error.ts';
import type { Change, CrossProcessStore } from '../ports/store.ts';

/** Names of tokens and keys. */
export const secretNamePattern = /^[a-z0-9](?:[a-z0-9_-]{0,38}[a-z0-9])?$/i;

/** Makes a secret of 256 random bits, with its hash. */
export function makeSecret(): { readonly secret: string; readonly hash: string } {
  const secret = randomBytes(32).toString('base64url');
  return { secret, hash: hashText(secret) };
}

/** SHA-256 of a text, in hex. */
export function hashText(text: string): string {
  return hash('sha256', text, 'hex');
}

/** Whether a secret has a hash, compared in constant time; also without a hash, which no secret has. */
export function hasHash(secret: string, stored: string | undefined): boolean {
  const isSame = timingSafeEqual(Buffer.from(hashText(secret)), Buffer.from(stored ?? hashText('')));
  return isSame && stored !== undefined;
}

/** Changes a cell of one record; false if `change` returns undefined. */
export async function changeCell<T>(
  store: CrossProcessStore,
  key: string,
  change: (before: T | null) => T | null | undefined,
  keepMs?: number,
): Promise<boolean> {
  const cell = store.cell<T | null>(key, () => null, keepMs === undefined ? {} : { keepMs });
  const cellChange: Change<T | null> = {
    cell,
    update(before) {
      const state = change(before);
      return state === undefined ? 'refuse' : { state };
    },
  };
  const result = await store.shared.commit({ changes: [cellChange as Change] });
  store.shared.evict?.(key);
  if (result.status === 'committed') return true;
  if (result.status === 'rejected' && result.by === 'cell') return false;
  const reason = result.status === 'unavailable' ? result.reason : 'the store is full or away';
  throw new SwitchgearError('store_unreachable', `the store did not accept the change: ${reason}`);
}
