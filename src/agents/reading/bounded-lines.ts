/** Bytes into lines, with bounded memory: half lines wait, a line that is too long is left out and counted. */

import { StringDecoder } from 'node:string_decoder';
import { agentLineMax } from '../../core/limits.ts';

/** Splits pieces of output into lines of bounded length. */
export interface BoundedLines {
  /** Takes what came, and says each line that it completes. */
  write(chunk: Uint8Array | string): void;
  /** The last line may have no end of its own. */
  end(): void;
  /** Lines that were too long, and what they had in characters. */
  readonly skipped: number;
  readonly skippedLength: number;
}

/** Receives lines, and is told of lines that were too long. */
export interface LineListener {
  line(line: string): void;
  /** A line was left out; its first characters are here, and how many there were. */
  skipped?(head: string, length: number): void;
}

const headLength = 4_096;

/** Bytes that are no UTF-8 become the character for that, and disturb nothing else. */
export function boundedLines(listener: LineListener, lengthMax = agentLineMax): BoundedLines {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  /** What a line that is being left out began with, and how long it is by now. */
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
