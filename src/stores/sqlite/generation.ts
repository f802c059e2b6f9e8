/**
 * Tells the first file of a store from one that took the place of another. A marker beside the file names the file that
 * belongs there; it is hidden and has another name, so that deleting `state.db*` does not delete it. A file that is not
 * the named one starts with a grace period, in which processes that know the lost state write it back.
 */

import { realpathSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { storeGraceMs } from '../../core/limits.ts';
import { machineBootId, machineClock } from '../../platform/machine-clock.ts';
import { readRegularFile } from '../../platform/regular-file.ts';
import { uniqueId } from '../../platform/unique-id.ts';
import { crc32 } from '../cells/checksums.ts';
import { DamagedRow } from './errors.ts';

/** The generation of an open file. */
export interface FileGeneration {
  /** A unique id of the file. */
  readonly id: string;
  /** Whether this process found that the file is not the one that was there. */
  readonly isReplaced: boolean;
  /** Until when the file grants no money, in the time of the machine's clock. */
  readonly graceUntilMs: number;
}

/** The stored generation: the file's id, and when it took the place of another. */
interface StoredGeneration {
  readonly id: string;
  readonly boot?: string;
  readonly replacedMs?: number;
}

interface Marker {
  readonly id: string;
  readonly inode: number;
}

const metaKey = 'generation';

/** Whether an open file is no longer the known generation: another process found that it lost data. */
export function isOtherGeneration(db: DatabaseSync, { id }: FileGeneration): boolean {
  return id !== '' && readStored(db)?.id !== id;
}

/** Starts the grace period of an open file that has forgotten changes, unless another process has done it. */
export function renewGeneration(db: DatabaseSync, path: string, inode: number, { id }: FileGeneration): FileGeneration {
  return inImmediateTransaction(db, () => {
    const current = readStored(db);
    if (current !== undefined && current.id !== id) return describe(current, false);
    const next = { id: uniqueId(), boot: machineBootId(), replacedMs: machineClock.nowMs() };
    writeStored(db, next);
    writeMarker(path, { id: next.id, inode });
    return describe(next, true);
  });
}

/** Compares an open file with its marker; names a new file, and starts the grace period of a replaced one. */
export function readGeneration(db: DatabaseSync, path: string, inode: number): FileGeneration {
  const stored = readStored(db);
  if (stored !== undefined && isNamed(readMarker(path), stored.id, inode)) return describe(stored, false);
  return inImmediateTransaction(db, () => {
    // Another process may have done it meanwhile.
    const current = readStored(db);
    const marker = readMarker(path);
    const isReplaced = marker !== undefined && !isNamed(marker, current?.id, inode);
    const next: StoredGeneration = isReplaced
      ? { id: uniqueId(), boot: machineBootId(), replacedMs: machineClock.nowMs() }
      : (current ?? { id: uniqueId() });
    if (next !== current) writeStored(db, next);
    writeMarker(path, { id: next.id, inode });
    return describe(next, isReplaced);
  });
}

function inImmediateTransaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

function isNamed(marker: Marker | undefined, id: string | undefined, inode: number): boolean {
  return marker !== undefined && marker.id === id && marker.inode === inode;
}

function describe({ id, boot, replacedMs }: StoredGeneration, isReplaced: boolean): FileGeneration {
  if (replacedMs === undefined) return { id, isReplaced, graceUntilMs: 0 };
  const untilMs = replacedMs + storeGraceMs;
  // Most files were replaced long ago, or never: the boot id is read only if the times could be of one start.
  const isCurrent = machineClock.nowMs() < untilMs && boot === machineBootId();
  return { id, isReplaced, graceUntilMs: isCurrent ? untilMs : 0 };
}

function readStored(db: DatabaseSync): StoredGeneration | undefined {
  const row = db.prepare('SELECT value, crc FROM meta WHERE key = ?').get(metaKey);
  if (row === undefined) return undefined;
  if (checksum(String(row.value)) !== row.crc) throw new DamagedRow('meta', metaKey);
  return JSON.parse(String(row.value)) as StoredGeneration;
}

function writeStored(db: DatabaseSync, generation: StoredGeneration): void {
  const text = JSON.stringify(generation);
  const write = db.prepare('INSERT OR REPLACE INTO meta (key, value, crc) VALUES (?, ?, ?)');
  write.run(metaKey, text, checksum(text));
}

function checksum(text: string): number {
  return crc32([metaKey, text].join('\n'));
}

/**
 * The path of the marker: it shares no part of its name with the file, and is the same for every path that leads to
 * the file.
 */
function markerPath(path: string): string {
  const real = realpathSync(path);
  return join(dirname(real), `.switchgear-${crc32(basename(real)).toString(16)}`);
}

function readMarker(path: string): Marker | undefined {
  try {
    const text = readRegularFile(markerPath(path), markerBytesMax)?.toString();
    if (text === undefined) return undefined;
    const [id = '', inode] = text.split('\n');
    return { id, inode: Number(inode) };
  } catch {
    return undefined;
  }
}

const markerBytesMax = 1_024;

function writeMarker(path: string, { id, inode }: Marker): void {
  try {
    const to = markerPath(path);
    const draft = `${to}.${process.pid}`;
    writeFileSync(draft, `${id}\n${inode}\n`, { mode: 0o600 });
    renameSync(draft, to);
  } catch {
    // Without a marker a later file counts as the first one.
  }
}
