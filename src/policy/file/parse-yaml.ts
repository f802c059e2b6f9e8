/** Parses YAML and JSON with one parser that keeps positions; JSON must also be strict JSON. */

import { type Document, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import { policyAliasesMax } from '../../core/limits.ts';
import type { Path } from '../check/report.ts';
import { makeParseError, type ParsedDocument } from './parsed-document.ts';

/** Parses a YAML document: one document, known tags, unique keys, few aliases. */
export function parseYaml(text: string, file: string): ParsedDocument {
  const lines = new LineCounter();
  try {
    const document = parseDocument(text, { lineCounter: lines });
    const problem = document.errors[0] ?? document.warnings[0];
    if (problem) throw makeParseError(file, 'YAML', problem, problem.linePos?.[0].line);
    return {
      value: document.toJS({ maxAliasCount: policyAliasesMax }),
      lineOf: (path) => findLine(document, lines, path),
    };
  } catch (error) {
    throw toPolicyError(file, 'YAML', error);
  }
}

/** Parses a JSON document with unique keys. */
export function parseStrictJson(text: string, file: string): ParsedDocument {
  const lines = new LineCounter();
  try {
    const value: unknown = JSON.parse(text);
    const document = parseDocument(text, { lineCounter: lines });
    const duplicate = document.errors.find(({ code }) => code === 'DUPLICATE_KEY');
    if (duplicate) throw makeParseError(file, 'JSON', duplicate, duplicate.linePos?.[0].line);
    return { value, lineOf: (path) => findLine(document, lines, path) };
  } catch (error) {
    throw toPolicyError(file, 'JSON', error);
  }
}

function toPolicyError(file: string, format: string, error: unknown): Error {
  return error instanceof Error && 'code' in error && error.code === 'invalid_policy'
    ? error
    : makeParseError(file, format, error);
}

function findLine(document: Document, lines: LineCounter, path: Path): number | undefined {
  let node: unknown = document.contents;
  let line: number | undefined;
  for (const part of path) {
    let located: unknown;
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => (isScalar(key) ? String(key.value) : key) === part);
      located = pair?.key;
      node = pair?.value;
    } else if (isSeq(node) && typeof part === 'number') {
      located = node.items[part];
      node = located;
    }
    const start = (located as Node | undefined)?.range?.[0];
    if (start === undefined) return line;
    line = lines.linePos(start).line;
  }
  return line;
}
