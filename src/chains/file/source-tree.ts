/** A chain file as a tree of plain values that know where they stand; JSON is read by the parser of YAML, too. */

import {
  isAlias,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type Scalar,
} from 'yaml';
import {
  chainBytesMax,
  chainDepthMax,
  chainTextMax,
  chainValuesMax,
  quoteLengthMax,
  reasonLengthMax,
} from '../../core/limits.ts';
import { shorten } from '../../core/names.ts';
import { reservedNames } from '../../core/plain-copy.ts';
import type { Path } from '../../policy/check/report.ts';
import { findJsonProblem } from './json-errors.ts';
import { makeProblem, type Problem, type SourcePosition } from './problem.ts';

/** A value of the file; `wrong` = a problem was told already. */
export type SourceNode = TableNode | ListNode | ScalarNode | (SourcePosition & { readonly kind: 'invalid' });

export interface TableNode extends SourcePosition {
  readonly kind: 'table';
  readonly entries: ReadonlyMap<string, TableEntry>;
}

/** A value under a key; the place is the key's. */
export interface TableEntry extends SourcePosition {
  readonly value: SourceNode;
}

export interface ListNode extends SourcePosition {
  readonly kind: 'list';
  readonly items: readonly SourceNode[];
}

export interface ScalarNode extends SourcePosition {
  readonly kind: 'value';
  readonly value: string | number | boolean | null;
}

const start: SourcePosition = { line: 1, column: 1 };

/** Reads a file. Without a tree there is at least one problem; never throws. */
export function readTree(text: string, isJson: boolean, problems: Problem[]): SourceNode | undefined {
  try {
    const problem = checkSize(text) ?? (isJson ? findJsonProblem(text) : undefined);
    if (problem === undefined) return parseYaml(text, problems);
    problems.push(problem);
    return undefined;
  } catch (error) {
    // The parser recurses; what it cannot hold is too deep.
    const isTooDeep = error instanceof RangeError;
    problems.push(
      makeProblem(start, [], isTooDeep ? 'the file is nested too deeply' : 'the file cannot be read as YAML'),
    );
    return undefined;
  }
}

function parseYaml(text: string, problems: Problem[]): SourceNode | undefined {
  const lines = new LineCounter();
  // Keys that stand twice are found by the walk below: the parser compares each with all.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
  const positionAt = (offset: number): SourcePosition => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const reportedLines = new Set<number>();
  for (const { code, message, pos } of [...document.errors, ...document.warnings]) {
    const position = positionAt(pos[0]);
    if (reportedLines.has(position.line)) continue; // One slip makes the parser stumble several times.
    reportedLines.add(position.line);
    const sentence = message.endsWith('quote') ? 'a text in quotes has no end' : parserMessages[code];
    problems.push(makeProblem(position, [], sentence ?? `no valid YAML: ${shorten(message, reasonLengthMax)}`));
  }
  if (document.directives?.yaml.explicit === true)
    problems.push(makeProblem(start, [], 'the file has a %YAML directive: leave it out'));
  if (problems.length > 0) return undefined;
  if (document.contents === null || (isScalar(document.contents) && document.contents.value === null)) {
    problems.push(makeProblem(start, [], 'the file is empty: a chain has at least an id and steps'));
    return undefined;
  }
  return buildTree(document.contents as Node, positionAt, problems);
}

const parserMessages: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: 'a tab stands where YAML wants spaces',
  MULTIPLE_DOCS: 'a second document begins here: a file holds one chain',
};

/** Makes the tree, and finds what is not plain data. */
function buildTree(root: Node, positionAt: (offset: number) => SourcePosition, problems: Problem[]): SourceNode {
  let remaining = chainValuesMax;
  const positionOf = (node: unknown, fallback: SourcePosition): SourcePosition => {
    const offset = (node as Node | null)?.range?.[0];
    return offset === undefined ? fallback : positionAt(offset);
  };
  const buildNode = (node: unknown, path: Path, fallback: SourcePosition): SourceNode => {
    const position = positionOf(node, fallback);
    const makeInvalid = (what: string): SourceNode => {
      problems.push(makeProblem(position, path, what));
      return { kind: 'invalid', ...position };
    };
    if (remaining-- === 0) problems.push(makeProblem(position, [], `the file has more than ${chainValuesMax} values`));
    if (remaining < 0) return { kind: 'invalid', ...position };
    if (node === null || node === undefined) return { kind: 'value', ...position, value: null };
    if (isAlias(node)) return makeInvalid('is an alias: write the value itself');
    const { anchor, tag } = node as { readonly anchor?: string; readonly tag?: string };
    if (anchor !== undefined) return makeInvalid('has an anchor: leave it out');
    if (tag !== undefined) return makeInvalid('has a tag: leave it out');
    if (isCollection(node) && path.length > chainDepthMax) return makeInvalid(`is deeper than ${chainDepthMax} levels`);
    if (isSeq(node))
      return { kind: 'list', ...position, items: node.items.map((item, i) => buildNode(item, [...path, i], position)) };
    if (isMap(node)) {
      const entries = new Map<string, TableEntry>();
      for (const { key, value } of node.items) {
        const keyPosition = positionOf(key, position);
        const name = isScalar(key) ? key.value : key;
        const bad = checkKey(key, name, entries);
        if (bad !== undefined) problems.push(makeProblem(keyPosition, path, bad));
        else
          entries.set(name as string, {
            ...keyPosition,
            value: buildNode(value, [...path, name as string], keyPosition),
          });
      }
      return { kind: 'table', ...position, entries };
    }
    const value = isScalar(node) ? node.value : undefined;
    if (typeof value === 'string' && value.length > chainTextMax)
      return makeInvalid(`must have at most ${chainTextMax} characters, got ${value.length}`);
    if (typeof value === 'number') {
      if (!Number.isFinite(value)) return makeInvalid(`must be a finite number, got ${value}`);
      if (losesDigits(value, (node as Scalar).source ?? ''))
        return makeInvalid(`would be read as ${value}: put it in quotes`);
    }
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' || value === null)
      return { kind: 'value', ...position, value };
    return makeInvalid('is no plain value');
  };
  return buildNode(root, [], start);
}

/** Account numbers and codes are no numbers: zeros before them and digits beyond the sixteenth would be lost. */
function losesDigits(value: number, source: string): boolean {
  return /^[-+]?0[\dxo]/.test(source) || (/^[-+]?\d+$/.test(source) && !Number.isSafeInteger(value));
}

function checkKey(node: unknown, name: unknown, entries: ReadonlyMap<string, TableEntry>): string | undefined {
  if (isAlias(node) || (node as (Node & { anchor?: string }) | null)?.anchor !== undefined)
    return 'has a key with an anchor or alias: write it out';
  if (typeof name !== 'string') return 'has a key that is no text: put it, or {{…}}, in quotes';
  if (name.length > chainTextMax) return `has a key of ${name.length} characters`;
  const quotedName = JSON.stringify(shorten(name, quoteLengthMax));
  if (reservedNames.includes(name)) return `has the key ${quotedName}, which no chain may use`;
  const before = entries.get(name);
  return before && `has the key ${quotedName} twice, first in line ${before.line}`;
}

function checkSize(text: string): Problem | undefined {
  if (typeof text !== 'string') return makeProblem(start, [], 'the file must be a text');
  const bytes = Buffer.byteLength(text);
  if (bytes <= chainBytesMax) return undefined;
  const position = { line: findLongestLine(text), column: 1 };
  return makeProblem(position, [], `the file has ${bytes} bytes, at most ${chainBytesMax}; its longest line is here`);
}

function findLongestLine(text: string): number {
  let longest = -1;
  let line = 1;
  let found = 1;
  for (let from = 0; from <= text.length; line++) {
    const end = text.indexOf('\n', from);
    const length = (end < 0 ? text.length : end) - from;
    if (length > longest) {
      longest = length;
      found = line;
    }
    if (end < 0) break;
    from = end + 1;
  }
  return found;
}
