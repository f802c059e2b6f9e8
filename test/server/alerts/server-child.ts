/** A server in a process of its own, which a test kills: its store and its webhooks are in the arguments. */

import { redisStore } from '../../../src/stores/redis/index.ts';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';
import { serve } from '../server-setup.ts';
import { makeWebhook, quickAlerts } from './alerts-setup.ts';

const [place = '', prefix = '', address = '', leaseMs = ''] = process.argv.slice(2);
const store = place.startsWith('redis:')
  ? await redisStore({ url: place, prefix, graceMs: 0, deadlineMs: 1_000 })
  : sqliteStore({ path: place });
const webhook = makeWebhook(new URL(address), { events: ['alerts', 'halts'] });
await serve(store, { alerts: { ...quickAlerts({}, [webhook]), leaseMs: Number(leaseMs) } });
process.stdout.write(`${store.shared.process}\n`);
