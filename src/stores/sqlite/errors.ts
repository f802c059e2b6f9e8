/** What an error of SQLite means for us: wait, give up for now, or set the file aside. */

import { SwitchgearError } from '../../core/error.ts';

export type ErrorClass = 'busy' | 'damaged' | 'unavailable';

const busy = 5;
const locked = 6;
const readOnly = 8;
const inputOutput = 10;
const corrupt = 11;
const full = 13;
const cannotOpen = 14;
const notADatabase = 26;
/** A file that ends too early. */
const shortRead = 522;
/** No room for the memory that processes share: on a disk that is full, SQLite says that it has a fault. */
const sharedMemorySize = 4874;

export function sqliteCodeOf(error: unknown): number {
  const code = (error as { errcode?: unknown } | undefined)?.errcode;
  return code === sharedMemorySize ? full : typeof code === 'number' ? code : 0;
}

export function classifySqliteError(error: unknown): ErrorClass {
  const code = sqliteCodeOf(error);
  const primary = code & 0xff;
  if (primary === busy || primary === locked) return 'busy';
  if (primary === corrupt || primary === notADatabase || code === shortRead) return 'damaged';
  if (error instanceof DamagedRow) return 'damaged';
  return 'unavailable';
}

/** A row whose checksum does not fit: the disk says something that nobody wrote. */
export class DamagedRow extends Error {
  constructor(table: string, key: string) {
    super(`a row of ${table} does not fit its checksum: ${key}`);
    this.name = 'DamagedRow';
  }
}

/** One sentence for a person. */
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

export function createOpenError(error: unknown, path: string): SwitchgearError {
  if (error instanceof SwitchgearError) return error;
  const code = codes[sqliteCodeOf(error) & 0xff] ?? 'store_failed';
  return new SwitchgearError(code, describeError(error, path), { cause: error });
}
