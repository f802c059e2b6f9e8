/** The result of every policy file parser: the values, and their lines. */

import { SwitchgearError } from '../../core/error.ts';
import type { Path } from '../check/report.ts';

/** The values of a document, and their lines. */
export interface ParsedDocument {
  readonly value: unknown;
  /** The line of a key, or of its nearest ancestor with a known line. */
  readonly lineOf: (path: Path) => number | undefined;
}

/** Lines by path. */
export interface LineMap {
  readonly add: (path: Path, line: number) => void;
  readonly lineOf: (path: Path) => number | undefined;
}

/** Creates an empty map of lines; the first line added for a path stays. */
export function createLineMap(): LineMap {
  const lines = new Map<string, number>();
  return {
    add(path, line) {
      const key = JSON.stringify(path);
      if (!lines.has(key)) lines.set(key, line);
    },
    lineOf(path) {
      for (let length = path.length; length > 0; length--) {
        const line = lines.get(JSON.stringify(path.slice(0, length)));
        if (line !== undefined) return line;
      }
      return undefined;
    },
  };
}

/** Creates the error for a file with invalid syntax, with the parser's first sentence. */
export function makeParseError(file: string, format: string, error: unknown, line?: number): SwitchgearError {
  const text = error instanceof Error ? error.message : 'reading it failed';
  const lineNumber = line ?? /\(line (\d+) column/.exec(text)?.[1];
  const sentence = text
    .split('\n')[0]!
    .replace(/^Invalid TOML document: /, '')
    .replace(/( at line \d+, column \d+)?:?$/, '')
    .replace(/ in JSON at position .*$/, '');
  const location = lineNumber === undefined ? file : `${file}, line ${lineNumber}`;
  return new SwitchgearError('invalid_policy', `the policy is no valid ${format}: ${sentence} (${location})`, {
    cause: error,
  });
}
