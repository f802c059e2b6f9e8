/** Reads the JSON body of a request, up to its bound. */

import type { IncomingMessage } from 'node:http';
import { HttpError } from '../../http/http-error.ts';
import { readBody } from '../../http/read-body.ts';
import { requestBytesMax } from './limits.ts';

/** Reads and parses the body; an empty body is an empty object. */
export async function readJsonBody(request: IncomingMessage): Promise<unknown> {
  const text = (await readBody(request, requestBytesMax)).toString('utf8');
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new HttpError(400, 'invalid_json', 'the body of the request is not JSON');
  }
}
