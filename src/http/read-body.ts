/** Reads the body of a request, up to a bound. */

import type { IncomingMessage } from 'node:http';
import { HttpError } from './http-error.ts';

/** Reads the whole body; throws an error with status 413 as soon as it is longer than `bytesMax`. */
export async function readBody(
  request: IncomingMessage,
  bytesMax: number,
  onPart?: (bytes: number) => void,
): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) throw tooLargeError(bytesMax);
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > bytesMax) throw tooLargeError(bytesMax);
    onPart?.(part.length);
    parts.push(part);
  }
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
}

function tooLargeError(bytesMax: number): HttpError {
  return new HttpError(413, 'too_large', `the body of a request must have at most ${bytesMax} bytes`);
}
