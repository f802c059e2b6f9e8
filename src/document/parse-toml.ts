/** Parses TOML: a library parses the values, a small scanner finds the positions of keys and tables. */

import { parse, TomlError } from 'smol-toml';
import { createPositionMap, type ParsedDocument, type PositionMap, type SyntaxProblem } from './parsed-document.ts';

/** Parts of a key with a position of their own; a deeper part has the position of these. */
const locatedPartsMax = 16;

/** Parses a TOML document. */
export function parseToml(text: string): ParsedDocument {
  try {
    return { ok: true, value: parse(text), positionOf: mapTomlPositions(text).positionOf };
  } catch (error) {
    return { ok: false, problem: describeTomlError(error) };
  }
}

/** The library writes a sentence, and below it the lines around the error. */
function describeTomlError(error: unknown): SyntaxProblem {
  const text = error instanceof Error ? error.message : 'reading it failed';
  const message = text.split('\n')[0]!.replace(/^Invalid TOML document: /, '');
  if (!(error instanceof TomlError)) return { message, cause: error };
  return { message, position: { line: error.line, column: error.column }, cause: error };
}

/** Maps keys and tables of a valid document to positions. A dotted key has one position, as has an inline table. */
function mapTomlPositions(text: string): PositionMap {
  const positions = createPositionMap();
  const items = new Map<string, number>();
  let tablePath: readonly (string | number)[] = [];
  let line = 1;
  let at = 0;
  while (at < text.length) {
    const end = findStatementEnd(text, at);
    const statement = text.slice(at, end).trim();
    const start = { line, column: text.slice(at, end).search(/\S|$/) + 1 };
    for (let i = at; i < end; i++) if (text[i] === '\n') line++;
    at = end + 1;
    line++;
    const header = /^(\[\[?)([^\]]+)\]/.exec(statement);
    if (header) {
      const keys = parseKeys(header[2]!).slice(0, locatedPartsMax);
      const name = JSON.stringify(keys);
      if (header[1] === '[[') {
        items.set(name, (items.get(name) ?? -1) + 1);
        positions.add(keys, start);
      }
      tablePath = items.has(name) ? [...keys, items.get(name)!] : keys;
      positions.add(tablePath, start);
    } else if (statement && !statement.startsWith('#')) {
      const keys = parseKeys(statement);
      for (let length = 1; length <= Math.min(keys.length, locatedPartsMax); length++)
        positions.add([...tablePath, ...keys.slice(0, length)], start);
    }
  }
  return positions;
}

/** Finds the end of a statement, past the line breaks inside lists and multi-line strings. */
function findStatementEnd(text: string, from: number): number {
  let depth = 0;
  let at = from;
  while (at < text.length) {
    const long = text.startsWith('"""', at) ? '"""' : text.startsWith("'''", at) ? "'''" : undefined;
    const char = text[at]!;
    if (long) {
      const end = text.indexOf(long, at + 3);
      at = end < 0 ? text.length : end + 3;
    } else if (char === '"' || char === "'") {
      at++;
      while (at < text.length && text[at] !== char) at += char === '"' && text[at] === '\\' ? 2 : 1;
      at++;
    } else if (char === '#') {
      const end = text.indexOf('\n', at);
      at = end < 0 ? text.length : end;
    } else if (char === '\n' && depth <= 0) {
      return at;
    } else {
      if (char === '[' || char === '{') depth++;
      if (char === ']' || char === '}') depth--;
      at++;
    }
  }
  return text.length;
}

/** Parses the parts of a dotted key, up to the equals sign. */
function parseKeys(text: string): string[] {
  const keys: string[] = [];
  const part = /\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([\w-]+))\s*(\.?)/y;
  for (let match = part.exec(text); match; match = part.exec(text)) {
    keys.push(match[1] ?? match[2] ?? match[3] ?? '');
    if (!match[4]) break;
  }
  return keys;
}
