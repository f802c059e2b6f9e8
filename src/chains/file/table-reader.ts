/** Reading one table of a chain file: known keys only, each of its kind; what is wrong is collected, not thrown. */

import { chainNameMax, chainTextMax } from '../../core/limits.ts';
import { nearest } from '../../core/names.ts';
import { quote, reservedNames } from '../../core/plain-copy.ts';
import type { Path } from '../../policy/check/report.ts';
import { words } from '../../policy/check/value.ts';
import { type Place, type Problem, problemAt } from './problem.ts';
import type { Written, WrittenEntry, WrittenList, WrittenTable } from './source-tree.ts';

/** A value with the way to it. */
export interface Spot {
  readonly written: Written;
  readonly path: Path;
  /** Where its key stands, or itself. */
  readonly place: Place;
}

/** One table under reading. */
export interface TableReader {
  readonly spot: Spot;
  /** The value under a key, if it is there. */
  at(name: string): Spot | undefined;
  /** A text under a key; undefined where there is none, or a problem was told. */
  text(name: string, most?: number): string | undefined;
  /** A text that may be used as a name; with `isKey` one without dots, which lead into a value. */
  name(name: string, isKey?: boolean): string | undefined;
  flag(name: string): boolean | undefined;
  list(name: string, most: number): readonly Spot[] | undefined;
  table(name: string, known: readonly string[]): TableReader | undefined;
  /** One of some words. */
  word<T extends string>(name: string, of: Readonly<Record<string, T>>): T | undefined;
  wrong(name: string | undefined, what: string): undefined;
}

/** What chains, steps, parameters and outputs may be called; a dot would lead into a parameter or an output. */
export const namePattern = '^[\\p{L}\\p{N}_][\\p{L}\\p{N}_.-]*$';
export const keyPattern = '^[\\p{L}\\p{N}_][\\p{L}\\p{N}_-]*$';
const isName = new RegExp(namePattern, 'u');
const isKeyName = new RegExp(keyPattern, 'u');

/** Opens a table. Keys that are not known, and keys that must be there and are not, are problems. */
export function readTable(
  problems: Problem[],
  spot: Spot,
  known: readonly string[],
  needed: readonly string[] = [],
): TableReader | undefined {
  const { written, path, place } = spot;
  if (written.kind === 'wrong') return undefined;
  if (written.kind !== 'table') {
    problems.push(problemAt(place, path, `must be a table, got ${shown(written)}`));
    return undefined;
  }
  for (const [key, { line, column }] of written.entries) {
    if (known.includes(key)) continue;
    const near = nearest(key, known);
    const hint = near === undefined ? `; it may have ${words(known)}` : `; did you mean ${near}?`;
    problems.push(problemAt({ line, column }, [...path, key], `is not known here${hint}`));
  }
  for (const key of needed) {
    if (!written.entries.has(key))
      problems.push(problemAt(place, path, `${path.length > 0 ? '' : 'the chain '}needs ${key}`));
  }
  return tableReader(problems, spot, written.entries);
}

function tableReader(problems: Problem[], spot: Spot, entries: ReadonlyMap<string, WrittenEntry>): TableReader {
  const at = (name: string): Spot | undefined => {
    const entry = entries.get(name);
    return entry && { written: entry.value, path: [...spot.path, name], place: entry };
  };
  const wrong = (name: string | undefined, what: string): undefined => {
    const { place, path } = (name === undefined ? undefined : at(name)) ?? spot;
    problems.push(problemAt(place, path, what));
  };
  const must = (name: string, { written }: Spot, be: string): undefined => {
    if (written.kind !== 'wrong') wrong(name, `must be ${be}, got ${shown(written)}`);
  };
  const text = (name: string, most = chainTextMax): string | undefined => {
    const found = at(name);
    if (found === undefined) return undefined;
    const { written } = found;
    if (written.kind !== 'value' || typeof written.value !== 'string' || written.value.trim() === '')
      return must(name, found, 'a text');
    if (written.value.length > most)
      return wrong(name, `must have at most ${most} characters, got ${written.value.length}`);
    return written.value;
  };
  return {
    spot,
    at,
    text,
    wrong,
    name(name, isKey = false) {
      const value = text(name, chainNameMax);
      const fits = value !== undefined && (isKey ? isKeyName : isName).test(value) && !reservedNames.includes(value);
      if (value === undefined || fits) return value;
      return wrong(
        name,
        `must be letters, digits and ${isKey ? '_ -' : '_ - .'}, beginning with no sign, got ${quote(value)}`,
      );
    },
    flag(name) {
      const found = at(name);
      if (found === undefined) return undefined;
      const { written } = found;
      return written.kind === 'value' && typeof written.value === 'boolean'
        ? written.value
        : must(name, found, 'true or false');
    },
    list(name, most) {
      const found = at(name);
      if (found === undefined) return undefined;
      if (found.written.kind !== 'list') return must(name, found, 'a list');
      if (found.written.items.length > most)
        return wrong(name, `must have at most ${most} items, got ${found.written.items.length}`);
      return itemsOf(found.written, found.path);
    },
    table(name, known) {
      const found = at(name);
      return found && readTable(problems, found, known);
    },
    word(name, of) {
      const value = text(name);
      if (value === undefined) return undefined;
      if (Object.hasOwn(of, value)) return of[value];
      return wrong(name, `must be ${words(Object.keys(of))}, got ${quote(value)}`);
    },
  };
}

/** The items of a list, each with its way. */
export function itemsOf(list: WrittenList, path: Path): readonly Spot[] {
  return list.items.map((written, index) => ({ written, path: [...path, index], place: written }));
}

/** The keys of a table, each with its way. */
export function fieldsOf(table: WrittenTable, path: Path): readonly (Spot & { readonly name: string })[] {
  return [...table.entries].map(([name, entry]) => {
    return { name, written: entry.value, path: [...path, name], place: entry };
  });
}

/** What stands there as plain data; tables have no prototype's keys, since no file may have them. */
export function plainOf(written: Written): unknown {
  switch (written.kind) {
    case 'value':
      return written.value;
    case 'list':
      return written.items.map(plainOf);
    case 'table':
      return Object.fromEntries([...written.entries].map(([name, { value }]) => [name, plainOf(value)]));
    case 'wrong':
      return null;
  }
}

/** What came, for a message. */
export function shown(written: Written): string {
  if (written.kind === 'table') return 'a table';
  if (written.kind === 'list') return written.items.length > 0 ? `a list of ${written.items.length}` : 'an empty list';
  return written.kind === 'value' && written.value !== null ? quote(written.value) : 'nothing';
}
