/** Entry point `switchgear/stores/redis`: a store that many machines share, through the package `redis`. */

import { randomBytes, randomUUID } from 'node:crypto';
import { createSharing } from '../../coordination/index.ts';
import type { Card } from '../../core/card.ts';
import { SwitchgearError } from '../../core/error.ts';
import type { Entry } from '../../core/event.ts';
import { cardKeepMs, storedEntriesMax, storedKeysMax, storeGraceMs, storePollMs } from '../../core/limits.ts';
import { machineClock, startInterval } from '../../platform/machine-clock.ts';
import type { Clock } from '../../ports/clock.ts';
import type { CellOptions, SharedStore, Store, Transaction, WindowCount } from '../../ports/store.ts';
import { createViews, parseCellText } from '../cells/cell-views.ts';
import { createHealthMonitor, reportUnreadableCell } from '../cells/store-health.ts';
import { cardPrefix, laterCard, putCardUpdate } from '../cells/transaction-plan.ts';
import { loadOfficialClient } from './client.ts';
import {
  createRedisConnection,
  defaultDeadlineMs,
  type RedisClient,
  type RedisConnection,
  type Reply,
  type RunScript,
} from './connection.ts';
import { createHints } from './hints.ts';
import { createJournal } from './journal.ts';
import { redisKeys } from './keys.ts';
import { createKnownState } from './known-state.ts';
import { pollStore, readCells, restoreStore, type StoreReader } from './restore.ts';
import { helloScript } from './scripts.ts';
import { createServerClock } from './server-clock.ts';
import { createRedisWriter } from './writer.ts';

export type { RedisClient } from './connection.ts';

/** The options of `redisStore`; either `url` or `client` is needed. */
export interface RedisOptions {
  /** The address: `redis://user:password@host:6379/0`, or `rediss://` for TLS. */
  readonly url?: string;
  /** Creates a client that is not connected yet, instead of `url`: for Sentinel, a cluster or certificates. */
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
   * The most cells, counters and windows of a prefix; a new cell beyond that counts in its process alone.
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
  /** The clock of the store, for tests. */
  readonly clock?: Clock;
}

/** A store in Redis, with the part that processes share. */
export type RedisStore = Store & { readonly shared: SharedStore };

/** Opens the store. If Redis does not answer, the store starts degraded; if Redis refuses the user, this throws. */
export async function redisStore(options: RedisOptions): Promise<RedisStore> {
  const prefix = options.prefix ?? 'switchgear';
  if (typeof prefix !== 'string' || !/^[^{}\s]{1,100}$/.test(prefix)) {
    throw new SwitchgearError(
      'invalid_argument',
      `prefix must be a word without braces, got ${JSON.stringify(prefix)}`,
    );
  }
  const client = options.client ?? (await loadOfficialClient(options.url));
  const names = redisKeys(prefix);
  const monitor = createHealthMonitor();
  const views = createViews((key, isKnown) => reportUnreadableCell(monitor, key, isKnown));
  const memory = createKnownState(views, monitor);
  const time = createServerClock();
  const clock = options.clock ?? time.clock;
  const process = `r${randomUUID().slice(0, 13)}`;
  memory.line = names.process(`${process}-0`);
  const keysMax = options.keysMax ?? storedKeysMax;
  const fullReason =
    `the store is full: ${keysMax} keys lie under the prefix ${JSON.stringify(prefix)}, and what is new counts in ` +
    'this process alone; raise keysMax, or give tenants prefixes of their own';
  let lines = 0;
  let closing = false;
  let closed = false;

  const connection: RedisConnection = createRedisConnection({
    client,
    channel: names.channel,
    deadlineMs: options.deadlineMs ?? defaultDeadlineMs,
    handshake,
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
    onMessage: (message) => hints.onMessage(message),
  });
  const hints = createHints({ memory, connection: () => connection, channel: names.channel });

  const writer = createRedisWriter({
    connection: () => connection,
    views,
    context: {
      names,
      memory,
      graceMs: options.graceMs ?? storeGraceMs,
      journalMax: options.journalMax ?? storedEntriesMax,
      keysMax,
      wallMs: () => clock.wallMs(),
    },
    readHead,
    changed: hints.changed,
    full(isFull) {
      if (isFull) monitor.degrade(fullReason);
      else if (connection.isUp) monitor.recover('the store has room again and has all queued changes');
    },
  });

  /** Reads time and versions from the head of a reply; returns the rest. */
  function readHead(reply: Reply, askedMs: number): readonly string[] {
    const { 1: secs, 2: micros, 5: version, 6: seq } = reply;
    if (secs !== '') time.observe(askedMs, machineClock.nowMs(), Number(secs) * 1000 + Number(micros) / 1000);
    memory.version = Math.max(memory.version, Number(version));
    memory.seq = Math.max(memory.seq, Number(seq));
    return reply.slice(8);
  }

  /** Prepares a new connection: finds out what the store executed, reads changed cells, and restores lost ones. */
  async function handshake(run: RunScript): Promise<void> {
    const { born, version, seq, secret, line: before } = memory;
    const wanted = [randomUUID(), secret === '' ? randomBytes(32).toString('base64url') : secret];
    const askedMs = machineClock.nowMs();
    const own = names.process(`${process}-${lines + 1}`);
    const keys = [names.store, before, own, `${before}:done`];
    const reply = await run(helloScript, keys, [...wanted, born, String(version), String(seq)]);
    lines++; // After the reply, so that a lost reply is requested again.
    memory.line = own;
    const done = readHead(reply, askedMs);
    writer.reconnected(new Set(done.map(Number)));
    const forgot = born !== '' && reply[3] !== born;
    memory.born = reply[3]!;
    memory.secret = reply[7]!;
    const reader = makeReader(run);
    await pollStore(forgot ? { ...reader, since: 0 } : reader);
    since = memory.version;
    writer.viewsCaughtUp();
    if (forgot) await restoreStore({ ...reader, views, writer });
  }

  let since = 0;
  let polling = false;

  function makeReader(run: RunScript): StoreReader {
    return { run, names, memory, since, readHead };
  }

  async function poll(): Promise<void> {
    if (polling || closed || !connection.isUp) return;
    polling = true;
    try {
      const { born, version } = memory;
      const head = await pollStore(makeReader(connection.run));
      if (head.born !== born || head.version < Math.min(version, since)) connection.renew('the store lost data');
      else since = Math.max(since, head.version);
      // Transactions are queued also while the connection is up, after they lost every race.
      await writer.deliver();
      await writer.retryOverflow();
    } catch {
      // The connection is down and reports that itself.
    } finally {
      polling = false;
    }
  }

  function open<S>(key: string, initial: () => S, cellOptions?: CellOptions<S>) {
    return views.open(key, initial, cellOptions, () => memory.cells.get(key)).cell;
  }

  function cardCell(id: string) {
    return open<Card | null>(cardPrefix + id, () => null, { join: laterCard, keepMs: cardKeepMs });
  }

  const counter = (key: string) => memory.totals.get(key) ?? 0;
  const journal = createJournal(memory, clock, writer.commit);
  const commitNow = (transaction: Transaction) => writer.commitNow(journal.withLocalCopy(transaction));
  const commit = (transaction: Transaction) => writer.commit(journal.withLocalCopy(transaction));
  const windowCount = (key: string, atMs: number, keepMs: number): WindowCount => {
    const window = memory.marks.get(key);
    return window === undefined || window.oldestMs <= atMs - keepMs - keepMs ? { count: 0, oldestMs: atMs } : window;
  };
  const health = () => monitor.health;
  const sharing = createSharing({ process, clock, cell: open, health, commitNow, commit, windowCount });

  /** Whether no transaction, entry or hint is waiting that could be sent now. */
  function isIdle(): boolean {
    return (
      !connection.isUp || [journal.waiting, writer.active, writer.queued, hints.waiting].every((count) => count === 0)
    );
  }

  const shared: SharedStore = {
    process,
    get secret() {
      return memory.secret;
    },
    get health() {
      return monitor.health;
    },
    refresh() {},
    commitNow: writer.commitNow,
    commit: writer.commit,
    breakers: sharing.breakers,
    workers: sharing.workers,
    rules: sharing.rules,
    subscribeToOrders: sharing.subscribeToOrders,
    publishTasks: sharing.publishTasks,
    counter,
    windowCount,
    read: async (prefixed, most) => {
      const keys = await readCells(makeReader(connection.run), prefixed, most).catch(() => undefined);
      return (
        keys ??
        [...memory.cells]
          .map(([key, { version, text = '' }]) => ({ key, version, state: parseCellText(text) }))
          .filter(({ key, state }) => key.startsWith(prefixed) && state !== undefined)
          .slice(0, most)
      );
    },
    async entries(fromSeq, most) {
      const first = `${Math.max(0, fromSeq)}-0`;
      const reply = await connection
        .command(['XRANGE', names.journal, first, '+', 'COUNT', String(most)])
        .catch(() => []);
      return (reply as [string, string[]][]).map(
        ([id, [, text]]) => ({ seq: Number.parseInt(id, 10), ...(JSON.parse(text!) as object) }) as unknown as Entry,
      );
    },
    watch: monitor.watch,
    evict: views.remove,
    settled: () =>
      new Promise((resolve) => {
        const checkSettled = () => {
          if (closed || isIdle()) resolve();
          else machineClock.after(1, checkSettled, true);
        };
        setImmediate(checkSettled);
      }),
  };

  await connection.start();
  const stopPoll = startInterval(storePollMs, () => void poll());

  return {
    clock,
    shared,
    cell: open,
    drop(key) {
      views.remove(key);
      const cell = memory.cells.get(key);
      memory.totals.delete(key);
      if (!connection.isUp) return;
      if (cell?.text !== undefined) {
        const removal = { key, expected: cell.version, version: undefined, text: undefined, keepMs: undefined };
        void writer.offer([removal], []).catch(() => undefined);
      }
      memory.setCell(key, (cell?.version ?? 0) + 0.5, undefined);
      void connection.command(['DEL', names.part(`s:${key}`), names.part(`m:${key}`)]).catch(() => undefined);
    },
    keys: () => [...views.all.keys()].filter((key) => !key.startsWith(cardPrefix)),
    append: journal.append,
    tail: journal.tail,
    putCard(card) {
      const cell = cardCell(card.id);
      writer.commitNow({ changes: [{ cell, update: putCardUpdate(card) }], queueIfUnavailable: true });
    },
    card: (id) => cardCell(id).state ?? undefined,
    cards() {
      for (const key of memory.cells.keys()) if (key.startsWith(cardPrefix)) cardCell(key.slice(cardPrefix.length));
      const all = [...views.all.values()].filter(({ cell }) => cell.key.startsWith(cardPrefix));
      return all.map(({ cell }) => cell.state as Card | null).filter((card) => card !== null);
    },
    close() {
      if (closing) return;
      closing = true;
      stopPoll();
      const end = () => {
        closed = true;
        connection.close();
        views.clear();
      };
      if (isIdle()) end();
      // Waiting changes are still sent; otherwise the end of a task would look like the death of its process.
      else void shared.settled().then(end);
    },
  };
}
