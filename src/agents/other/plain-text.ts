/**
 * Reads plain text: every line is a sign of life, and each paragraph is compared with earlier ones. Lines that are
 * printed over and over, with or without blank lines between them, are texts once no healthy program repeats so often.
 */

import { plainWordsMin, textLengthMax } from '../../core/limits.ts';
import type { AgentEvent } from '../reading/agent-event.ts';
import { heartbeatOnly, noEvents, type Reader } from '../reading/reader.ts';

/**
 * Equal blocks of lines in a row from which they count as repeated text. Shells and warnings of workers print a line of
 * eight and more different words up to some twenty times; short lines are progress messages.
 */
const plainRepeats = { ofWords: 30, ofFewWords: 1_000 } as const;
/** Lines of plain text among which a repeated one is found. */
const plainBlockLinesMax = 200;

/** Creates a reader of plain text output. */
export function plainTextReader(): Reader {
  const blocks = trackRepeatedBlocks();
  let paragraph = '';

  function close(): readonly AgentEvent[] {
    const text = paragraph;
    paragraph = '';
    // Short texts are progress messages: `ok`, `done`, `step 3`.
    if (blocks.isRepeating || text.split(/\s+/, plainWordsMin).length < plainWordsMin) return noEvents;
    return [{ type: 'assistant', text }];
  }

  return {
    read(line) {
      if (line.trim() === '') return close();
      if (paragraph.length + line.length < textLengthMax) paragraph += paragraph === '' ? line : `\n${line}`;
      const repeated = blocks.add(line);
      return repeated === undefined ? heartbeatOnly : [{ type: 'assistant', text: repeated }];
    },
    end: close,
  };
}

interface RepeatedBlocks {
  /** Adds a line. Returns the block of lines that ends with it, if the block was printed too often in a row. */
  add(line: string): string | undefined;
  /** Whether the last lines are such a block. */
  readonly isRepeating: boolean;
}

/** Counts equal blocks of lines in a row, whatever was printed before them and however their lines repeat inside. */
function trackRepeatedBlocks(): RepeatedBlocks {
  const recent: string[] = [];
  /** For each number of lines: how many of the last lines equal the line that many lines before. */
  const matches = new Uint32Array(plainBlockLinesMax + 1);
  let isRepeating = false;

  return {
    add(line) {
      const text = line.trim().slice(0, comparedLengthMax);
      /** The length of the shortest repeated block; a longer one repeats the same words. */
      let shortest = 0;
      for (let size = recent.length; size > 0; size--) {
        matches[size] = recent[recent.length - size] === text ? matches[size]! + 1 : 0;
        if (matches[size]! >= size * (plainRepeats.ofWords - 1)) shortest = size;
      }
      if (recent.push(text) > plainBlockLinesMax) recent.shift();
      if (shortest === 0) isRepeating = false;
      if (shortest === 0 || matches[shortest]! % shortest !== 0) return undefined;
      const block = recent.slice(-shortest).join('\n');
      isRepeating = 1 + matches[shortest]! / shortest >= findRepeatsMax(block);
      return isRepeating ? block : undefined;
    },
    get isRepeating() {
      return isRepeating;
    },
  };
}

/** Characters of a line that are compared. */
const comparedLengthMax = 1_000;

/**
 * How often a block may be printed in a row. Progress bars, dots and tables of numbers have no words, and may repeat
 * without end.
 */
function findRepeatsMax(block: string): number {
  const words = new Set(block.toLowerCase().match(/\p{L}{2,}/gu));
  if (words.size === 0) return Number.POSITIVE_INFINITY;
  return words.size < plainWordsMin ? plainRepeats.ofFewWords : plainRepeats.ofWords;
}
