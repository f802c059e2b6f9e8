/** The Redis store against a real redis-server. */

import { after, before } from 'node:test';
import { redisStore } from '../../src/stores/redis.ts';
import { storeSuite } from '../../src/testing/index.ts';
import { type RedisServer, startRedis } from '../redis-server.ts';

let server: RedisServer;
before(async () => {
  server = await startRedis();
});
after(() => server.stop());

storeSuite(
  'in Redis',
  (clock, place) => redisStore({ url: server.url, prefix: place, clock, graceMs: 0, deadlineMs: 500 }),
  'shared',
);
