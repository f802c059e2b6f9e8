/** Splits a stream into lines that are held as a whole, up to a bound. */

import { EnvelopeScanner } from './envelope.ts';

export class LineSplitter {
  readonly #bytesMax: number;
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** Reads the members of a line that is too long to be held. */
  #tooLong: EnvelopeScanner | undefined;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes of the line that is not complete. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Takes the next bytes; gives the lines that they end, without line breaks, and the members of those too long. */
  *push(chunk: Buffer): Generator<Buffer | EnvelopeScanner> {
    for (let at = 0; at < chunk.length; ) {
      const found = chunk.indexOf(0x0a, at);
      const end = found === -1 ? chunk.length : found;
      const part = chunk.subarray(at, end);
      at = end + 1;
      if (found !== -1 && this.#heldBytes === 0) {
        yield part;
        continue;
      }
      this.#hold(part);
      if (found === -1) break;
      const line = this.#tooLong ?? Buffer.concat(this.#held);
      this.#held = [];
      this.#heldBytes = 0;
      this.#tooLong = undefined;
      yield line;
    }
  }

  #hold(part: Buffer): void {
    this.#heldBytes += part.length;
    if (this.#tooLong === undefined) this.#held.push(part);
    if (this.#heldBytes <= this.#bytesMax) return;
    const parts = this.#tooLong === undefined ? this.#held : [part];
    this.#tooLong ??= new EnvelopeScanner();
    for (const each of parts) this.#tooLong.scan(each);
    this.#held = [];
  }
}
