/** Reads changed cells from the store, and writes the known state of this process into a store that lost data. */

import { storeBatchMax } from '../../core/limits.ts';
import { machineClock } from '../../platform/machine-clock.ts';
import type { StoredCell, Transaction } from '../../ports/store.ts';
import { parseCellText, type Views } from '../cells/cell-views.ts';
import { cardPrefix, laterCard } from '../cells/transaction-plan.ts';
import type { RedisConnection, Reply, RunScript } from './connection.ts';
import type { RedisKeys } from './keys.ts';
import type { KnownState } from './known-state.ts';
import type { CellWrite } from './script-arguments.ts';
import { pollScript, readScript } from './scripts.ts';
import type { RedisWriter } from './writer.ts';

/** The parts that reads of the store use. */
export interface StoreReader {
  readonly run: RunScript;
  readonly names: RedisKeys;
  readonly memory: KnownState;
  readonly since: number;
  readHead(reply: Reply, askedMs: number): readonly string[];
}

const batchDeadlineMs = 500;

/** Reads every cell that changed since a version. */
export async function pollStore(reader: StoreReader): Promise<{ readonly born: string; readonly version: number }> {
  const { run, names, memory, readHead } = reader;
  let { since } = reader;
  for (;;) {
    const askedMs = machineClock.nowMs();
    const keys = [names.store, names.index, names.ends, memory.line];
    const reply = await run(pollScript, keys, [String(since), String(storeBatchMax)], batchDeadlineMs);
    const rest = readHead(reply, askedMs);
    const changed: string[] = [];
    for (let at = 0; at < rest.length; at += 2) {
      const [name, version] = [rest[at]!, Number(rest[at + 1])];
      since = Math.max(since, version);
      if (name.startsWith('c:') && (memory.cells.get(name.slice(2))?.version ?? 0) < version)
        changed.push(name.slice(2));
    }
    await refreshCells(reader, changed, since);
    if (rest.length < 2 * storeBatchMax) return { born: reply[3]!, version: Number(reply[5]) };
  }
}

async function refreshCells(reader: StoreReader, keys: readonly string[], since: number): Promise<void> {
  if (keys.length === 0) return;
  const fetched = await fetchCells(reader, keys);
  fetched.forEach(({ version, text }, at) => {
    const key = keys[at]!;
    // A cell that is in the index and does not exist was dropped.
    reader.memory.setCell(key, version === 0 ? since : version, text === '' ? undefined : text);
  });
}

async function fetchCells({ run, names, readHead }: StoreReader, keys: readonly string[]) {
  const askedMs = machineClock.nowMs();
  const reply = await run(readScript, [names.store, ...keys.map((key) => names.part(`c:${key}`))], [], batchDeadlineMs);
  const rest = readHead(reply, askedMs);
  return keys.map((_, at) => ({ version: Number(rest[2 * at]), text: rest[2 * at + 1]! }));
}

/** Returns the stored cells with a key prefix. */
export async function readCells(reader: StoreReader, prefix: string, most: number): Promise<readonly StoredCell[]> {
  await pollStore(reader);
  const keys = most === 1 ? findFirstKey(reader.memory, prefix) : listKeys(reader.memory, prefix).slice(0, most);
  const stored: StoredCell[] = [];
  for (let at = 0; at < keys.length; at += storeBatchMax) {
    const batch = keys.slice(at, at + storeBatchMax);
    const fetched = await fetchCells(reader, batch);
    fetched.forEach(({ version, text }, index) => {
      const state = parseCellText(text);
      if (state !== undefined) stored.push({ key: batch[index]!, version, state });
    });
  }
  return stored;
}

function listKeys({ cells }: KnownState, prefix: string): readonly string[] {
  const keys: string[] = [];
  for (const [key, { text }] of cells) if (text !== undefined && key.startsWith(prefix)) keys.push(key);
  return keys.sort();
}

/** The first key with a prefix in the order of keys, which is the prefix itself if there is a cell of this name. */
function findFirstKey(memory: KnownState, prefix: string): readonly string[] {
  if (memory.cells.get(prefix)?.text !== undefined) return [prefix];
  let first: string | undefined;
  for (const [key, { text }] of memory.cells) {
    if (text === undefined || !key.startsWith(prefix)) continue;
    if (first === undefined || key < first) first = key;
  }
  return first === undefined ? [] : [first];
}

/** The options of `restoreStore`. */
export interface RestoreOptions extends Omit<StoreReader, 'since'> {
  readonly views: Views;
  readonly writer: RedisWriter;
}

/** Writes the known state of this process into a store that lost data: newer cells, marks and higher counters. */
export async function restoreStore(options: RestoreOptions): Promise<void> {
  const { memory, views, writer } = options;
  const knownCells = [...memory.cells].filter(([, { text }]) => text !== undefined);
  for (let at = 0; at < knownCells.length; at += storeBatchMax) {
    const batch = knownCells.slice(at, at + storeBatchMax);
    for (let tries = 0; tries < 8; tries++) {
      const fetched = await fetchCells(
        { ...options, since: 0 },
        batch.map(([key]) => key),
      );
      const offers = batch.flatMap(([key, { version, text }], index): CellWrite[] => {
        const stored = fetched[index]!;
        const joined = joinTexts(key, text!, stored.text, version > stored.version, views);
        if (joined === undefined || joined === stored.text) return [];
        const keepMs = views.all.get(key)?.options.keepMs;
        // The cell keeps its version, so that a process with a later version can restore that one.
        return [{ key, expected: stored.version, version: Math.max(version, stored.version), text: joined, keepMs }];
      });
      if (offers.length === 0 || (await writer.offer(offers, [])) === 'done') break;
    }
  }
  const marks = memory.ownMarks.active();
  for (let at = 0; at < marks.length; at += storeBatchMax)
    await writer.offer([], [], marks.slice(at, at + storeBatchMax));
  const totals = [...memory.totals];
  for (let at = 0; at < totals.length; at += storeBatchMax)
    await writer.offer([], totals.slice(at, at + storeBatchMax));
}

/**
 * Reads the cells of a transaction again after a step refused a state that may be out of date. Returns 'same' if no
 * process wrote them meanwhile, undefined if the store does not answer.
 */
export async function recheckCells(
  transaction: Transaction,
  connection: RedisConnection,
  memory: KnownState,
  names: RedisKeys,
): Promise<'same' | 'again' | undefined> {
  const keys = [...new Set((transaction.changes ?? []).map(({ cell }) => cell.key))];
  const versions = keys.map((key) => memory.cells.get(key)?.version ?? 0);
  const noAnswer = (): undefined => undefined;
  // Reads the cells themselves, because the hint of a recent change may not have arrived yet.
  const requests = keys.map((key) => connection.command(['HMGET', names.part(`c:${key}`), 'v', 's']).catch(noAnswer));
  for (const [at, answer] of (await Promise.all(requests)).entries()) {
    if (answer === undefined) return undefined;
    const [version, text] = answer as (string | null)[];
    if (version !== null && version !== undefined) memory.setCell(keys[at]!, Number(version), text ?? undefined);
  }
  return keys.every((key, at) => (memory.cells.get(key)?.version ?? 0) === versions[at]) ? 'same' : 'again';
}

/** Joins the known and the stored text of a cell; returns undefined if the known text cannot be parsed. */
function joinTexts(
  key: string,
  localText: string,
  storedText: string,
  isLater: boolean,
  views: Views,
): string | undefined {
  const [local, stored] = [parseCellText(localText), parseCellText(storedText)];
  if (local === undefined) return undefined;
  if (stored === undefined) return localText;
  const cellJoin = views.all.get(key)?.options.join;
  const joinStates =
    cellJoin ?? (key.startsWith(cardPrefix) ? (laterCard as (a: unknown, b: unknown) => unknown) : undefined);
  if (joinStates === undefined) return isLater ? localText : storedText;
  return JSON.stringify(joinStates(local, stored));
}
