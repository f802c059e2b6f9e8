/** Follows a file as somebody writes it: from where the last look ended, bounded, whatever happens to the file. */

import { closeSync, readSync } from 'node:fs';
import { tailBytesMax } from '../../core/limits.ts';
import { boundedLines } from './bounded-lines.ts';
import { openRegularFile } from './regular-file.ts';

/** Reads a growing file piece by piece. */
export interface FileTail {
  /** Reads what is new, up to a bound, and says each line. False where the file is not there or cannot be read. */
  poll(): boolean;
}

/** Options of `fileTail`. */
export interface FileTailOptions {
  /** Begins at the end: what is there already was told before. */
  readonly atEnd?: boolean;
}

const chunkBytes = 65_536;
/** One for all: what is read is taken apart before anybody reads more. */
let chunk: Buffer | undefined;

/** Creates a tail of a file: reads what was appended since the last poll. */
export function fileTail(
  path: string,
  line: (line: string) => void,
  { atEnd = false }: FileTailOptions = {},
): FileTail {
  let offset = 0;
  let inode: number | undefined;
  let lines = boundedLines({ line });

  /** Another file of the same name, or one that was cut, is read from its beginning. */
  function restartIfReplaced(size: number, currentInode: number): void {
    if (inode === undefined && atEnd) offset = size;
    else if (inode !== undefined && (currentInode !== inode || size < offset)) {
      offset = 0;
      lines = boundedLines({ line });
    }
    inode = currentInode;
  }

  return {
    poll() {
      const opened = openRegularFile(path);
      if (opened === undefined) return false;
      const { file, size, inode: currentInode } = opened;
      try {
        chunk ??= Buffer.allocUnsafe(chunkBytes);
        restartIfReplaced(size, currentInode);
        for (let read = 0; read < tailBytesMax; ) {
          const bytesRead = readSync(file, chunk, 0, chunkBytes, offset);
          if (bytesRead === 0) break;
          offset += bytesRead;
          read += bytesRead;
          lines.write(chunk.subarray(0, bytesRead));
        }
        return true;
      } catch {
        return false; // It went away while it was read: the next look finds out.
      } finally {
        closeSync(file);
      }
    },
  };
}
