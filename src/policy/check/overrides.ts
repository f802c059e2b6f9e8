/** Checks the settings of single tools and agents. */

import { breakerFields } from '../../core/controls/breaker/fields.ts';
import { taskFields } from '../../core/controls/sections.ts';
import { toCamelCase, toSnakeCase } from '../../core/names.ts';
import { describeValue, emptyTable, isTable, type Table } from '../../core/plain-copy.ts';
import { presets } from '../table/presets.ts';
import { checkSection, type DocumentEntry, readDocumentEntries } from './document-section.ts';
import { readPresetName } from './preset.ts';
import { addProblem, createPresetReport, type Report } from './report.ts';

/** Reads the overrides of tools, by name, the least specific name first. */
export function readToolOverrides(report: Report, entry: DocumentEntry | undefined): Table {
  return sortBySpecificity(readEachNamed(report, entry, readToolOverride));
}

/** Reads the overrides of agents, by name. */
export function readAgentOverrides(report: Report, entry: DocumentEntry | undefined): Table {
  return readEachNamed(report, entry, readAgentOverride);
}

function readEachNamed(
  report: Report,
  entry: DocumentEntry | undefined,
  readOne: (report: Report, entry: DocumentEntry) => Table,
): Table {
  const into = emptyTable();
  for (const item of readDocumentEntries(report, entry?.value, entry?.path ?? []))
    into[item.name] = readOne(report, item);
  return into;
}

function readToolOverride(report: Report, { name, value, path }: DocumentEntry): Table {
  const into: Table = {};
  const provenancePath = ['tools', name];
  if (!isTable(value)) addProblem(report, path, `must be a table, got ${describeValue(value)}`);
  else {
    const { preset, ...settings } = value;
    const presetName =
      preset === undefined
        ? undefined
        : readPresetName(report, { name: 'preset', value: preset, path: [...path, 'preset'] });
    const section = presetName && presets[presetName]?.circuit_breaker;
    if (section) checkSection(createPresetReport(report, presetName), breakerFields, section, provenancePath, into);
    else if (presetName)
      addProblem(report, [...path, 'preset'], `is ${describeValue(presetName)}, which has no breaker settings`);
    checkSection(report, breakerFields, Object.assign(emptyTable(), settings), path, into, provenancePath);
  }
  return into;
}

function readAgentOverride(report: Report, { name, value, path }: DocumentEntry): Table {
  const into: Table = {};
  for (const entry of readDocumentEntries(report, value, path)) {
    const section = toSnakeCase(entry.name);
    const fields = section === 'circuit_breaker' ? breakerFields : section === 'task' ? taskFields : undefined;
    if (!fields) addProblem(report, entry.path, 'is not a setting; an agent has "circuit_breaker" and "task"');
    else if (into[toCamelCase(section)]) addProblem(report, entry.path, 'is set twice: keep one of them');
    else {
      const part: Table = {};
      into[toCamelCase(section)] = part;
      checkSection(report, fields, entry.value, entry.path, part, ['agents', name, section]);
    }
  }
  return into;
}

/** Sorts the least specific name first: patterns by the number of fixed letters, then exact names. Later ones win. */
export function sortBySpecificity(tools: Table): Table {
  const countFixedLetters = (name: string) =>
    name.includes('*') ? name.replaceAll('*', '').length : Number.POSITIVE_INFINITY;
  const names = Object.keys(tools).sort((a, b) =>
    countFixedLetters(a) === countFixedLetters(b) ? 0 : countFixedLetters(a) - countFixedLetters(b),
  );
  return Object.assign(emptyTable(), Object.fromEntries(names.map((name) => [name, tools[name]])));
}
