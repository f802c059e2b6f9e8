/**
 * The messages of a client by HTTP, as the input of a proxy for lines. Messages that come in one turn of the event loop
 * are handed over together, so that the server gets them by one write, and the store is looked at once.
 */

import { EventEmitter } from 'node:events';
import { joinedBytesMax } from '../limits.ts';
import type { ClientInput } from '../stdio-proxy.ts';

export class LineInput implements ClientInput {
  readonly #events = new EventEmitter();
  #lines: Buffer[] = [];
  #bytes = 0;
  #isPaused = false;
  #isScheduled = false;
  #isEnding = false;

  on(event: 'data', read: (chunk: Buffer) => void): void {
    this.#events.on(event, read);
  }

  once(event: 'end' | 'error', run: () => void): void {
    this.#events.once(event, run);
  }

  removeAllListeners(event: 'data'): void {
    this.#events.removeAllListeners(event);
  }

  /** Bytes that were not handed over. */
  get heldBytes(): number {
    return this.#bytes;
  }

  write(line: Buffer): void {
    this.#lines.push(line);
    this.#bytes += line.length;
    this.#schedule();
  }

  end(): void {
    this.#isEnding = true;
    this.#schedule();
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isPaused) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#handOver();
    });
  }

  #handOver(): void {
    while (!this.#isPaused && this.#lines.length > 0) {
      const chunk = this.#takeChunk();
      this.#bytes -= chunk.length;
      this.#events.emit('data', chunk);
    }
    if (!this.#isEnding || this.#isPaused) return;
    this.#isEnding = false;
    this.#events.emit('end');
  }

  /** The next line, with those after it that are short. */
  #takeChunk(): Buffer {
    let count = 0;
    let bytes = 0;
    for (const { length } of this.#lines) {
      bytes += length;
      if (bytes > joinedBytesMax && count > 0) break;
      count++;
    }
    const lines = this.#lines.splice(0, count);
    return lines.length === 1 ? lines[0]! : Buffer.concat(lines);
  }
}
