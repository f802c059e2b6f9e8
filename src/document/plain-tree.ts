/** Reads YAML, JSON and values of a program strictly: plain data alone, as a tree with the positions of its values. */

import { isAlias, isCollection, isMap, isScalar, isSeq, type Node, type Scalar } from 'yaml';
import { quoteLengthMax, reasonLengthMax } from '../core/limits.ts';
import { type Path, shorten } from '../core/names.ts';
import { isPlainObject, reservedNames } from '../core/plain-copy.ts';
import { findJsonProblem } from './parse-json.ts';
import { describeThrown, locateYaml } from './parse-yaml.ts';
import type { FindPosition, SourcePosition, SyntaxProblem } from './parsed-document.ts';

/** A value of the document; `invalid` = its problem is reported already. */
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

/** How much a document may hold. */
export interface TreeLimits {
  readonly valuesMax: number;
  readonly depthMax: number;
  readonly textMax: number;
}

/** A problem of a document: its place, the path to it, and the end of a sentence about it. */
export interface TreeProblem {
  readonly position: SourcePosition;
  readonly path: Path;
  readonly detail: string;
}

/** A document as a tree; without a tree there is at least one problem. */
export interface PlainDocument {
  readonly tree?: SourceNode;
  readonly positionOf: FindPosition;
  readonly problems: readonly TreeProblem[];
}

const start: SourcePosition = { line: 1, column: 1 };

/** Reads the tree of a text. Never throws. */
export function readPlainDocument(text: string, format: 'YAML' | 'JSON', limits: TreeLimits): PlainDocument {
  try {
    const problem = format === 'JSON' ? findJsonProblem(text) : undefined;
    return problem === undefined ? readYamlTree(text, limits) : makeUnreadable(format, [problem]);
  } catch (error) {
    return makeUnreadable(format, [describeThrown(error)]);
  }
}

function makeUnreadable(format: string, problems: readonly SyntaxProblem[]): PlainDocument {
  const treeProblems = problems.map(({ message, position = start }) => {
    return { position, path: [], detail: `no valid ${format}: ${shorten(message, reasonLengthMax)}` };
  });
  return { positionOf: () => undefined, problems: treeProblems };
}

function readYamlTree(text: string, limits: TreeLimits): PlainDocument {
  // The tree finds repeated keys by itself, in linear time.
  const { document, problems: syntaxProblems, positionOf, positionAt } = locateYaml(text);
  if (syntaxProblems.length > 0) return makeUnreadable('YAML', syntaxProblems);
  if (document.directives?.yaml.explicit === true) {
    const problem = { position: start, path: [], detail: 'the file has a %YAML directive: leave it out' };
    return { positionOf, problems: [problem] };
  }
  const problems: TreeProblem[] = [];
  const tree = buildTree(document.contents, positionAt, limits, problems);
  return { tree, positionOf, problems };
}

/** Makes the tree; anchors, aliases, tags and numbers that lose digits are problems. */
function buildTree(
  root: Node | null,
  positionAt: (offset: number) => SourcePosition,
  { valuesMax, depthMax, textMax }: TreeLimits,
  problems: TreeProblem[],
): SourceNode {
  let remaining = valuesMax;
  const positionOf = (node: unknown, fallback: SourcePosition): SourcePosition => {
    const offset = (node as Node | null)?.range?.[0];
    return offset === undefined ? fallback : positionAt(offset);
  };
  const buildNode = (node: unknown, path: Path, fallback: SourcePosition): SourceNode => {
    const position = positionOf(node, fallback);
    const makeInvalid = (what: string): SourceNode => {
      problems.push({ position, path, detail: what });
      return { kind: 'invalid', ...position };
    };
    if (remaining-- === 0) problems.push({ position, path: [], detail: `the file has more than ${valuesMax} values` });
    if (remaining < 0) return { kind: 'invalid', ...position };
    if (node === null || node === undefined) return { kind: 'value', ...position, value: null };
    if (isAlias(node)) return makeInvalid('is an alias: write the value itself');
    const { anchor, tag } = node as { readonly anchor?: string; readonly tag?: string };
    if (anchor !== undefined) return makeInvalid('has an anchor: leave it out');
    if (tag !== undefined) return makeInvalid('has a tag: leave it out');
    if (isCollection(node) && path.length > depthMax) return makeInvalid(`is deeper than ${depthMax} levels`);
    if (isSeq(node))
      return { kind: 'list', ...position, items: node.items.map((item, i) => buildNode(item, [...path, i], position)) };
    if (isMap(node)) {
      const entries = new Map<string, TableEntry>();
      for (const { key, value } of node.items) {
        const keyPosition = positionOf(key, position);
        const name = isScalar(key) ? key.value : key;
        const bad = checkKey(key, name, entries, textMax);
        if (bad !== undefined) problems.push({ position: keyPosition, path, detail: bad });
        else
          entries.set(name as string, {
            ...keyPosition,
            value: buildNode(value, [...path, name as string], keyPosition),
          });
      }
      return { kind: 'table', ...position, entries };
    }
    const value = isScalar(node) ? node.value : undefined;
    if (typeof value === 'number' && Number.isFinite(value) && losesDigits(value, (node as Scalar).source ?? ''))
      return makeInvalid(`would be read as ${value}: put it in quotes`);
    const bad = checkScalar(value, textMax);
    return bad === undefined ? { kind: 'value', ...position, value: value as ScalarNode['value'] } : makeInvalid(bad);
  };
  return buildNode(root, [], start);
}

/**
 * Makes the tree of a value of a program, within the limits of a file. Every position is the start of a file; a key
 * that is undefined is absent. Never throws.
 */
export function readPlainValue(
  root: unknown,
  { valuesMax, depthMax, textMax }: TreeLimits,
): Required<Omit<PlainDocument, 'positionOf'>> {
  const problems: TreeProblem[] = [];
  let remaining = valuesMax;
  const makeInvalid = (path: Path, detail: string): SourceNode => {
    problems.push({ position: start, path, detail });
    return { kind: 'invalid', ...start };
  };
  const buildNode = (value: unknown, path: Path): SourceNode => {
    if (remaining-- === 0) return makeInvalid([], `there are more than ${valuesMax} values`);
    if (remaining < 0) return { kind: 'invalid', ...start };
    if (typeof value !== 'object' || value === null) {
      const bad = checkScalar(value, textMax);
      if (bad !== undefined) return makeInvalid(path, bad);
      return { kind: 'value', ...start, value: value as ScalarNode['value'] };
    }
    if (path.length > depthMax) return makeInvalid(path, `is deeper than ${depthMax} levels`);
    if (Array.isArray(value))
      return { kind: 'list', ...start, items: Array.from(value, (item, index) => buildNode(item, [...path, index])) };
    if (!isPlainObject(value))
      return makeInvalid(path, 'must be a text, a number, true, false, null, a list or a table');
    const entries = new Map<string, TableEntry>();
    for (const [name, inner] of Object.entries(value)) {
      const bad = checkKeyName(name, textMax);
      if (bad !== undefined) problems.push({ position: start, path, detail: bad });
      else if (inner !== undefined) entries.set(name, { ...start, value: buildNode(inner, [...path, name]) });
    }
    return { kind: 'table', ...start, entries };
  };
  try {
    return { tree: buildNode(root, []), problems };
  } catch {
    return { tree: makeInvalid([], 'cannot be read'), problems };
  }
}

/** Why a value is no scalar of a tree, as the end of a sentence. */
function checkScalar(value: unknown, textMax: number): string | undefined {
  if (typeof value === 'string')
    return value.length > textMax ? `must have at most ${textMax} characters, got ${value.length}` : undefined;
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : `must be a finite number, got ${value}`;
  return typeof value === 'boolean' || value === null
    ? undefined
    : 'must be a text, a number, true, false, null, a list or a table';
}

/** Account numbers and codes are no numbers: zeros before them and digits beyond the sixteenth would be lost. */
function losesDigits(value: number, source: string): boolean {
  return /^[-+]?0[\dxo]/.test(source) || (/^[-+]?\d+$/.test(source) && !Number.isSafeInteger(value));
}

function checkKey(
  node: unknown,
  name: unknown,
  entries: ReadonlyMap<string, TableEntry>,
  textMax: number,
): string | undefined {
  if (isAlias(node) || (node as (Node & { anchor?: string }) | null)?.anchor !== undefined)
    return 'has a key with an anchor or alias: write it out';
  if (typeof name !== 'string') return 'has a key that is not text: put the key, or {{…}}, in quotes';
  const before = entries.get(name);
  return checkKeyName(name, textMax) ?? (before && `has the key ${quoteKey(name)} twice, first in line ${before.line}`);
}

function checkKeyName(name: string, textMax: number): string | undefined {
  if (name.length > textMax) return `has a key of ${name.length} characters`;
  return reservedNames.includes(name) ? `has the key ${quoteKey(name)}, which is reserved` : undefined;
}

function quoteKey(name: string): string {
  return JSON.stringify(shorten(name, quoteLengthMax));
}

/** Converts a tree to plain data; the names of a prototype are problems of the tree, so no table has them. */
export function toPlainData(node: SourceNode): unknown {
  switch (node.kind) {
    case 'value':
      return node.value;
    case 'list':
      return node.items.map(toPlainData);
    case 'table':
      return Object.fromEntries([...node.entries].map(([name, { value }]) => [name, toPlainData(value)]));
    case 'invalid':
      return null;
  }
}
