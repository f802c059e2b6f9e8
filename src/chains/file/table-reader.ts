/** Reads one table of a chain file: checks keys and types, and collects problems instead of throwing. */

import { formatChoices } from '../../core/declare/check-value.ts';
import { chainNameMax, chainTextMax } from '../../core/limits.ts';
import type { Path } from '../../core/names.ts';
import { findNearestName } from '../../core/names.ts';
import { describeValue, reservedNames } from '../../core/plain-copy.ts';
import type { SourcePosition } from '../../document/parsed-document.ts';
import type { ListNode, SourceNode, TableEntry, TableNode } from '../../document/plain-tree.ts';
import { makeProblem, type Problem } from './problem.ts';

/** A value with the path to it. */
export interface LocatedNode {
  readonly node: SourceNode;
  readonly path: Path;
  /** The position of the key, else of the value. */
  readonly position: SourcePosition;
}

/** Reads the keys of one table. */
export interface TableReader {
  readonly source: LocatedNode;
  /** The value of a key, if present. */
  find(name: string): LocatedNode | undefined;
  /** The text of a key; undefined if the key is absent or its value is a problem. */
  text(name: string, max?: number): string | undefined;
  /** A text that is a valid name; with `isKey` a name without dots, since a dot is a path into a value. */
  name(name: string, isKey?: boolean): string | undefined;
  boolean(name: string): boolean | undefined;
  list(name: string, max: number): readonly LocatedNode[] | undefined;
  table(name: string, knownKeys: readonly string[]): TableReader | undefined;
  /** Reads a value that must be one of the listed words. */
  choice<T extends string>(name: string, choices: Readonly<Record<string, T>>): T | undefined;
  addProblem(name: string | undefined, what: string): undefined;
}

/** Valid names of chains and steps, and of parameters and outputs: in a key, a dot would be a path into its value. */
export const namePattern = '^[\\p{L}\\p{N}_][\\p{L}\\p{N}_.-]*$';
export const keyPattern = '^[\\p{L}\\p{N}_][\\p{L}\\p{N}_-]*$';
const nameRegExp = new RegExp(namePattern, 'u');
const keyRegExp = new RegExp(keyPattern, 'u');

/** Opens a table. Unknown keys and missing required keys are problems. */
export function readTable(
  problems: Problem[],
  source: LocatedNode,
  knownKeys: readonly string[],
  requiredKeys: readonly string[] = [],
): TableReader | undefined {
  const { node, path, position } = source;
  if (node.kind === 'invalid') return undefined;
  if (node.kind !== 'table') {
    problems.push(makeProblem(position, path, `must be a table, got ${describeNode(node)}`));
    return undefined;
  }
  for (const [key, { line, column }] of node.entries) {
    if (knownKeys.includes(key)) continue;
    const near = findNearestName(key, knownKeys);
    const hint = near === undefined ? `; it may have ${formatChoices(knownKeys)}` : `; did you mean ${near}?`;
    problems.push(makeProblem({ line, column }, [...path, key], `is not known here${hint}`));
  }
  for (const key of requiredKeys) {
    if (!node.entries.has(key))
      problems.push(makeProblem(position, path, `${path.length > 0 ? '' : 'the chain '}needs ${key}`));
  }
  return tableReader(problems, source, node.entries);
}

function tableReader(problems: Problem[], source: LocatedNode, entries: ReadonlyMap<string, TableEntry>): TableReader {
  const find = (name: string): LocatedNode | undefined => {
    const entry = entries.get(name);
    return entry && { node: entry.value, path: [...source.path, name], position: entry };
  };
  const addProblem = (name: string | undefined, what: string): undefined => {
    const { position, path } = (name === undefined ? undefined : find(name)) ?? source;
    problems.push(makeProblem(position, path, what));
  };
  const addTypeProblem = (name: string, { node }: LocatedNode, expected: string): undefined => {
    if (node.kind !== 'invalid') addProblem(name, `must be ${expected}, got ${describeNode(node)}`);
  };
  const text = (name: string, max = chainTextMax): string | undefined => {
    const found = find(name);
    if (found === undefined) return undefined;
    const { node } = found;
    if (node.kind !== 'value' || typeof node.value !== 'string' || node.value.trim() === '')
      return addTypeProblem(name, found, 'a text');
    if (node.value.length > max)
      return addProblem(name, `must have at most ${max} characters, got ${node.value.length}`);
    return node.value;
  };
  return {
    source,
    find,
    text,
    addProblem,
    name(name, isKey = false) {
      const value = text(name, chainNameMax);
      const fits =
        value !== undefined && (isKey ? keyRegExp : nameRegExp).test(value) && !reservedNames.includes(value);
      if (value === undefined || fits) return value;
      return addProblem(
        name,
        `must be letters, digits and ${isKey ? '_ -' : '_ - .'}, not starting with - or ., got ${describeValue(value)}`,
      );
    },
    boolean(name) {
      const found = find(name);
      if (found === undefined) return undefined;
      const { node } = found;
      return node.kind === 'value' && typeof node.value === 'boolean'
        ? node.value
        : addTypeProblem(name, found, 'true or false');
    },
    list(name, max) {
      const found = find(name);
      if (found === undefined) return undefined;
      if (found.node.kind !== 'list') return addTypeProblem(name, found, 'a list');
      if (found.node.items.length > max)
        return addProblem(name, `must have at most ${max} items, got ${found.node.items.length}`);
      return listItems(found.node, found.path);
    },
    table(name, knownKeys) {
      const found = find(name);
      return found && readTable(problems, found, knownKeys);
    },
    choice(name, choices) {
      const value = text(name);
      if (value === undefined) return undefined;
      if (Object.hasOwn(choices, value)) return choices[value];
      return addProblem(name, `must be ${formatChoices(Object.keys(choices))}, got ${describeValue(value)}`);
    },
  };
}

/** The items of a list, each with its path. */
export function listItems(list: ListNode, path: Path): readonly LocatedNode[] {
  return list.items.map((node, index) => ({ node, path: [...path, index], position: node }));
}

/** The keys of a table, each with its path. */
export function listFields(table: TableNode, path: Path): readonly (LocatedNode & { readonly name: string })[] {
  return [...table.entries].map(([name, entry]) => {
    return { name, node: entry.value, path: [...path, name], position: entry };
  });
}

/** Formats a value for a message. */
export function describeNode(node: SourceNode): string {
  if (node.kind === 'table') return 'a table';
  if (node.kind === 'list') return node.items.length > 0 ? `a list of ${node.items.length}` : 'an empty list';
  return node.kind === 'value' && node.value !== null ? describeValue(node.value) : 'nothing';
}
