/** Finds the key of a request, wherever its API carries it, and the record of a key of the gateway. */

import type { IncomingMessage } from 'node:http';
import { HttpError } from '../../http/http-error.ts';
import { listKeyParameters } from './key-places.ts';
import { type KeyBook, type KeyRecord, keyPrefix } from './key-records.ts';

/**
 * The record of the key of a request; undefined if the request has no key of the gateway and needs none, or if the
 * gateway has no keys, as that of a run. Throws for a key that is unknown or missing, and for several different keys,
 * of which another server could read another one.
 */
export function findClientKey(
  book: KeyBook | undefined,
  request: IncomingMessage,
  needsKey: boolean,
): KeyRecord | undefined {
  if (book === undefined && !needsKey) return undefined;
  const texts = [...new Set(listClientKeys(request))];
  const own = texts.find((text) => text.includes(keyPrefix));
  if (own === undefined) {
    if (!needsKey && book?.hasAny() !== true) return undefined;
    throw new HttpError(401, 'key_missing', 'this gateway needs a key of its own: switchgear gateway key add NAME');
  }
  if (texts.length > 1) throw new HttpError(401, 'several_keys', 'the request has several different keys: send one');
  const record = own.startsWith(keyPrefix) ? book?.find(own) : undefined;
  if (record === undefined) throw new HttpError(401, 'key_unknown', 'this gateway does not know the key');
  return record;
}

function listClientKeys({ headers, url = '' }: IncomingMessage): readonly string[] {
  const { authorization } = headers;
  const bearer = authorization === undefined ? undefined : authorization.replace(/^bearer[ \t]+/i, '');
  const given = [bearer, headers['x-api-key'], headers['x-goog-api-key'], headers['api-key']];
  const texts = given.filter((each) => each !== undefined).map((each) => String(each).trim());
  return url.includes('?') ? [...texts, ...listKeyParameters(url).map((each) => each.trim())] : texts;
}
