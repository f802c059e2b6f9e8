/** Opens and reads files that an agent can write, only if they are regular: a pipe could block for ever. */

import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

export interface RegularFile {
  /** The file descriptor, which the caller closes. */
  readonly file: number;
  readonly size: number;
  readonly inode: number;
}

/** Opens a file; returns undefined if it is missing, unreadable or not a regular file. */
export function openRegularFile(path: string): RegularFile | undefined {
  let file: number | undefined;
  try {
    file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)); // Windows has no such flag.
    const stat = fstatSync(file);
    if (stat.isFile()) return { file, size: stat.size, inode: stat.ino };
  } catch {
    // The return below reports it.
  }
  if (file !== undefined) closeSync(file);
  return undefined;
}

/** Reads a file of at most `bytesMax` bytes; returns undefined if it is longer, missing, unreadable or not regular. */
export function readRegularFile(path: string, bytesMax: number): Buffer | undefined {
  const opened = openRegularFile(path);
  if (opened === undefined) return undefined;
  try {
    if (opened.size > bytesMax) return undefined;
    // Files of the system have the size 0 and content, and some of them have no end.
    const bytes = Buffer.alloc((opened.size || bytesMax) + 1);
    let length = 0;
    for (let read = 1; read > 0 && length < bytes.length; length += read) {
      read = readSync(opened.file, bytes, length, bytes.length - length, null);
    }
    return length === bytes.length ? undefined : bytes.subarray(0, length);
  } catch {
    return undefined;
  } finally {
    closeSync(opened.file);
  }
}
