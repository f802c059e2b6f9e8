/** Opens a file that an agent writes, only if it is a regular file: opening a pipe could block for ever. */

import { closeSync, constants, fstatSync, openSync } from 'node:fs';

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
