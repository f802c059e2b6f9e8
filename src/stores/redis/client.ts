/** The official client of Redis, which the user installs. */

import { SwitchgearError } from '../../core/error.ts';
import type { RedisClient } from './connection.ts';

/** The client of `redis`, made anew for every line: it neither queues nor reconnects by itself. */
export async function loadOfficialClient(url: unknown): Promise<() => RedisClient> {
  if (typeof url !== 'string' || !/^rediss?:\/\/[^\s]+$/.test(url) || !URL.canParse(url)) {
    throw new SwitchgearError(
      'invalid_argument',
      'url must be redis://host:port or rediss://host:port, got something else',
    );
  }
  let client: typeof import('redis');
  try {
    client = await import('redis');
  } catch (error) {
    throw new SwitchgearError('store_client_missing', 'the Redis store needs the package redis: npm install redis', {
      cause: error,
    });
  }
  return () =>
    client.createClient({
      url,
      RESP: 3, // One line can listen and ask.
      disableOfflineQueue: true,
      commandOptions: { timeout: 0 }, // None: the link has a deadline of its own.
      socket: { connectTimeout: 1_000, reconnectStrategy: false },
    }) as unknown as RedisClient;
}
