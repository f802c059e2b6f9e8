/** The part of a Redis store that many processes share: transactions, shared controls, stored cells and entries. */

import { createSharing } from '../../coordination/index.ts';
import { SwitchgearError } from '../../core/error.ts';
import type { Entry } from '../../core/event.ts';
import { storeBatchMax } from '../../core/limits.ts';
import { machineClock } from '../../platform/machine-clock.ts';
import type { SharedStore, Store, StoredCell, WindowCount } from '../../ports/store.ts';
import type { StoreSize } from '../../ports/store-size.ts';
import { parseCellText } from '../cells/cell-views.ts';
import { isIdle, type RedisParts } from './parts.ts';
import { readCells } from './restore.ts';

/** Creates the shared part of a store; `openCell` returns the view of a cell. */
export function createSharedStore(parts: RedisParts, openCell: Store['cell']): SharedStore {
  const { process, clock, monitor, views, memory, writer, journal } = parts;
  const windowCount: SharedStore['windowCount'] = (key, atMs, keepMs) => readWindow(parts, key, atMs, keepMs);
  const sharing = createSharing({
    process,
    clock,
    cell: openCell,
    health: () => monitor.health,
    commitNow: (transaction) => writer.commitNow(journal.withLocalCopy(transaction)),
    commit: (transaction) => writer.commit(journal.withLocalCopy(transaction)),
    windowCount,
  });
  return {
    process,
    get secret() {
      return memory.secret;
    },
    get health() {
      return monitor.health;
    },
    refresh() {},
    commitNow: (transaction) => writer.commitNow(transaction),
    commit: (transaction) => writer.commit(transaction),
    breakers: sharing.breakers,
    workers: sharing.workers,
    rules: sharing.rules,
    subscribeToOrders: sharing.subscribeToOrders,
    publishTasks: sharing.publishTasks,
    counters: sharing.counters,
    readCounters: (keys) => readCounters(parts, keys),
    counter: (key) => memory.totals.get(key) ?? 0,
    windowCount,
    read: (prefix, most) => readStoredCells(parts, prefix, most),
    entries: (fromSeq, most) => readEntries(parts, fromSeq, most),
    size: async () => ({ ...(await countEntries(parts)), entriesMax: parts.journalMax }),
    watch: monitor.watch,
    measure: monitor.measure,
    evict: (key) => writer.tails.has(key) || views.evict(key),
    settled: () => waitUntilIdle(parts),
  };
}

/** The known count of a window; a window whose marks have all passed is empty. */
function readWindow({ memory }: RedisParts, key: string, atMs: number, keepMs: number): WindowCount {
  const window = memory.marks.get(key);
  return window === undefined || window.oldestMs <= atMs - keepMs - keepMs ? { count: 0, oldestMs: atMs } : window;
}

/** Reads the cells with a key prefix from the store, or from the known state if the store does not answer. */
async function readStoredCells(
  { connection, sync, memory }: RedisParts,
  prefix: string,
  most: number,
): Promise<readonly StoredCell[]> {
  const stored = await readCells(sync.makeReader(connection.run), prefix, most).catch(() => undefined);
  return (
    stored ??
    [...memory.cells]
      .map(([key, { version, text = '' }]) => ({ key, version, state: parseCellText(text) }))
      .filter(({ key, state }) => key.startsWith(prefix) && state !== undefined)
      .slice(0, most)
  );
}

async function countEntries({ connection, names }: RedisParts): Promise<Pick<StoreSize, 'entries'>> {
  const count = await connection.command(['XLEN', names.journal]).catch(() => undefined);
  return typeof count === 'number' ? { entries: count } : {};
}

/** How long one batch of totals may take. */
const readDeadlineMs = 500;

/** Reads totals in batches; rejects if the store does not answer. */
async function readCounters({ connection, names }: RedisParts, keys: readonly string[]): Promise<readonly number[]> {
  const totals: number[] = [];
  for (let at = 0; at < keys.length; at += storeBatchMax) {
    const batch = keys.slice(at, at + storeBatchMax).map((key) => names.part(`s:${key}`));
    const reply = (await connection.command(['MGET', ...batch], readDeadlineMs)) as readonly (string | null)[];
    totals.push(...reply.map(Number));
  }
  return totals;
}

/** Reads a part of the journal; rejects if the store does not answer. */
async function readEntries(
  { connection, names }: RedisParts,
  fromSeq: number,
  most: number,
): Promise<readonly Entry[]> {
  const first = `${Math.max(0, fromSeq)}-0`;
  const command = ['XRANGE', names.journal, first, '+', 'COUNT', String(most)];
  const reply = await connection.command(command).catch((error: unknown) => {
    throw new SwitchgearError('store_unreachable', 'the journal of the store cannot be read', { cause: error });
  });
  return (reply as [string, string[]][]).map(
    ([id, [, text]]) => ({ seq: Number.parseInt(id, 10), ...(JSON.parse(text!) as object) }) as Entry,
  );
}

function waitUntilIdle(parts: RedisParts): Promise<void> {
  return new Promise((resolve) => {
    const checkIdle = () => {
      if (isIdle(parts)) resolve();
      else machineClock.after(1, checkIdle, true);
    };
    setImmediate(checkIdle);
  });
}
