/** Classifies and describes errors of SQLite. */

import { SwitchgearError } from '../../core/error.ts';

/** How the store reacts: 'busy' = wait, 'damaged' = set the file aside, 'unavailable' = give up for now. */
export type ErrorClass = 'busy' | 'damaged' | 'unavailable';

const busy = 5;
const locked = 6;
const readOnly = 8;
const inputOutput = 10;
const corrupt = 11;
const full = 13;
const cannotOpen = 14;
const notADatabase = 26;
/** SQLITE_IOERR_SHORT_READ: the file is truncated. */
const shortRead = 522;
/** SQLITE_IOERR_SHMSIZE: SQLite reports a full disk as an I/O error of its shared memory file. */
const sharedMemorySize = 4874;

/** SQLITE_IOERR_DELETE_NOENT, _FSTAT, _SHMOPEN and SQLITE_READONLY_DBMOVED: the file was deleted or replaced. */
const movedCodes: readonly number[] = [5898, 1802, 4618, 1032];

/** Whether a file was deleted or replaced while SQLite opened it. */
export function isMoved(error: unknown): boolean {
  return movedCodes.includes(sqliteCodeOf(error));
}

/** Returns the extended result code of an error of SQLite; 0 for other errors. */
export function sqliteCodeOf(error: unknown): number {
  const code = (error as { errcode?: unknown } | undefined)?.errcode;
  return code === sharedMemorySize ? full : typeof code === 'number' ? code : 0;
}

/** Returns how the store has to react to an error. */
export function classifySqliteError(error: unknown): ErrorClass {
  const code = sqliteCodeOf(error);
  const primary = code & 0xff;
  if (primary === busy || primary === locked) return 'busy';
  if (primary === corrupt || primary === notADatabase || code === shortRead) return 'damaged';
  if (error instanceof DamagedRow) return 'damaged';
  return 'unavailable';
}

/** A row whose checksum does not match its content. */
export class DamagedRow extends Error {
  constructor(table: string, key: string) {
    super(`a row of ${table} does not match its checksum: ${key}`);
    this.name = 'DamagedRow';
  }
}

/** Describes an error in one sentence for people. */
export function describeError(error: unknown, path: string): string {
  const file = JSON.stringify(path);
  switch (sqliteCodeOf(error) & 0xff) {
    case busy:
    case locked:
      return `the store ${file} is locked by another process`;
    case readOnly:
      return `the store ${file} cannot be written: the file or its disk is read-only`;
    case full:
      return `the store ${file} cannot be written: the disk is full`;
    case cannotOpen:
      return `the store ${file} cannot be opened: is its folder there, and may this user write into it?`;
    case inputOutput:
      return `the store ${file} cannot be read or written: the disk reports an error`;
    default:
      return `the store ${file} failed: ${error instanceof Error ? error.message : String(error)}`;
  }
}

const codes: Readonly<Record<number, string>> = {
  [busy]: 'store_busy',
  [locked]: 'store_busy',
  [readOnly]: 'store_readonly',
  [full]: 'store_full',
  [cannotOpen]: 'store_unreachable',
};

/** Returns the error that `sqliteStore` throws if the file cannot be opened. */
export function createOpenError(error: unknown, path: string): SwitchgearError {
  if (error instanceof SwitchgearError) return error;
  const code = codes[sqliteCodeOf(error) & 0xff] ?? 'store_failed';
  return new SwitchgearError(code, describeError(error, path), { cause: error });
}
