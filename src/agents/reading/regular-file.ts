/** Opens a file that an agent writes, and nothing else: a pipe in its place would be waited for without end. */

import { closeSync, constants, fstatSync, openSync } from 'node:fs';

export interface RegularFile {
  /** The caller closes it. */
  readonly file: number;
  readonly size: number;
  readonly inode: number;
}

/** Undefined where it is not there, cannot be read, or is no plain file. */
export function openRegularFile(path: string): RegularFile | undefined {
  let file: number | undefined;
  try {
    file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)); // Another system has no such flag.
    const stat = fstatSync(file);
    if (stat.isFile()) return { file, size: stat.size, inode: stat.ino };
  } catch {
    // Said below.
  }
  if (file !== undefined) closeSync(file);
  return undefined;
}
