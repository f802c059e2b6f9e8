/**
 * Follows a file to which programs below a run append. The programs are an agent's, which may shorten or replace the
 * file: what was read is marked in the file, so that this is found, and then the whole file is read again. Programs may
 * still append to a file that was replaced, so it stays open.
 */

import { closeSync, fstatSync, openSync, readSync, statSync, writeFileSync, writeSync } from 'node:fs';

export interface FollowedFile {
  /**
   * Reads what was appended; `take` returns how many of the bytes it used. Returns whether the file was shortened,
   * replaced or deleted since the last time.
   */
  read(take: (bytes: Buffer) => number): boolean;
  /** Nothing may be read after this. */
  close(): void;
}

interface OpenFile {
  readonly descriptor: number;
  /** The bytes that were used; the last of them is the mark. */
  used: number;
}

/** Replaced files that are followed, too. */
const replacedMax = 16;

/** Takes the place of the last byte that was used. In a text, it ends a line as well. */
const mark = 13;

/** Follows a file, from which at most `bytesMax` are read at once. */
export function followFile(path: string, bytesMax: number): FollowedFile {
  const files: OpenFile[] = [];
  openNewest();

  /** Opens the file that is there now; creates it if there is none. */
  function openNewest(): void {
    if (files.length > replacedMax) return;
    if (statSync(path, { throwIfNoEntry: false }) === undefined) writeFileSync(path, '', { mode: 0o600, flag: 'wx' });
    if (statSync(path).isFile()) files.push({ descriptor: openSync(path, 'r+'), used: 0 });
  }

  function isReplaced(): boolean {
    const newest = files.at(-1);
    const here = statSync(path, { throwIfNoEntry: false });
    if (newest === undefined || here === undefined) return true;
    const { ino, dev } = fstatSync(newest.descriptor);
    return here.ino !== ino || here.dev !== dev;
  }

  return {
    read(take) {
      let isChanged = isReplaced();
      if (isChanged) {
        try {
          openNewest();
        } catch {
          // The folder is gone, or cannot be written: the files that are open are read.
        }
      }
      for (const file of files) {
        const { descriptor } = file;
        const { size } = fstatSync(descriptor);
        if (size < file.used || (file.used > 0 && readBytes(descriptor, file.used - 1, 1)[0] !== mark)) {
          isChanged = true;
          file.used = 0;
        }
        const used = take(readBytes(descriptor, file.used, Math.min(size - file.used, bytesMax)));
        file.used += used;
        if (used > 0) writeSync(descriptor, Buffer.of(mark), 0, 1, file.used - 1);
      }
      return isChanged;
    },
    close() {
      for (const { descriptor } of files.splice(0)) closeSync(descriptor);
    },
  };
}

function readBytes(descriptor: number, from: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  return bytes.subarray(0, readSync(descriptor, bytes, 0, length, from));
}
