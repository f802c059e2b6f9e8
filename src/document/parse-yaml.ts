/** Parses YAML with a library that keeps positions; JSON and strict readers use the same positions. */

import {
  type Document,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  visit,
  type YAMLError,
  type YAMLMap,
} from 'yaml';
import { documentAliasesMax } from '../core/limits.ts';
import type { Path } from '../core/names.ts';
import type { FindPosition, ParsedDocument, SourcePosition, SyntaxProblem } from './parsed-document.ts';

/** A parsed text: the nodes of the library, and where they stand. */
export interface LocatedYaml {
  readonly document: Document.Parsed;
  /** Errors before warnings, one per line: a single mistake can make the parser report several. */
  readonly problems: readonly (SyntaxProblem & { readonly position: SourcePosition; readonly code: string })[];
  readonly positionOf: FindPosition;
  positionAt(offset: number): SourcePosition;
}

/** Parses a YAML document: one document, known tags, unique keys, few aliases. */
export function parseYaml(text: string): ParsedDocument {
  try {
    const { document, problems, positionOf, positionAt } = locateYaml(text);
    const problem = problems[0] ?? findRepeatedKey(document, positionAt);
    if (problem !== undefined) return { ok: false, problem };
    return { ok: true, value: document.toJS({ maxAliasCount: documentAliasesMax }), positionOf };
  } catch (error) {
    return { ok: false, problem: describeThrown(error) };
  }
}

/** Parses a text without reading its values. The library would find repeated keys in quadratic time. */
export function locateYaml(text: string): LocatedYaml {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
  const positionAt = (offset: number): SourcePosition => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const reportedLines = new Set<number>();
  const problems = [...document.errors, ...document.warnings].flatMap((error) => {
    const position = positionAt(error.pos[0]);
    if (reportedLines.has(position.line)) return [];
    reportedLines.add(position.line);
    return [{ code: error.code, message: describeYamlError(error), position, cause: error }];
  });
  return { document, problems, positionAt, positionOf: (path) => findPosition(document, positionAt, path) };
}

/** Finds the first key that its table has twice. */
export function findRepeatedKey(
  document: Document.Parsed,
  positionAt: (offset: number) => SourcePosition,
): (SyntaxProblem & { readonly position: SourcePosition }) | undefined {
  let found: Node | undefined;
  visit(document, {
    Map(_, { items }) {
      const names = new Set<unknown>();
      for (const { key } of items) {
        const name = isScalar(key) ? key.value : key;
        if (names.has(name)) {
          found = key as Node;
          return visit.BREAK;
        }
        names.add(name);
      }
      return undefined;
    },
  });
  if (found === undefined) return undefined;
  const message = 'Map keys must be unique';
  return { message, position: positionAt(found.range?.[0] ?? 0), cause: new SyntaxError(message) };
}

/** Describes an error that the library throws. */
export function describeThrown(error: unknown): SyntaxProblem {
  return { message: describeYamlError({ message: error instanceof Error ? error.message : '' }), cause: error };
}

function describeYamlError({ code, message }: Pick<YAMLError, 'message'> & Partial<YAMLError>): string {
  if (message.startsWith('Maximum call stack')) return 'it is nested too deeply'; // The library recurses.
  if (message.endsWith('quote')) return 'a text in quotes has no end';
  if (code === 'TAB_AS_INDENT') return 'a tab stands where YAML wants spaces';
  if (code === 'MULTIPLE_DOCS') return 'a second document begins here: a file holds one document';
  return message || 'reading it failed';
}

function findPosition(
  document: Document.Parsed,
  positionAt: (offset: number) => SourcePosition,
  path: Path,
): SourcePosition | undefined {
  let node: unknown = document.contents;
  let position: SourcePosition | undefined;
  for (const part of path) {
    let located: unknown;
    if (isMap(node)) {
      const pair = indexItems(node).get(part);
      located = pair?.key;
      node = pair?.value;
    } else if (isSeq(node) && typeof part === 'number') {
      located = node.items[part];
      node = located;
    }
    const start = (located as Node | undefined)?.range?.[0];
    if (start === undefined) return position;
    position = positionAt(start);
  }
  return position;
}

const itemsByName = new WeakMap<YAMLMap, ReadonlyMap<unknown, Pair>>();

/** The first item of each name: a table with many keys is searched for each of them. */
function indexItems(table: YAMLMap): ReadonlyMap<unknown, Pair> {
  let index = itemsByName.get(table);
  if (index === undefined) {
    const named = table.items.map((item) => [isScalar(item.key) ? String(item.key.value) : item.key, item] as const);
    index = new Map(named.toReversed());
    itemsByName.set(table, index);
  }
  return index;
}
