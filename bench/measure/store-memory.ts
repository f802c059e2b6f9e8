/** What very many breakers and idle tasks weigh, in the process and where their state lies. */

import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '../../src/ports/store.ts';
import type { RedisClient } from '../../src/stores/redis/index.ts';
import { startRedis } from '../../test/redis-server.ts';
import type { Figures } from '../bench-runner.ts';
import { loadGear, loadStores } from './library.ts';
import { used } from './memory.ts';

/** A store, and how much lies in it. */
interface Place {
  readonly store: Store | undefined;
  weight(): Promise<number>;
  close(): Promise<void>;
}

async function openPlace(kind: string): Promise<Place> {
  const { sqliteStore, redisStore } = await loadStores();
  switch (kind) {
    case 'memory':
      return { store: undefined, weight: async () => 0, close: async () => {} };
    case 'sqlite': {
      const folder = mkdtempSync(join(tmpdir(), 'switchgear-bench-'));
      const path = join(folder, 'store.db');
      const size = (part: string) => statSync(path + part, { throwIfNoEntry: false })?.size ?? 0;
      return {
        store: sqliteStore({ path, waitMs: 2_000, retain: { megabytes: 10_000 } }),
        weight: async () => size('') + size('-wal'),
        close: async () => rmSync(folder, { recursive: true, force: true }),
      };
    }
    case 'redis': {
      const server = await startRedis();
      const { createClient } = await import('redis');
      const made = () => createClient({ url: server.url, RESP: 3 }) as unknown as RedisClient;
      const client = createClient({ url: server.url });
      await client.connect();
      return {
        store: await redisStore({ client: made, deadlineMs: 10_000, graceMs: 0 }),
        weight: async () => Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1]),
        async close() {
          client.destroy();
          await server.stop();
        },
      };
    }
    default:
      throw new Error(`there is no store ${JSON.stringify(kind)}`);
  }
}

/** Arguments: the store, what, and how many. Bytes for each in the heap, and where the state lies. */
export async function storeHeap([kind = '', what = '', number = '100000']: readonly string[]): Promise<Figures> {
  const count = Number(number);
  const { createSwitchgear } = await loadGear();
  const place = await openPlace(kind);
  const options = { log: 'silent', env: {}, project: 'bench' } as const;
  const gear = createSwitchgear(place.store === undefined ? options : { ...options, store: place.store });
  const call = (at: number) => {
    const admission = gear.admit(`tool-${at}`, []);
    if (admission.refused !== undefined) throw new Error('a breaker refused its first call');
    admission.settle(what === 'failed-breaker' ? { error: boom } : { value: 1 });
    return undefined;
  };
  const make = what === 'task' ? () => gear.startTask() : call;
  const kept: unknown[] = new Array(count);
  for (let at = 0; at < 100; at++) call(-1 - at);
  await place.store?.shared?.settled();
  const [heap, weight] = [await used(), await place.weight()];
  for (let at = 0; at < count; at++) {
    kept[at] = make(at);
    // Whoever is not waited for is written in batches, as an agent's calls would let it.
    if (at % 1_000 === 999) await place.store?.shared?.settled();
  }
  const health = place.store?.shared?.health;
  if (health?.state === 'degraded') throw new Error(`what is weighed is not all there: ${health.reason}`);
  const heapBytes = ((await used()) - heap - count * 8) / count;
  const storedBytes = ((await place.weight()) - weight) / count;
  if (kept.length !== count) throw new Error('what is measured was thrown away');
  gear.dispose();
  await place.close();
  return { heapBytes, storedBytes };
}

const boom = new Error('boom');
