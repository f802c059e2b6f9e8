/** Settings of single tools and agents. */

import { toCamelCase, toSnakeCase } from '../../core/names.ts';
import { describeValue, emptyTable, isTable, type Table } from '../../core/plain-copy.ts';
import { presets } from '../table/presets.ts';
import { breakerFields, taskFields } from '../table/settings.ts';
import { presetOf } from './preset.ts';
import { addProblem, type Report, reportOfPreset } from './report.ts';
import { checkSection, type Entry, entriesOf } from './section.ts';

/** The overrides of tools, by name, the least specific name first. */
export function takeTools(report: Report, entry: Entry | undefined): Table {
  return sorted(eachNamed(report, entry, takeTool));
}

/** The overrides of agents, by name. */
export function takeAgents(report: Report, entry: Entry | undefined): Table {
  return eachNamed(report, entry, takeAgent);
}

function eachNamed(report: Report, entry: Entry | undefined, take: (report: Report, entry: Entry) => Table): Table {
  const into = emptyTable();
  for (const one of entriesOf(report, entry?.value, entry?.path ?? [])) into[one.name] = take(report, one);
  return into;
}

function takeTool(report: Report, { name, value, path }: Entry): Table {
  const into: Table = {};
  const home = ['tools', name];
  if (!isTable(value)) addProblem(report, path, `must be a table, got ${describeValue(value)}`);
  else {
    const { preset, ...own } = value;
    const known =
      preset === undefined ? undefined : presetOf(report, { name: 'preset', value: preset, path: [...path, 'preset'] });
    const section = known && presets[known]?.circuit_breaker;
    if (section) checkSection(reportOfPreset(report, known), breakerFields, section, home, into);
    else if (known)
      addProblem(report, [...path, 'preset'], `is ${describeValue(known)}, which says nothing about breakers`);
    checkSection(report, breakerFields, Object.assign(emptyTable(), own), path, into, home);
  }
  return into;
}

function takeAgent(report: Report, { name, value, path }: Entry): Table {
  const into: Table = {};
  for (const entry of entriesOf(report, value, path)) {
    const section = toSnakeCase(entry.name);
    const fields = section === 'circuit_breaker' ? breakerFields : section === 'task' ? taskFields : undefined;
    if (!fields) addProblem(report, entry.path, 'is not a setting; an agent has "circuit_breaker" and "task"');
    else if (into[toCamelCase(section)]) addProblem(report, entry.path, 'is said twice: keep one of them');
    else {
      const part: Table = {};
      into[toCamelCase(section)] = part;
      checkSection(report, fields, entry.value, entry.path, part, ['agents', name, section]);
    }
  }
  return into;
}

/** Least specific first: patterns by the letters they fix, then whole names. Of equals the later one wins. */
function sorted(tools: Table): Table {
  const fixed = (name: string) => (name.includes('*') ? name.replaceAll('*', '').length : Number.POSITIVE_INFINITY);
  const names = Object.keys(tools).sort((a, b) => (fixed(a) === fixed(b) ? 0 : fixed(a) - fixed(b)));
  return Object.assign(emptyTable(), Object.fromEntries(names.map((name) => [name, tools[name]])));
}
