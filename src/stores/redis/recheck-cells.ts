/** Asks whether cells are as they are known; for a step that said no to what may be out of date. */

import type { Transaction } from '../../ports/store.ts';
import type { RedisConnection } from './connection.ts';
import type { RedisKeys } from './keys.ts';
import type { KnownState } from './known-state.ts';

/** `same` where nobody wrote the cells of the deal; undefined where nobody answered. */
export async function recheckCells(
  transaction: Transaction,
  connection: RedisConnection,
  memory: KnownState,
  names: RedisKeys,
): Promise<'same' | 'again' | undefined> {
  const keys = [...new Set((transaction.changes ?? []).map(({ cell }) => cell.key))];
  const versions = keys.map((key) => memory.cells.get(key)?.version ?? 0);
  const lost = (): undefined => undefined;
  // The cells themselves are asked: of a change that others made a moment ago this process may not have heard.
  const requests = keys.map((key) => connection.command(['HMGET', names.part(`c:${key}`), 'v', 's']).catch(lost));
  for (const [at, answer] of (await Promise.all(requests)).entries()) {
    if (answer === undefined) return undefined;
    const [version, text] = answer as (string | null)[];
    if (version !== null && version !== undefined) memory.setCell(keys[at]!, Number(version), text ?? undefined);
  }
  return keys.every((key, at) => (memory.cells.get(key)?.version ?? 0) === versions[at]) ? 'same' : 'again';
}
