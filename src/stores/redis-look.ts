/** Asks whether cells are as they are known; for a step that said no to what may be out of date. */

import type { Deal } from '../ports/store.ts';
import type { Link } from './redis-link.ts';
import type { Memory } from './redis-memory.ts';
import type { Names } from './redis-names.ts';

/** `same` where nobody wrote the cells of the deal; undefined where nobody answered. */
export async function lookAgain(
  deal: Deal,
  link: Link,
  memory: Memory,
  names: Names,
): Promise<'same' | 'again' | undefined> {
  const before = memory.version;
  const keys = [...new Set((deal.changes ?? []).map(({ cell }) => cell.key))];
  const versions = keys.map((key) => memory.cells.get(key)?.version ?? 0);
  const lost = (): undefined => undefined;
  const fresh = await link.command(keys.length === 0 ? ['PING'] : ['HMGET', names.store, 'version']).catch(lost);
  if (fresh === undefined) return undefined;
  if (Number((fresh as unknown[])[0] ?? 0) > before) {
    for (const key of keys) {
      const cell = await link.command(['HMGET', names.part(`c:${key}`), 'v', 's']).catch(lost);
      if (cell === undefined) return undefined;
      const [version, text] = cell as (string | null)[];
      if (version !== null && version !== undefined) memory.learn(key, Number(version), text ?? undefined);
    }
  }
  return keys.every((key, at) => (memory.cells.get(key)?.version ?? 0) === versions[at]) ? 'same' : 'again';
}
