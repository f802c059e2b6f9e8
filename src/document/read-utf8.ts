/** Reads the text of a document from a file. */

import { readFileSync, statSync } from 'node:fs';

/** Reads a file; throws an error with a reason where it is larger than `readMax` bytes or not UTF-8. */
export function readUtf8(path: string, bytesMax: number, readMax: number = bytesMax): string {
  const { size } = statSync(path);
  if (size > readMax) throw new Error(`the file has ${size} bytes, at most ${bytesMax}`);
  const bytes = readFileSync(path);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new Error('the file is not UTF-8', { cause: error });
  }
}
