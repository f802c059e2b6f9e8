/** Reads the bodies of requests to models, within bounds, and what they say. */

import type { IncomingMessage } from 'node:http';
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib';
import { HttpError } from '../http/http-error.ts';
import { readBody } from '../http/read-body.ts';
import { heldRequestBytesMax, modelRequestBytesMax } from './limits.ts';
import { asFields, type Fields } from './shapes/shape.ts';

/** The body of a request. */
export interface RequestBody {
  /** The bytes, as they came. */
  readonly body: Buffer;
  /** The bytes without their encoding; the same ones if they have none. */
  readonly plain: Buffer;
  readonly fields: Fields;
  /** Says that the bytes are no longer held. */
  release(): void;
}

type Decode = (body: Buffer, options: { readonly maxOutputLength: number }) => Buffer;

const decoders: Readonly<Record<string, Decode | undefined>> = {
  gzip: gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync as Decode | undefined, // Absent in Node before 22.15.
};

/** Creates a reader that holds a bounded number of bytes at once. */
export function createBodyReader(): (request: IncomingMessage) => Promise<RequestBody> {
  let heldBytes = 0;
  return async (request) => {
    let ownBytes = 0;
    const release = () => {
      heldBytes -= ownBytes;
      ownBytes = 0;
    };
    const hold = (bytes: number) => {
      if (heldBytes + bytes > heldRequestBytesMax)
        throw new HttpError(503, 'too_busy', 'the gateway holds too many large requests: try again in a moment', 1);
      heldBytes += bytes;
      ownBytes += bytes;
    };
    try {
      const body = await readBody(request, modelRequestBytesMax, hold);
      const plain = decodeBody(body, request.headers['content-encoding']);
      if (plain !== body) hold(plain.length);
      return { body, plain, fields: parseBody(plain), release };
    } catch (error) {
      release();
      throw error;
    }
  };
}

function decodeBody(body: Buffer, encoding = 'identity'): Buffer {
  const name = encoding.toLowerCase();
  if (name === 'identity') return body;
  const decode = Object.hasOwn(decoders, name) ? decoders[name] : undefined;
  if (decode === undefined)
    throw new HttpError(415, 'content_encoding', `the gateway cannot read a body encoded as ${encoding}`);
  try {
    return decode(body, { maxOutputLength: modelRequestBytesMax });
  } catch {
    throw invalidBodyError();
  }
}

/** A body that the gateway cannot read is refused: the upstream might read it, and spend. */
function parseBody(body: Buffer): Fields {
  try {
    return asFields(JSON.parse(body.toString()));
  } catch {
    throw invalidBodyError();
  }
}

function invalidBodyError(): HttpError {
  return new HttpError(400, 'invalid_json', 'the body of a request to a model must be JSON');
}
