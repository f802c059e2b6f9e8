/** The checker: from any document to complete settings, or to every reason why not. */

import { findNearestName, toCamelCase, toSnakeCase } from '../../core/names.ts';
import { emptyTable, plainCopy, type Table } from '../../core/plain-copy.ts';
import type { BreakerSettings, Settings, TaskSettings } from '../../core/settings.ts';
import { presets } from '../table/presets.ts';
import type { Fields } from '../table/setting.ts';
import { breakerFields, sections, taskFields, topFields } from '../table/settings.ts';
import { takeBudgets } from './budgets.ts';
import { conflictsOf } from './conflicts.ts';
import { takeMappings } from './mappings.ts';
import { takeAgents, takeTools } from './overrides.ts';
import { takePreset } from './preset.ts';
import {
  addProblem,
  type PolicySource,
  type Provenance,
  type Report,
  reportOfPreset,
  reportOn,
  throwProblems,
} from './report.ts';
import { takeRules } from './rules.ts';
import { checkSection, type Entry, entriesOf, topNames } from './section.ts';

/** Settings that passed the checker, and where each of them came from, by its path in files. */
export type CheckedPolicy = {
  readonly settings: Settings;
  readonly provenance: ReadonlyMap<string, Provenance>;
};

type Draft = Record<string, Table>;

const checkedOnes = new WeakSet<object>();

/** Checks a document. What was checked before passes as it is, so a loaded policy goes wherever a document goes. */
export function checkPolicy(input: unknown, source: PolicySource = {}): CheckedPolicy {
  if (typeof input === 'object' && input !== null && checkedOnes.has(input)) return input as CheckedPolicy;
  const report = reportOn(source);
  const copy = plainCopy(input);
  const draft = defaultDraft(report);
  if ('reason' in copy) addProblem(report, [], `cannot be read: ${copy.reason}`);
  else takeDocument(report, copy.value, draft);
  if (report.problems.length === 0) {
    const isSaid = (path: string) => report.provenance.has(path);
    for (const { problem } of conflictsOf(draft as unknown as Settings, isSaid))
      report.problems.push(problem + report.placeOf([]).text);
  }
  throwProblems(report.problems);
  return checked(draft as unknown as Settings, report.provenance);
}

/** Marks settings as checked and makes them unchangeable. */
export function checked(settings: Settings, provenance: ReadonlyMap<string, Provenance>): CheckedPolicy {
  const policy: CheckedPolicy = { settings: frozen(settings), provenance };
  checkedOnes.add(policy);
  return policy;
}

/** Checks what code says about one breaker; `where` names it in messages. */
export function checkBreaker(input: unknown, where = 'breaker'): Partial<BreakerSettings> {
  return checkPart(breakerFields, input, where);
}

/** Checks what code says about one task's limits; `where` names them in messages. */
export function checkTask(input: unknown, where = 'limits'): Partial<TaskSettings> {
  return checkPart(taskFields, input, where);
}

function checkPart(fields: Fields, input: unknown, where: string): Table {
  const report = reportOn({});
  const copy = plainCopy(input);
  const into: Table = {};
  if ('reason' in copy) addProblem(report, [where], `cannot be read: ${copy.reason}`);
  else checkSection(report, fields, copy.value, [where], into);
  throwProblems(report.problems);
  return into;
}

/** Every setting at its default. */
function defaultDraft(report: Report): Draft {
  const take = (fields: Fields, home: string, into: Table) => {
    for (const [name, { default: value }] of Object.entries(fields)) {
      if (value !== undefined)
        into[toCamelCase(name)] = typeof value === 'object' && !Array.isArray(value) ? emptyTable() : value;
      report.provenance.set(home + name, { value: value ?? 'none', source: 'default' });
    }
    return into;
  };
  report.provenance.set('preset', { value: 'default', source: 'default' });
  const draft = take(topFields, '', {}) as Draft;
  for (const [name, fields] of Object.entries(sections)) draft[toCamelCase(name)] = take(fields, `${name}.`, {});
  return Object.assign(draft, { tools: emptyTable(), agents: emptyTable(), budgets: [], rules: [] });
}

function takeDocument(report: Report, document: unknown, draft: Draft): void {
  const entries = new Map<string, Entry>();
  for (const entry of entriesOf(report, document ?? null, [])) {
    const name = toSnakeCase(entry.name);
    const before = entries.get(name);
    if (before) addProblem(report, entry.path, `says again what ${before.name} says: keep one of them`);
    else if (topNames.includes(name)) entries.set(name, entry);
    // Editors write $schema.
    else if (name !== '$schema') addProblem(report, entry.path, `is not a setting${hint(name)}`);
  }
  const preset = takePreset(report, entries);
  if (preset !== undefined) takeSections(reportOfPreset(report, preset), presets[preset]!, draft);
  const written: Table = emptyTable();
  for (const [name, { value }] of entries) written[name] = value;
  takeSections(report, written, draft, entries);
  const budgets = entries.get('budgets');
  const rules = entries.get('rules');
  const mappings = entries.get('mappings');
  Object.assign(draft, {
    tools: takeTools(report, entries.get('tools')),
    agents: takeAgents(report, entries.get('agents')),
    ...(budgets && { budgets: takeBudgets(report, budgets) }),
    ...(rules && { rules: takeRules(report, rules) }),
    ...(mappings && { mappings: takeMappings(report, mappings) }),
  });
}

/** Reads the top settings and the sections; `entries` knows how their names were written. */
function takeSections(
  report: Report,
  document: Readonly<Table>,
  draft: Draft,
  entries?: ReadonlyMap<string, Entry>,
): void {
  const top = emptyTable();
  for (const name of Object.keys(document)) {
    const fields = sections[name];
    const pathOf = entries?.get(name)?.path ?? [name];
    if (fields) checkSection(report, fields, document[name], pathOf, draft[toCamelCase(name)]!, [name]);
    else if (Object.hasOwn(topFields, name)) top[String(pathOf[0])] = document[name];
  }
  checkSection(report, topFields, top, [], draft);
}

function hint(name: string): string {
  const section = Object.keys(sections).find((one) => Object.hasOwn(sections[one]!, name));
  const near = section ? `${section}.${name}` : findNearestName(name, topNames);
  return near ? `; did you mean ${near}?` : '';
}

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value))
    Object.values(Object.freeze(value)).forEach(frozen);
  return value;
}
