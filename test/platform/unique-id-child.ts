/** A gear that makes ids of all kinds in a store that others use, too; run as a process of its own, or called. */

import { createSwitchgear } from '../../src/index.ts';
import { type SqliteStore, sqliteStore } from '../../src/stores/sqlite/index.ts';

/** One task with three calls, of which the last is one too many: it halts, which opens a card. */
export async function makeIds(store: SqliteStore): Promise<void> {
  const gear = createSwitchgear({
    store,
    session: 'same',
    log: 'silent',
    env: {},
    policy: { journal: { level: 'all' } },
  });
  const tool = gear.guard('look', (at: number) => at);
  await gear.task({ limits: { maxToolCalls: 2 } }, () => [1, 2, 3].map((at) => tool(at)));
}

const [path] = process.argv.slice(2);
if (import.meta.main && path !== undefined) {
  const store = sqliteStore({ path });
  await makeIds(store);
  store.close();
}
