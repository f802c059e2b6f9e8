/** Reads the text of a document from a file. */

import { closeSync, constants, fstatSync, openSync, readFileSync, readSync } from 'node:fs';

/** Reads a file; throws an error with a reason where it is larger than `readMax` bytes or not UTF-8. */
export function readUtf8(path: string, bytesMax: number, readMax: number = bytesMax): string {
  const bytes = inheritedFile.test(path) ? readFileSync(path) : readRegularFile(path, bytesMax, readMax);
  if (bytes.length > readMax) throw new Error(`the file has ${bytes.length} bytes, at most ${bytesMax}`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new Error('the file is not UTF-8', { cause: error });
  }
}

/** A pipe that whoever typed the path has opened, as `<(…)` of a shell does. */
const inheritedFile = /^\/(dev\/(stdin|fd\/\d+)|proc\/self\/fd\/\d+)$/;

/** Reads a regular file: a pipe could block for ever, and a device might never end. */
function readRegularFile(path: string, bytesMax: number, readMax: number): Uint8Array {
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)); // Windows has no such flag.
  try {
    const stat = fstatSync(file);
    if (!stat.isFile() && !stat.isDirectory()) throw new Error('it is no regular file');
    if (stat.size > readMax) throw new Error(`the file has ${stat.size} bytes, at most ${bytesMax}`);
    // Files of the system have the size 0 and content, and some of them have no end.
    const bytes = new Uint8Array(readMax + 1);
    let length = 0;
    for (let read = 1; read > 0 && length < bytes.length; length += read) {
      read = readSync(file, bytes, length, bytes.length - length, null);
    }
    return bytes.subarray(0, length);
  } finally {
    closeSync(file);
  }
}
