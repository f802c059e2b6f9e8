/** A process with a gear on a store: it calls a tool again and again, and says whenever the answer changes. */

import { createSwitchgear, refusalOf } from '../../../src/index.ts';
import type { Store } from '../../../src/ports/store.ts';
import { redisStore } from '../../../src/stores/redis/index.ts';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';

const [place = '', prefix = ''] = process.argv.slice(2);
const store: Store = place.startsWith('redis')
  ? await redisStore({ url: place, prefix, deadlineMs: 1_000, graceMs: 0 })
  : sqliteStore({ path: place });
// It asks on purpose for what it is refused.
const limits = { maxToolCalls: 1_000_000, maxDenials: 1_000_000 };
const policy = { loop: { enabled: false } };
const gear = createSwitchgear({ agent: 'Researcher', project: 'shop', store, policy, log: 'silent' });
const work = gear.startTask({ id: 'research', limits });
await new Promise((resolve) => setTimeout(resolve, 5)); // Tasks of one millisecond have no order.
gear.startTask({ id: 'draft', parent: null, limits });
const search = gear.guard('search', () => 'found');

let last = '';
const timer = setInterval(() => {
  const answer = refusalOf(work.run(search))?.code ?? 'found';
  work.observe({ type: 'progress' });
  if (answer !== last) process.stdout.write(`${answer}\n`);
  last = answer;
}, 5);

process.on('SIGTERM', () => {
  clearInterval(timer);
  gear.dispose();
});
