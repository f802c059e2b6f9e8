/** Loads the package `redis`, which the user installs. */

import { SwitchgearError } from '../../core/error.ts';
import type { RedisClient } from './connection.ts';

/** Returns a function that creates a client; the store queues and reconnects, not the client. */
export async function loadOfficialClient(url: unknown): Promise<() => RedisClient> {
  if (typeof url !== 'string' || !/^rediss?:\/\/[^\s]+$/.test(url) || !URL.canParse(url)) {
    throw new SwitchgearError('invalid_argument', 'url must be redis://host:port or rediss://host:port');
  }
  let client: typeof import('redis');
  try {
    client = await import('redis');
  } catch (error) {
    throw new SwitchgearError(
      'store_client_missing',
      'the Redis store needs the package redis, installed where switchgear is: npm install redis, or with --global',
      { cause: error },
    );
  }
  return () =>
    client.createClient({
      url,
      RESP: 3, // One connection can subscribe and send commands.
      disableOfflineQueue: true,
      commandOptions: { timeout: 0 }, // 0 = no timeout, because the store has its own deadlines.
      socket: { connectTimeout: 1_000, reconnectStrategy: false },
    });
}
