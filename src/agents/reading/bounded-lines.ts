/**
 * Splits bytes into lines with bounded memory: incomplete lines are kept, lines that are too long are skipped and
 * counted.
 */

import { StringDecoder } from 'node:string_decoder';
import { agentLineMax } from '../../core/limits.ts';

/** Splits pieces of output into lines of bounded length. */
export interface BoundedLines {
  /** Adds a chunk and emits each complete line. */
  write(chunk: Uint8Array | string): void;
  /** Emits the last line, which may have no line break. */
  end(): void;
  /** The number of skipped lines, and their length in characters. */
  readonly skipped: number;
  readonly skippedLength: number;
}

/** Receives lines, and reports of lines that were too long. */
export interface LineListener {
  line(line: string): void;
  /** Called for a skipped line, with its first characters and its length. */
  skipped?(head: string, length: number): void;
}

const headLength = 4_096;

/** Creates a splitter. Invalid UTF-8 becomes replacement characters. */
export function boundedLines(listener: LineListener, lengthMax = agentLineMax): BoundedLines {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  /** The first characters of the line that is being skipped, and its length so far. */
  let head: string | undefined;
  let length = 0;
  let skipped = 0;
  let skippedLength = 0;

  function finishLine(line: string): void {
    if (head !== undefined || line.length > lengthMax) {
      head ??= line.slice(0, headLength);
      length += line.length;
      skipped++;
      skippedLength += length;
      listener.skipped?.(head, length);
      head = undefined;
      length = 0;
    } else listener.line(line.endsWith('\r') ? line.slice(0, -1) : line);
  }

  function splitText(text: string): void {
    let at = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', at)) {
      const line = text.slice(at, end);
      at = end + 1;
      if (rest === '') finishLine(line);
      else {
        const whole = rest + line;
        rest = '';
        finishLine(whole);
      }
    }
    if (at === text.length) return;
    const tail = at === 0 ? text : text.slice(at);
    if (head !== undefined) {
      length += tail.length;
      return;
    }
    rest += tail;
    if (rest.length <= lengthMax) return;
    head = rest.slice(0, headLength);
    length = rest.length;
    rest = '';
  }

  return {
    write: (chunk) => splitText(typeof chunk === 'string' ? chunk : decoder.write(chunk as Buffer)),
    end() {
      splitText(decoder.end());
      if (rest === '' && head === undefined) return;
      const line = rest;
      rest = '';
      finishLine(line);
    },
    get skipped() {
      return skipped;
    },
    get skippedLength() {
      return skippedLength;
    },
  };
}
