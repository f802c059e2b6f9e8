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
import { shortened } from '../../core/names.ts';
import { reservedNames } from '../../core/plain-copy.ts';
import type { Path } from '../../policy/check/report.ts';
import { jsonProblem } from './json-errors.ts';
import { type Place, type Problem, problemAt } from './problem.ts';

/** A value of the file; `wrong` = a problem was told already. */
export type Written = WrittenTable | WrittenList | WrittenValue | (Place & { readonly kind: 'wrong' });

export interface WrittenTable extends Place {
  readonly kind: 'table';
  readonly entries: ReadonlyMap<string, WrittenEntry>;
}

/** A value under a key; the place is the key's. */
export interface WrittenEntry extends Place {
  readonly value: Written;
}

export interface WrittenList extends Place {
  readonly kind: 'list';
  readonly items: readonly Written[];
}

export interface WrittenValue extends Place {
  readonly kind: 'value';
  readonly value: string | number | boolean | null;
}

const start: Place = { line: 1, column: 1 };

/** Reads a file. Without a tree there is at least one problem; never throws. */
export function readTree(text: string, isJson: boolean, problems: Problem[]): Written | undefined {
  try {
    const problem = sizeProblem(text) ?? (isJson ? jsonProblem(text) : undefined);
    if (problem === undefined) return parse(text, problems);
    problems.push(problem);
    return undefined;
  } catch (error) {
    // The parser recurses; what it cannot hold is too deep.
    const deep = error instanceof RangeError;
    problems.push(problemAt(start, [], deep ? 'the file is nested too deeply' : 'the file cannot be read as YAML'));
    return undefined;
  }
}

function parse(text: string, problems: Problem[]): Written | undefined {
  const lines = new LineCounter();
  // Keys that stand twice are found by the walk below: the parser compares each with all.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const told = new Set<number>();
  for (const { code, message, pos } of [...document.errors, ...document.warnings]) {
    const place = placeAt(pos[0]);
    if (told.has(place.line)) continue; // One slip makes the parser stumble several times.
    told.add(place.line);
    const words = message.endsWith('quote') ? 'a text in quotes has no end' : wordsOf[code];
    problems.push(problemAt(place, [], words ?? `no valid YAML: ${shortened(message, reasonLengthMax)}`));
  }
  if (document.directives?.yaml.explicit === true)
    problems.push(problemAt(start, [], 'the file has a %YAML directive: leave it out'));
  if (problems.length > 0) return undefined;
  if (document.contents === null || (isScalar(document.contents) && document.contents.value === null)) {
    problems.push(problemAt(start, [], 'the file is empty: a chain has at least an id and steps'));
    return undefined;
  }
  return walk(document.contents as Node, placeAt, problems);
}

const wordsOf: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: 'a tab stands where YAML wants spaces',
  MULTIPLE_DOCS: 'a second document begins here: a file holds one chain',
};

/** Makes the tree, and finds what is not plain data. */
function walk(root: Node, placeAt: (offset: number) => Place, problems: Problem[]): Written {
  let left = chainValuesMax;
  const placeOf = (node: unknown, near: Place): Place => {
    const offset = (node as Node | null)?.range?.[0];
    return offset === undefined ? near : placeAt(offset);
  };
  const at = (node: unknown, path: Path, near: Place): Written => {
    const place = placeOf(node, near);
    const wrong = (what: string): Written => {
      problems.push(problemAt(place, path, what));
      return { kind: 'wrong', ...place };
    };
    if (left-- === 0) problems.push(problemAt(place, [], `the file has more than ${chainValuesMax} values`));
    if (left < 0) return { kind: 'wrong', ...place };
    if (node === null || node === undefined) return { kind: 'value', ...place, value: null };
    if (isAlias(node)) return wrong('is an alias: write the value itself');
    const { anchor, tag } = node as { readonly anchor?: string; readonly tag?: string };
    if (anchor !== undefined) return wrong('has an anchor: leave it out');
    if (tag !== undefined) return wrong('has a tag: leave it out');
    if (isCollection(node) && path.length > chainDepthMax) return wrong(`is deeper than ${chainDepthMax} levels`);
    if (isSeq(node))
      return { kind: 'list', ...place, items: node.items.map((item, i) => at(item, [...path, i], place)) };
    if (isMap(node)) {
      const entries = new Map<string, WrittenEntry>();
      for (const { key, value } of node.items) {
        const keyPlace = placeOf(key, place);
        const name = isScalar(key) ? key.value : key;
        const bad = keyProblem(key, name, entries);
        if (bad !== undefined) problems.push(problemAt(keyPlace, path, bad));
        else entries.set(name as string, { ...keyPlace, value: at(value, [...path, name as string], keyPlace) });
      }
      return { kind: 'table', ...place, entries };
    }
    const value = isScalar(node) ? node.value : undefined;
    if (typeof value === 'string' && value.length > chainTextMax)
      return wrong(`must have at most ${chainTextMax} characters, got ${value.length}`);
    if (typeof value === 'number') {
      if (!Number.isFinite(value)) return wrong(`must be a finite number, got ${value}`);
      if (isChanged(value, (node as Scalar).source ?? '')) return wrong(`would be read as ${value}: put it in quotes`);
    }
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' || value === null)
      return { kind: 'value', ...place, value };
    return wrong('is no plain value');
  };
  return at(root, [], start);
}

/** Account numbers and codes are no numbers: zeros before them and digits beyond the sixteenth would be lost. */
function isChanged(value: number, source: string): boolean {
  return /^[-+]?0[\dxo]/.test(source) || (/^[-+]?\d+$/.test(source) && !Number.isSafeInteger(value));
}

function keyProblem(node: unknown, name: unknown, entries: ReadonlyMap<string, WrittenEntry>): string | undefined {
  if (isAlias(node) || (node as (Node & { anchor?: string }) | null)?.anchor !== undefined)
    return 'has a key with an anchor or alias: write it out';
  if (typeof name !== 'string') return 'has a key that is no text: put it, or {{…}}, in quotes';
  if (name.length > chainTextMax) return `has a key of ${name.length} characters`;
  const shown = JSON.stringify(shortened(name, quoteLengthMax));
  if (reservedNames.includes(name)) return `has the key ${shown}, which no chain may use`;
  const before = entries.get(name);
  return before && `has the key ${shown} twice, first in line ${before.line}`;
}

function sizeProblem(text: string): Problem | undefined {
  if (typeof text !== 'string') return problemAt(start, [], 'the file must be a text');
  const bytes = Buffer.byteLength(text);
  if (bytes <= chainBytesMax) return undefined;
  const place = { line: longestLine(text), column: 1 };
  return problemAt(place, [], `the file has ${bytes} bytes, at most ${chainBytesMax}; its longest line is here`);
}

function longestLine(text: string): number {
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
