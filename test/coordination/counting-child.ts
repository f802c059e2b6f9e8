/** A process that makes guarded calls, and says how many it has begun; it ends when it is killed or has made all. */

import { createSwitchgear } from '../../src/index.ts';
import { redisStore } from '../../src/stores/redis/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';

export type CountingPlace =
  | { readonly path: string }
  | { readonly url: string; readonly prefix: string; readonly graceMs: number; readonly deadlineMs: number };

process.once('message', async (where: CountingPlace & { readonly calls?: number }) => {
  const { calls, ...place } = where;
  const store = 'path' in place ? sqliteStore(place) : await redisStore(place);
  const gear = createSwitchgear({ store, log: 'silent', env: {} });
  const search = gear.guard('search', () => 1);
  if (calls !== undefined) {
    for (let made = 0; made < calls; made++) search();
    process.disconnect();
    return;
  }
  for (let begun = 1_000; ; begun += 1_000) {
    process.send!(begun);
    await new Promise((resolve) => setTimeout(resolve, 5));
    for (let made = 0; made < 1_000; made++) search();
  }
});
process.on('disconnect', () => process.exit()); // Nobody is left to ask.
process.send?.(0);
