/** Parses YAML with a library that keeps positions; JSON and strict readers use the same positions. */

import { type Document, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, type YAMLError } from 'yaml';
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
    const { document, problems, positionOf } = locateYaml(text);
    const problem = problems[0];
    if (problem !== undefined) return { ok: false, problem };
    return { ok: true, value: document.toJS({ maxAliasCount: documentAliasesMax }), positionOf };
  } catch (error) {
    return { ok: false, problem: describeThrown(error) };
  }
}

/** Parses a text without reading its values. The library compares each key with all others to find repeated ones. */
export function locateYaml(text: string, uniqueKeys = true): LocatedYaml {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys });
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
      const pair = node.items.find(({ key }) => (isScalar(key) ? String(key.value) : key) === part);
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
