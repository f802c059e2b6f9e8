/** Entry point `switchgear/stores/redis`: a store that many machines share, through the package `redis`. */

import type { Card } from '../../core/card.ts';
import { SwitchgearError } from '../../core/error.ts';
import { cardKeepMs, storedEntriesMax, storedKeysMax, storeGraceMs, storePollMs } from '../../core/limits.ts';
import { quoteValue } from '../../core/quote.ts';
import { startInterval } from '../../platform/machine-clock.ts';
import { onProcessEnd } from '../../platform/process-end.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Cell, SharedStore, Store } from '../../ports/store.ts';
import { cardPrefix, laterCard, putCardUpdate } from '../cells/transaction-plan.ts';
import { loadOfficialClient } from './client.ts';
import { defaultDeadlineMs, type RedisClient } from './connection.ts';
import { createRedisParts, isIdle, type RedisParts, type RedisSettings } from './parts.ts';
import { createSharedStore } from './shared-store.ts';

export type { RedisClient } from './connection.ts';

/** The options of `redisStore`; either `url` or `client` is needed. */
export interface RedisOptions {
  /**
   * The address: `redis://user:password@host:6379/0`, or `rediss://` for TLS.
   * @default none; required unless `client` is given
   */
  readonly url?: string;
  /**
   * Creates a client that is not connected yet, instead of `url`: for Sentinel, a cluster or certificates.
   * @default the package `redis` with `url`
   */
  readonly client?: () => RedisClient | Promise<RedisClient>;
  /**
   * The prefix of all keys; stores with the same prefix share their state.
   *
   * @default 'switchgear'
   */
  readonly prefix?: string;
  /**
   * How long one operation may take.
   *
   * @default 20
   */
  readonly deadlineMs?: number;
  /**
   * The most cells, counters and windows of a prefix; a new cell beyond this limit is known to its own process only.
   *
   * @default 1_000_000
   */
  readonly keysMax?: number;
  /**
   * The most entries in the journal.
   *
   * @default 100_000
   */
  readonly journalMax?: number;
  /**
   * How long a store that is new or lost data grants neither money nor approvals.
   *
   * @default 2_000
   */
  readonly graceMs?: number;
  /**
   * The clock of the store, for tests.
   * @default the server's clock, estimated
   */
  readonly clock?: Clock;
}

/** A store in Redis, with the part that processes share. */
export type RedisStore = Store & { readonly shared: SharedStore };

/**
 * Opens the store. If Redis does not answer, the store starts degraded; if Redis rejects the user, `redisStore` throws.
 * @example
 * import { createSwitchgear } from 'switchgear';
 * import { redisStore } from 'switchgear/stores/redis';
 *
 * const gear = createSwitchgear({ store: await redisStore({ url: 'redis://localhost:6379' }) });
 */
export async function redisStore(options: RedisOptions): Promise<RedisStore> {
  const parts = createRedisParts(await checkOptions(options));
  const { clock, views, memory, connection, writer, journal, sync } = parts;
  const openCell: Store['cell'] = (key, initial, cellOptions) => {
    return views.open(key, initial, cellOptions, () => memory.cells.get(key)).cell;
  };
  const openCard = (id: string): Cell<Card | null> => {
    return openCell<Card | null>(cardPrefix + id, () => null, { join: laterCard, keepMs: cardKeepMs });
  };
  const shared = createSharedStore(parts, openCell);
  await connection.start();
  const stopPoll = startInterval(storePollMs, () => {
    void shared.counters?.flush();
    void sync.poll();
  });
  const forgetEnd = onProcessEnd(() => shared.counters?.flushNow());
  let isClosing = false;

  return {
    clock,
    shared,
    cell: openCell,
    drop: (key) => dropCell(parts, key),
    keys: () => [...views.all.keys()].filter((key) => !key.startsWith(cardPrefix)),
    append: journal.append,
    tail: journal.tail,
    putCard(card) {
      const cell = openCard(card.id);
      writer.commitNow({ changes: [{ cell, update: putCardUpdate(card) }], queueIfUnavailable: true });
    },
    card: (id) => openCard(id).state ?? undefined,
    cards() {
      for (const key of memory.cells.keys()) if (key.startsWith(cardPrefix)) openCard(key.slice(cardPrefix.length));
      const all = [...views.all.values()].filter(({ cell }) => cell.key.startsWith(cardPrefix));
      return all.map(({ cell }) => cell.state as Card | null).filter((card) => card !== null);
    },
    close() {
      if (isClosing) return;
      isClosing = true;
      stopPoll();
      forgetEnd();
      if (connection.isUp) shared.counters?.flushNow();
      const end = () => {
        connection.close();
        views.clear();
      };
      if (isIdle(parts)) end();
      // Waiting changes are still sent; otherwise the end of a task would look like the death of its process.
      else void shared.settled().then(end);
    },
  };
}

/** The checks of the options of `redisStore`: a misspelt one would be a default in silence. */
const optionChecks: Readonly<Record<keyof RedisOptions, readonly [string, (value: unknown) => boolean]>> = {
  url: ['an address such as redis://host:6379', (value) => typeof value === 'string' && value !== ''],
  client: ['a function that creates a client', (value) => typeof value === 'function'],
  prefix: ['a word without braces', (value) => typeof value === 'string' && /^[^{}\s]{1,100}$/.test(value)],
  deadlineMs: ['a number above 0', (value) => Number.isFinite(value) && (value as number) > 0],
  keysMax: ['a whole number from 1', (value) => Number.isSafeInteger(value) && (value as number) >= 1],
  journalMax: ['a whole number from 1', (value) => Number.isSafeInteger(value) && (value as number) >= 1],
  graceMs: ['a number from 0', (value) => Number.isFinite(value) && (value as number) >= 0],
  clock: ['a clock', (value) => typeof (value as Partial<Clock> | null)?.nowMs === 'function'],
};

async function checkOptions(options: RedisOptions): Promise<RedisSettings> {
  if (typeof options !== 'object' || options === null)
    throw new SwitchgearError('invalid_argument', `the options must be an object, got ${quoteValue(options)}`);
  for (const [name, value] of Object.entries(options)) {
    const check = Object.hasOwn(optionChecks, name) ? optionChecks[name as keyof RedisOptions] : undefined;
    if (check === undefined) {
      const known = Object.keys(optionChecks).join(', ');
      throw new SwitchgearError('invalid_argument', `redisStore has no ${quoteValue(name)}; it has ${known}`);
    }
    const [kind, fits] = check;
    if (value !== undefined && !fits(value))
      throw new SwitchgearError('invalid_argument', `${name} must be ${kind}, got ${quoteValue(value)}`);
  }
  const { prefix = 'switchgear' } = options;
  return {
    client: options.client ?? (await loadOfficialClient(options.url)),
    prefix,
    deadlineMs: options.deadlineMs ?? defaultDeadlineMs,
    keysMax: options.keysMax ?? storedKeysMax,
    journalMax: options.journalMax ?? storedEntriesMax,
    graceMs: options.graceMs ?? storeGraceMs,
    clock: options.clock,
  };
}

/** Removes a cell, its counter and its window here and in the store. */
function dropCell({ views, memory, writer }: RedisParts, key: string): void {
  views.remove(key);
  memory.totals.delete(key);
  memory.setCell(key, (memory.cells.get(key)?.version ?? 0) + 0.5, undefined);
  writer.drop(key);
}
