/** The parts of one Redis store, connected with each other: connection, writer, hints, journal and known state. */

import { randomUUID } from 'node:crypto';
import type { Card } from '../../core/card.ts';
import { cardKeepMs } from '../../core/limits.ts';
import type { Clock } from '../../ports/clock.ts';
import { createViews, type Views } from '../cells/cell-views.ts';
import { createHealthMonitor, type HealthMonitor, makeLossCard, reportUnreadableCell } from '../cells/store-health.ts';
import { cardPrefix, laterCard } from '../cells/transaction-plan.ts';
import { createRedisConnection, type RedisClient, type RedisConnection } from './connection.ts';
import { createHints, type Hints } from './hints.ts';
import { createJournal, type Journal } from './journal.ts';
import { type RedisKeys, redisKeys } from './keys.ts';
import { createKnownState, type KnownState } from './known-state.ts';
import { createServerClock } from './server-clock.ts';
import { RedisSync } from './sync.ts';
import { createRedisWriter, type RedisWriter } from './writer.ts';

/** The checked options of a store, with their defaults. */
export interface RedisSettings {
  readonly client: () => RedisClient | Promise<RedisClient>;
  readonly prefix: string;
  readonly deadlineMs: number;
  readonly keysMax: number;
  readonly journalMax: number;
  readonly graceMs: number;
  /** Undefined = the clock of the server. */
  readonly clock: Clock | undefined;
}

/** The parts of one store in one process. */
export interface RedisParts {
  /** The name of this process in the store. */
  readonly process: string;
  readonly clock: Clock;
  readonly names: RedisKeys;
  /** The most entries in the journal. */
  readonly journalMax: number;
  readonly monitor: HealthMonitor;
  readonly views: Views;
  readonly memory: KnownState;
  readonly connection: RedisConnection;
  readonly writer: RedisWriter;
  readonly hints: Hints;
  readonly journal: Journal;
  readonly sync: RedisSync;
}

/** Creates the parts of a store; its connection is not started yet. */
export function createRedisParts(settings: RedisSettings): RedisParts {
  const { client, prefix, deadlineMs, keysMax, journalMax, graceMs } = settings;
  const names = redisKeys(prefix);
  const monitor = createHealthMonitor();
  const views = createViews((key, isKnown) => reportUnreadableCell(monitor, key, isKnown));
  const memory = createKnownState(views, monitor);
  const time = createServerClock();
  const clock = settings.clock ?? time.clock;
  const process = `r${randomUUID().slice(0, 13)}`;
  const fullReason =
    `the store is full: ${keysMax} keys lie under the prefix ${JSON.stringify(prefix)}, and what is new counts in ` +
    'this process alone; raise keysMax, or give tenants prefixes of their own';
  const getConnection = () => connection;
  const onLoss = (born: string) => reportLoss(views, memory, writer, clock, born);
  const getWriter = () => writer;
  const sync = new RedisSync({
    process,
    names,
    memory,
    views,
    time,
    connection: getConnection,
    writer: getWriter,
    onLoss,
  });
  const hints = createHints({ memory, connection: getConnection, channel: names.channel });
  const connection: RedisConnection = createRedisConnection({
    client,
    channel: names.channel,
    deadlineMs,
    beginOperation: monitor.beginOperation,
    handshake: (run) => sync.handshake(run),
    onUp() {
      void writer.deliver().then(() => {
        if (!connection.isUp) return;
        if (writer.overflowed > 0) monitor.degrade(fullReason);
        else monitor.recover('Redis answers again and has all queued changes');
      });
    },
    onDown(reason) {
      writer.connectionLost();
      monitor.degrade(reason);
    },
    onMessage: hints.onMessage,
  });
  const writer: RedisWriter = createRedisWriter({
    connection: getConnection,
    views,
    context: { names, memory, graceMs, journalMax, keysMax, wallMs: () => clock.wallMs() },
    readHead: (reply, askedMs) => sync.readHead(reply, askedMs),
    changed: hints.changed,
    full(isFull) {
      if (isFull) monitor.degrade(fullReason);
      else if (connection.isUp) monitor.recover('the store has room again and has all queued changes');
    },
  });
  const journal = createJournal(memory, clock, (transaction) => writer.commit(transaction));
  return { process, clock, names, journalMax, monitor, views, memory, connection, writer, hints, journal, sync };
}

/** Opens a card for a loss of data, once for all processes. */
function reportLoss(views: Views, memory: KnownState, writer: RedisWriter, clock: Clock, born: string): void {
  const card = makeLossCard(born, 'Redis was emptied or replaced; the store starts with what running processes know');
  const key = cardPrefix + card.id;
  const options = { join: laterCard, keepMs: cardKeepMs };
  const { cell } = views.open<Card | null>(
    key,
    () => null,
    options,
    () => memory.cells.get(key),
  );
  const entries = [{ body: { type: 'card-changed', card }, place: {}, atMs: clock.nowMs() } as const];
  const update = (stored: Card | null) => (stored === null ? { state: card, entries } : ('keep' as const));
  writer.commitNow({ changes: [{ cell, update } as never], queueIfUnavailable: true });
}

/** Whether no transaction, entry or hint is waiting that could be sent now. */
export function isIdle({ connection, journal, writer, hints }: RedisParts): boolean {
  return (
    !connection.isUp || [journal.waiting, writer.active, writer.queued, hints.waiting].every((count) => count === 0)
  );
}
