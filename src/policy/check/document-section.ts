/** Checks one table of a document against the fields it may have. */

import { sections } from '../../core/controls/sections.ts';
import { textProblem, valueProblem } from '../../core/declare/check-value.ts';
import { topFields } from '../../core/declare/general-sections.ts';
import { readToolLists } from '../../core/declare/mcp-settings.ts';
import type { SectionFields } from '../../core/declare/setting.ts';
import { readNone } from '../../core/declare/setting-overrides.ts';
import { nameLengthMax } from '../../core/limits.ts';
import type { Path } from '../../core/names.ts';
import { findNearestName, formatPath, shorten, toCamelCase, toSnakeCase } from '../../core/names.ts';
import { describeValue, isTable, reservedNames, type Table } from '../../core/plain-copy.ts';
import { findField } from './environment-names.ts';
import { addProblem, isFull, type Provenance, type Report } from './report.ts';

/** An entry of a table under its name in files, with its path as written. */
export interface DocumentEntry {
  readonly name: string;
  readonly value: unknown;
  readonly path: Path;
}

/** The entries of a table with usable names; a value that is not a table is a problem. Undefined counts as absent. */
export function readDocumentEntries(report: Report, input: unknown, path: Path): readonly DocumentEntry[] {
  if (input === undefined) return [];
  if (!isTable(input)) {
    addProblem(report, path, `must be a table, got ${describeValue(input)}`);
    return [];
  }
  const entries: DocumentEntry[] = [];
  for (const [name, value] of Object.entries(input)) {
    const entryPath = [...path, shorten(name, nameLengthMax)];
    if (value === undefined) continue;
    if (reservedNames.includes(name)) addProblem(report, entryPath, 'is a reserved name');
    else if (textProblem(name)) addProblem(report, entryPath, 'is not a valid name');
    else entries.push({ name, value, path: entryPath });
  }
  return entries;
}

/**
 * Checks a section and writes its values into `into` under their TypeScript names.
 * `provenancePath` is the section's path in provenance; an optional setting of "none" is written as undefined.
 */
export function checkSection(
  report: Report,
  fields: SectionFields,
  input: unknown,
  path: Path,
  into: Table,
  provenancePath: Path = path,
): void {
  const writtenNames = new Map<string, string>();
  for (const entry of readDocumentEntries(report, input, path)) {
    const snakeName = toSnakeCase(entry.name);
    const name = findField(fields, snakeName);
    const setting = name === undefined ? undefined : fields[name];
    if (name === undefined || !setting) {
      addProblem(
        report,
        entry.path,
        `is not a setting${suggestSetting(snakeName, fields, provenancePath, isFull(report))}`,
      );
      continue;
    }
    const before = writtenNames.get(name);
    if (before !== undefined) {
      addProblem(report, entry.path, `repeats ${before}: keep one of them`);
      continue;
    }
    writtenNames.set(name, entry.name);
    const problem = valueProblem(setting, entry.value);
    if (problem) {
      addProblem(report, entry.path, problem);
      continue;
    }
    into[toCamelCase(name)] = setting.kind === 'tools' ? readToolLists(entry.value) : readNone(setting, entry.value);
    report.provenance.set(
      formatPath([...provenancePath, name]),
      makeProvenance(report, entry, snakeName === name ? undefined : snakeName),
    );
  }
}

function makeProvenance(report: Report, entry: DocumentEntry, alias: string | undefined): Provenance {
  const { line } = report.placeOf(entry.path);
  return { value: entry.value, source: report.source, ...(alias && { alias }), ...(line !== undefined && { line }) };
}

/** Suggests a setting of another section, or the nearest name of this section. */
function suggestSetting(name: string, fields: SectionFields, provenancePath: Path, isLast: boolean): string {
  if (isLast) return '';
  const near = findNearestName(name, listFieldNames(fields));
  const elsewhere = Object.keys(sections).find((section) => findField(sections[section]!, name));
  if (elsewhere && elsewhere !== provenancePath.at(-1)) return `; did you mean ${elsewhere}.${name}?`;
  return near ? `; did you mean ${near}?` : '';
}

/** Lists every name that a section may contain, aliases included. */
export function listFieldNames(fields: SectionFields): readonly string[] {
  return Object.entries(fields).flatMap(([name, setting]) => [name, ...(setting.aliases ?? [])]);
}

/** The names allowed at the top of a document. */
export const topNames: readonly string[] = [
  'preset',
  ...Object.keys(topFields),
  ...Object.keys(sections),
  'tools',
  'agents',
  'budgets',
  'rules',
  'mappings',
  'webhooks',
  'upstreams',
];
