/** Opens the body of an answer to be read while it passes: decoded, if the upstream compressed it all the same. */

import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

const decoders: Readonly<Record<string, () => NodeJS.ReadWriteStream>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

export interface AnswerBody {
  readonly source: Readable;
  /** Whether the bytes are not those that came. */
  readonly isDecoded: boolean;
}

export function openAnswer(answer: IncomingMessage): AnswerBody {
  const decoder = decoders[(answer.headers['content-encoding'] ?? '').toLowerCase()]?.();
  if (decoder === undefined) return { source: answer, isDecoded: false };
  answer.on('error', (error) => decoder.emit('error', error));
  answer.pipe(decoder);
  return { source: decoder as unknown as Readable, isDecoded: true };
}
