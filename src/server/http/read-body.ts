/** Reads the JSON body of a request, up to its bound. */

import type { IncomingMessage } from 'node:http';
import { HttpError } from './http-error.ts';
import { requestBytesMax } from './limits.ts';

/** Reads and parses the body; an empty body is an empty object. */
export async function readJsonBody(request: IncomingMessage): Promise<unknown> {
  if (Number(request.headers['content-length'] ?? 0) > requestBytesMax) throw tooLargeError();
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > requestBytesMax) throw tooLargeError();
    parts.push(part);
  }
  const text = Buffer.concat(parts).toString('utf8');
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new HttpError(400, 'invalid_json', 'the body of the request is not JSON');
  }
}

function tooLargeError(): HttpError {
  return new HttpError(413, 'too_large', `the body of a request must have at most ${requestBytesMax} bytes`);
}
