/**
 * Passes the lines of a stream on, byte for byte and in order. A reader sees each line and may drop or replace it. A
 * line that is too long to be held is read while it passes.
 */

import type { Writable } from 'node:stream';
import { type Envelope, EnvelopeScanner } from './envelope.ts';

/** What becomes of a line: it passes unchanged, it does not pass, or other bytes pass in its place. */
export type LineVerdict = 'pass' | 'drop' | Buffer;

/** Reads the lines of one direction. */
export interface LineReader {
  /** Whether lines are read at all now; else they pass unread. */
  readonly isReading: boolean;
  /** The most bytes of a line that are held. */
  readonly bytesMax: number;
  /** Decides on a line, which ends with its line break, unless the stream ended before. */
  readLine(line: Buffer): LineVerdict;
  /** Decides on a line that is longer than `bytesMax`, by its beginning. */
  readLongLine(envelope: Envelope): 'pass' | 'drop';
  /** Whether a long line that has passed so far may go on; false cuts it, so that it is no message any more. */
  mayGoOn(envelope: Envelope): boolean;
  /** Called at the end of a long line. */
  endLongLine(envelope: Envelope, verdict: 'pass' | 'drop'): void;
}

/** A line in the middle of which the stream is. */
interface LongLine {
  /** Absent if the line passes unread. */
  readonly envelope?: EnvelopeScanner;
  verdict: 'pass' | 'drop';
  isCut: boolean;
}

const lineBreak = 0x0a;
const lineBreakBytes = Buffer.from('\n');

export class LineRelay {
  /** Where the lines go; another one after a restart. */
  sink: Writable;
  readonly #reader: LineReader;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #long: LongLine | undefined;
  /** Own lines that wait for the end of a line that is passing. */
  #waiting: Buffer[] = [];
  #isPushing = false;
  /** Whether the stream ended in a line without a line break. */
  #lacksBreak = false;

  constructor(sink: Writable, reader: LineReader) {
    this.sink = sink;
    this.#reader = reader;
  }

  /** Whether the sink takes no more for now. */
  get isFull(): boolean {
    return this.sink.writableNeedDrain;
  }

  /** Takes the next bytes of the stream. */
  push(chunk: Buffer): void {
    this.#isPushing = true;
    let at = 0;
    /** The beginning of the bytes that pass and are not written yet. */
    let from = 0;
    const flush = (to: number) => {
      if (to > from) this.sink.write(from === 0 && to === chunk.length ? chunk : chunk.subarray(from, to));
    };
    while (at < chunk.length) {
      if (this.#long === undefined && this.#heldBytes === 0 && !this.#reader.isReading) {
        // Nothing in this chunk is read, since only a line could change that.
        if (chunk[chunk.length - 1] !== lineBreak) this.#long = { verdict: 'pass', isCut: false };
        at = chunk.length;
        break;
      }
      const found = chunk.indexOf(lineBreak, at);
      const end = found === -1 ? chunk.length : found + 1;
      if (this.#long !== undefined) {
        const passes = this.#passPart(this.#long, chunk.subarray(at, end));
        if (!passes) {
          flush(at);
          from = end;
        }
        if (found !== -1) this.#endLong(this.#long);
      } else if (found === -1) {
        flush(at);
        from = end;
        this.#hold(chunk.subarray(at, end));
      } else {
        const isWhole = this.#heldBytes === 0;
        const part = at === 0 && end === chunk.length ? chunk : chunk.subarray(at, end);
        const line = isWhole ? part : this.#takeHeld(part);
        const verdict = this.#reader.readLine(line);
        if (!isWhole || verdict !== 'pass') {
          flush(at);
          from = end;
          if (verdict === 'pass') this.sink.write(line);
          else if (verdict !== 'drop') this.sink.write(verdict);
        }
      }
      at = end;
    }
    flush(at);
    this.#isPushing = false;
    this.#writeWaiting();
  }

  /** Writes an own line between two lines of the stream. */
  inject(line: Buffer): void {
    this.#waiting.push(line);
    if (!this.#isPushing) this.#writeWaiting();
  }

  /** Ends the stream. A line without a line break is read like any other. */
  end(): void {
    if (this.#heldBytes > 0) {
      const line = this.#takeHeld();
      const verdict = this.#reader.readLine(line);
      if (verdict === 'pass') this.sink.write(line);
      else if (verdict !== 'drop') this.sink.write(verdict);
      this.#lacksBreak = verdict === 'pass';
    }
    if (this.#long !== undefined) this.#endLong(this.#long);
    this.#writeWaiting();
  }

  /** Forgets a line whose stream broke off; a part that has passed is ended. */
  breakOff(): void {
    this.#held = [];
    this.#heldBytes = 0;
    if (this.#long !== undefined) {
      if (this.#long.verdict === 'pass') this.sink.write(lineBreakBytes);
      this.#long = undefined;
    }
    this.#writeWaiting();
  }

  #hold(part: Buffer): void {
    this.#held.push(part);
    this.#heldBytes += part.length;
    if (this.#heldBytes <= this.#reader.bytesMax) return;
    const envelope = new EnvelopeScanner();
    for (const each of this.#held) envelope.scan(each);
    const verdict = this.#reader.readLongLine(envelope);
    this.#long = { envelope, verdict, isCut: false };
    if (verdict === 'pass') for (const each of this.#held) this.sink.write(each);
    this.#held = [];
    this.#heldBytes = 0;
  }

  #takeHeld(last?: Buffer): Buffer {
    const line = Buffer.concat(last === undefined ? this.#held : [...this.#held, last]);
    this.#held = [];
    this.#heldBytes = 0;
    return line;
  }

  /** Reads a part of a long line; returns whether it passes. */
  #passPart(long: LongLine, part: Buffer): boolean {
    if (long.envelope === undefined) return true;
    long.envelope.scan(part);
    if (long.verdict === 'drop') return false;
    // Half a message and a line break are no message to any reader.
    long.isCut ||= !this.#reader.mayGoOn(long.envelope);
    return !long.isCut;
  }

  #endLong(long: LongLine): void {
    this.#long = undefined;
    if (long.isCut) this.sink.write(lineBreakBytes);
    if (long.envelope !== undefined) this.#reader.endLongLine(long.envelope, long.isCut ? 'drop' : long.verdict);
  }

  #writeWaiting(): void {
    if (this.#long?.verdict === 'pass' || this.#waiting.length === 0) return;
    if (this.#lacksBreak) this.sink.write(lineBreakBytes);
    this.#lacksBreak = false;
    for (const line of this.#waiting.splice(0)) this.sink.write(line);
  }
}
