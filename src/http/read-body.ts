/** Reads the body of a request, up to a bound. */

import type { IncomingMessage } from 'node:http';
import { HttpError } from './http-error.ts';

/** Reads the whole body; throws an error with status 413 as soon as it is longer than `bytesMax`. */
export function readBody(
  request: IncomingMessage,
  bytesMax: number,
  onPart?: (bytes: number) => void,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (Number(request.headers['content-length'] ?? 0) > bytesMax) throw tooLargeError(bytesMax);
    const parts: Buffer[] = [];
    let size = 0;
    const take = (part: Buffer) => {
      size += part.length;
      try {
        if (size > bytesMax) throw tooLargeError(bytesMax);
        onPart?.(part.length);
        parts.push(part);
      } catch (error) {
        request.off('data', take).pause();
        parts.length = 0;
        reject(error);
      }
    };
    request.on('data', take);
    request.on('end', () => {
      resolve(parts.length === 1 ? parts[0]! : Buffer.concat(parts));
      parts.length = 0; // The request keeps its listeners until its answer has ended.
    });
    request.on('error', reject);
    const leave = () => request.readableEnded || reject(new Error('the client left before its request was complete'));
    if (request.destroyed) leave();
    else request.on('close', leave);
  });
}

function tooLargeError(bytesMax: number): HttpError {
  return new HttpError(413, 'too_large', `the body of a request must have at most ${bytesMax} bytes`);
}
