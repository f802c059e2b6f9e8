/** An experiment on each kind of store: a file, and a Redis of its own. */

import { join } from 'node:path';
import { startRedis } from '../redis-server.ts';
import type { Where } from './breaker-transactions.ts';
import { inFolder } from './verdict.ts';

/** Runs an experiment on a file, then on a Redis of its own; side by side where it is short and does not mind. */
export async function onBothStores(
  run: (name: string, where: Where, folder: string) => Promise<void>,
  sideBySide = false,
): Promise<void> {
  await inFolder(async (folder) => {
    const inFile = () => run('sqlite', { path: join(folder, 'store.db') }, folder);
    if (!sideBySide) await inFile();
    const server = await startRedis();
    try {
      const inRedis = run('redis', { url: server.url, deadlineMs: 1_000 }, folder);
      await (sideBySide ? Promise.all([inFile(), inRedis]) : inRedis);
    } finally {
      await server.stop();
    }
  });
}
