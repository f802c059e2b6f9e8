/**
 * Follows a growing file: reads on from the last position, in bounded pieces, also if the file is replaced or
 * truncated.
 */

import { closeSync, readSync } from 'node:fs';
import { tailBytesMax } from '../../core/limits.ts';
import { openRegularFile } from '../../platform/regular-file.ts';
import { boundedLines } from './bounded-lines.ts';

/** Reads a growing file piece by piece. */
export interface FileTail {
  /** Reads new bytes, up to a bound, and emits each line. Returns false if the file cannot be read. */
  poll(): boolean;
}

/** Options of `fileTail`. */
export interface FileTailOptions {
  /**
   * Starts at the end of the file and skips existing content.
   * @default false
   */
  readonly atEnd?: boolean;
  /**
   * The first byte to read.
   * @default 0
   */
  readonly from?: number;
}

const chunkBytes = 65_536;
/** One buffer for all tails: each piece is processed before the next read. */
let chunk: Buffer | undefined;

/** Creates a tail of a file: reads what was appended since the last poll. */
export function fileTail(
  path: string,
  line: (line: string) => void,
  { atEnd = false, from = 0 }: FileTailOptions = {},
): FileTail {
  let offset = from;
  let inode: number | undefined;
  let lines = boundedLines({ line });

  /** Restarts from the beginning if the file was replaced or truncated. */
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
        return false; // The file was removed during the read; the next poll handles it.
      } finally {
        closeSync(file);
      }
    },
  };
}
