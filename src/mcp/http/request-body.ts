/** Reads the bodies of requests of clients. The bytes of long bodies that are held at once are bounded. */

import type { IncomingMessage } from 'node:http';
import { HttpError } from '../../http/http-error.ts';
import { collectGarbage, collectParts } from '../../platform/memory.ts';
import { systemClock } from '../../platform/system-clock.ts';
import {
  bodiesBytesMax,
  bodiesWaitingMax,
  bodyWaitMs,
  callBytesMax,
  collectBytes,
  shortBodyBytesMax,
} from '../limits.ts';

/** Long bodies wait for their turn unread, so that the client sends no more than the system buffers. */
export class BodyBudget {
  #used = 0;
  /** Bytes of bodies since garbage was collected. */
  #passed = 0;
  readonly #waiting: { readonly bytes: number; readonly start: () => void }[] = [];

  /** Resolves when a body of this length may be read, with a function that gives its bytes back. */
  async reserve(bytes: number): Promise<() => void> {
    if (this.#used > 0 && this.#used + bytes > bodiesBytesMax) await this.#wait(bytes);
    else this.#used += bytes;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#passed += bytes;
      // In the next turn nothing refers to the message any more.
      setImmediate(() => {
        if (this.#passed >= collectBytes) this.#collect();
        this.#used -= bytes;
        this.#startNext();
      });
    };
  }

  #collect(): void {
    this.#passed = 0;
    collectGarbage();
  }

  #wait(bytes: number): Promise<void> {
    if (this.#waiting.length >= bodiesWaitingMax) throw busyError();
    return new Promise((resolve, reject) => {
      const waiting = {
        bytes,
        start: () => {
          cancel();
          this.#used += bytes;
          resolve();
        },
      };
      const cancel = systemClock.after(bodyWaitMs, () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(busyError());
      });
      this.#waiting.push(waiting);
    });
  }

  #startNext(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (this.#used > 0 && this.#used + next.bytes > bodiesBytesMax) return;
      this.#waiting.shift();
      next.start();
    }
  }
}

/** The bytes that a body may have, by its declared length; a body without a length counts as a long one. */
export function readDeclaredLength({ headers }: IncomingMessage): number {
  const length = Number(headers['content-length'] ?? callBytesMax);
  if (length > callBytesMax) throw tooLargeError();
  return length;
}

/** Whether a body is too short to be counted. */
export function isShortBody(bytes: number): boolean {
  return bytes <= shortBodyBytesMax;
}

/**
 * Reads a whole body; rejects with status 413 as soon as it is too long. The request stays readable then, so that it
 * can be answered. The body is the beginning of a buffer with one byte more, for a line break.
 */
export function readRequestBody(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const { headers } = request;
    const isDeclared = headers['content-length'] !== undefined;
    let bytes = Buffer.allocUnsafe(isDeclared ? Number(headers['content-length']) + 1 : shortBodyBytesMax);
    let size = 0;
    const read = (part: Buffer) => {
      if (size + part.length > callBytesMax) {
        bytes = noBytes;
        request.off('data', read);
        reject(tooLargeError());
        return;
      }
      if (size + part.length >= bytes.length) bytes = Buffer.concat([bytes], 2 * (size + part.length));
      part.copy(bytes, size);
      size += part.length;
      collectParts(part.length);
    };
    request.on('data', read);
    request.once('end', () => {
      resolve(bytes.subarray(0, size));
      bytes = noBytes; // The connection refers to its last request until the next one.
    });
    request.once('close', () => {
      if (!request.complete) reject(new HttpError(400, 'incomplete', 'the request broke off'));
    });
    request.on('error', reject);
  });
}

const noBytes = Buffer.alloc(0);
const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** Makes a body that was read into one line, in place: line breaks between its tokens become spaces. */
export function endLine(body: Buffer): Buffer {
  const line = Buffer.from(body.buffer, body.byteOffset, body.length + 1);
  for (const byte of [lineFeed, carriageReturn])
    for (let at = body.indexOf(byte); at !== -1; at = body.indexOf(byte, at + 1)) line[at] = 0x20;
  line[body.length] = lineFeed;
  return line;
}

function busyError(): HttpError {
  return new HttpError(503, 'busy', 'too many long messages are read at once', 1);
}

function tooLargeError(): HttpError {
  return new HttpError(413, 'too_large', `the body of a request must have at most ${callBytesMax} bytes`);
}
