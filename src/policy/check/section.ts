/** One table of a document against the fields it may have. */

import { nameLengthMax } from '../../core/limits.ts';
import { findNearestName, formatPath, shorten, toCamelCase, toSnakeCase } from '../../core/names.ts';
import { describeValue, isTable, reservedNames, type Table } from '../../core/plain-copy.ts';
import type { Fields } from '../table/setting.ts';
import { sections, topFields } from '../table/settings.ts';
import { fieldOf } from './environment-names.ts';
import { addProblem, type Path, type Provenance, type Report } from './report.ts';
import { textProblem, valueProblem } from './value.ts';

/** An entry of a table under its name in files, with the path as it was written. */
export interface Entry {
  readonly name: string;
  readonly value: unknown;
  readonly path: Path;
}

/** The entries of a table that have a usable name; a table that is none is a problem. Undefined is not said. */
export function entriesOf(report: Report, input: unknown, path: Path): readonly Entry[] {
  if (input === undefined) return [];
  if (!isTable(input)) {
    addProblem(report, path, `must be a table, got ${describeValue(input)}`);
    return [];
  }
  const entries: Entry[] = [];
  for (const [name, value] of Object.entries(input)) {
    const at = [...path, shorten(name, nameLengthMax)];
    if (value === undefined) continue;
    if (reservedNames.includes(name)) addProblem(report, at, 'is a name that no policy may use');
    else if (textProblem(name)) addProblem(report, at, 'is no usable name');
    else entries.push({ name, value, path: at });
  }
  return entries;
}

/**
 * Checks a section and writes its values into `into` under their TypeScript names.
 * `home` is the section's path in provenance; an optional setting of "none" is written as undefined.
 */
export function checkSection(
  report: Report,
  fields: Fields,
  input: unknown,
  path: Path,
  into: Table,
  home: Path = path,
): void {
  const seen = new Map<string, string>();
  for (const entry of entriesOf(report, input, path)) {
    const written = toSnakeCase(entry.name);
    const name = fieldOf(fields, written);
    const setting = name === undefined ? undefined : fields[name];
    if (name === undefined || !setting) {
      addProblem(report, entry.path, `is not a setting${suggestion(written, fields, home)}`);
      continue;
    }
    const before = seen.get(name);
    if (before !== undefined) {
      addProblem(report, entry.path, `says again what ${before} says: keep one of them`);
      continue;
    }
    seen.set(name, entry.name);
    const problem = valueProblem(setting, entry.value);
    if (problem) {
      addProblem(report, entry.path, problem);
      continue;
    }
    into[toCamelCase(name)] = entry.value === 'none' && setting.kind !== 'choice' ? undefined : entry.value;
    report.provenance.set(formatPath([...home, name]), originOf(report, entry, written === name ? undefined : written));
  }
}

function originOf(report: Report, entry: Entry, alias: string | undefined): Provenance {
  const { line } = report.placeOf(entry.path);
  return { value: entry.value, source: report.source, ...(alias && { alias }), ...(line !== undefined && { line }) };
}

/** Names a setting of another section, or the nearest of this one. */
function suggestion(name: string, fields: Fields, home: Path): string {
  const near = findNearestName(name, namesOf(fields));
  const elsewhere = Object.keys(sections).find((section) => fieldOf(sections[section]!, name));
  if (elsewhere && elsewhere !== home.at(-1)) return `; did you mean ${elsewhere}.${name}?`;
  return near ? `; did you mean ${near}?` : '';
}

/** Every name that may stand in a section, aliases included. */
export function namesOf(fields: Fields): readonly string[] {
  return Object.entries(fields).flatMap(([name, setting]) => [name, ...(setting.aliases ?? [])]);
}

/** Names that may stand at the top of a document. */
export const topNames: readonly string[] = [
  'preset',
  ...Object.keys(topFields),
  ...Object.keys(sections),
  'tools',
  'agents',
  'budgets',
  'rules',
  'mappings',
];
