/** The policy checker: turns any document into complete settings, or throws every problem at once. */

import { breakerFields } from '../../core/controls/breaker/fields.ts';
import { sections, taskFields } from '../../core/controls/sections.ts';
import { topFields } from '../../core/declare/general-sections.ts';
import type { SectionFields } from '../../core/declare/setting.ts';
import { findNearestName, toCamelCase, toSnakeCase } from '../../core/names.ts';
import { emptyTable, plainCopy, type Table } from '../../core/plain-copy.ts';
import type { BreakerSettings, Settings, TaskSettings } from '../../core/settings.ts';
import { presets } from '../table/presets.ts';
import { readPolicyBudgets } from './budgets.ts';
import { findConflicts } from './conflicts.ts';
import { checkSection, type DocumentEntry, readDocumentEntries, topNames } from './document-section.ts';
import { readPolicyMappings } from './mappings.ts';
import { readAgentOverrides, readToolOverrides } from './overrides.ts';
import { readDocumentPreset } from './preset.ts';
import {
  addProblem,
  createPresetReport,
  createReport,
  isFull,
  type PolicySource,
  type Provenance,
  type Report,
  throwProblems,
} from './report.ts';
import { readPolicyRules } from './rules.ts';
import { readPolicyUpstreams } from './upstreams.ts';
import { readPolicyWebhooks } from './webhooks.ts';

/** Checked settings, and the origin of each value by its path in files. */
export type CheckedPolicy = {
  readonly settings: Settings;
  readonly provenance: ReadonlyMap<string, Provenance>;
};

type Draft = Record<string, Table>;

/** How a policy came to be, for the gear that takes it. */
export interface PolicyBackground {
  /** The folder of a file that was found there or below: the project of the policy. */
  readonly project?: string | undefined;
  /** Variables that were not taken, and parts of the file that wait for trust. */
  readonly ignored?: readonly IgnoredPart[];
  /** Variables that loosen the policy by naming its file or trusting it. */
  readonly loosened?: readonly { readonly name: string; readonly value: string; readonly before: unknown }[];
}

/** A part of a policy or environment that is not in force, with a sentence about it. */
export interface IgnoredPart {
  readonly name: string;
  readonly value: string;
  readonly used?: unknown;
  readonly message: string;
}

const checkedPolicies = new WeakMap<object, PolicyBackground>();

/** Checks a document. A checked policy passes unchanged, so a loaded policy is accepted wherever a document is. */
export function checkPolicy(input: unknown, source: PolicySource = {}): CheckedPolicy {
  if (typeof input === 'object' && input !== null && checkedPolicies.has(input)) return input as CheckedPolicy;
  const report = createReport(source);
  const copy = plainCopy(input);
  const draft = defaultDraft(report);
  if ('reason' in copy) addProblem(report, [], `cannot be read: ${copy.reason}`);
  else readDocument(report, copy.value, draft);
  const settings = draft as unknown as Settings;
  if (report.problems.length === 0) {
    const isWritten = (path: string) => report.provenance.has(path);
    for (const { problem } of findConflicts(settings, isWritten))
      report.problems.push(problem + report.placeOf([]).text);
  }
  throwProblems(report.problems);
  return markChecked(settings, report.provenance);
}

/** Marks settings as checked and freezes them. */
export function markChecked(
  settings: Settings,
  provenance: ReadonlyMap<string, Provenance>,
  background: PolicyBackground = {},
): CheckedPolicy {
  const policy: CheckedPolicy = { settings: deepFreeze(settings), provenance };
  checkedPolicies.set(policy, background);
  return policy;
}

/** How a checked policy came to be. */
export function backgroundOf(policy: CheckedPolicy): PolicyBackground {
  return checkedPolicies.get(policy) ?? {};
}

/** Checks breaker settings from code; `where` names them in messages. */
export function checkBreaker(input: unknown, where = 'breaker'): Partial<BreakerSettings> {
  return checkFields(breakerFields, input, where);
}

/** Checks task limits from code; `where` names them in messages. */
export function checkTask(input: unknown, where = 'limits'): Partial<TaskSettings> {
  return checkFields(taskFields, input, where);
}

function checkFields(fields: SectionFields, input: unknown, where: string): Table {
  const report = createReport({});
  const copy = plainCopy(input);
  const into: Table = {};
  if ('reason' in copy) addProblem(report, [where], `cannot be read: ${copy.reason}`);
  else checkSection(report, fields, copy.value, [where], into);
  throwProblems(report.problems);
  return into;
}

/** Every setting at its default. */
function defaultDraft(report: Report): Draft {
  const fillDefaults = (fields: SectionFields, prefix: string, into: Table) => {
    for (const [name, setting] of Object.entries(fields)) {
      const { default: value } = setting;
      const absent = ('derived' in setting && setting.derived) || 'none';
      if (value !== undefined)
        into[toCamelCase(name)] = typeof value === 'object' && !Array.isArray(value) ? emptyTable() : value;
      report.provenance.set(prefix + name, { value: value ?? absent, source: 'default' });
    }
    return into;
  };
  report.provenance.set('preset', { value: 'default', source: 'default' });
  const draft = fillDefaults(topFields, '', {}) as Draft;
  for (const [name, fields] of Object.entries(sections))
    draft[toCamelCase(name)] = fillDefaults(fields, `${name}.`, {});
  return Object.assign(draft, { tools: emptyTable(), agents: emptyTable(), budgets: [], rules: [] });
}

function readDocument(report: Report, document: unknown, draft: Draft): void {
  const entries = new Map<string, DocumentEntry>();
  for (const entry of readDocumentEntries(report, document ?? null, [])) {
    const name = toSnakeCase(entry.name);
    const before = entries.get(name);
    if (before) addProblem(report, entry.path, `repeats ${before.name}: keep one of them`);
    else if (topNames.includes(name)) entries.set(name, entry);
    // Editors write $schema.
    else if (name !== '$schema')
      addProblem(report, entry.path, `is not a setting${isFull(report) ? '' : suggestName(name)}`);
  }
  const preset = readDocumentPreset(report, entries);
  if (preset !== undefined) readSections(createPresetReport(report, preset), presets[preset]!, draft);
  const written: Table = emptyTable();
  for (const [name, { value }] of entries) written[name] = value;
  readSections(report, written, draft, entries);
  const budgets = entries.get('budgets');
  const rules = entries.get('rules');
  const mappings = entries.get('mappings');
  const webhooks = entries.get('webhooks');
  const upstreams = entries.get('upstreams');
  Object.assign(draft, {
    tools: readToolOverrides(report, entries.get('tools')),
    agents: readAgentOverrides(report, entries.get('agents')),
    ...(budgets && { budgets: readPolicyBudgets(report, budgets) }),
    ...(rules && { rules: readPolicyRules(report, rules) }),
    ...(mappings && { mappings: readPolicyMappings(report, mappings) }),
    ...(webhooks && { webhooks: readPolicyWebhooks(report, webhooks) }),
    ...(upstreams && { upstreams: readPolicyUpstreams(report, upstreams) }),
  });
}

/** Reads the top settings and the sections; `entries` holds their names as written. */
function readSections(
  report: Report,
  document: Readonly<Table>,
  draft: Draft,
  entries?: ReadonlyMap<string, DocumentEntry>,
): void {
  const top = emptyTable();
  for (const name of Object.keys(document)) {
    const fields = sections[name];
    const sectionPath = entries?.get(name)?.path ?? [name];
    if (fields) checkSection(report, fields, document[name], sectionPath, draft[toCamelCase(name)]!, [name]);
    else if (Object.hasOwn(topFields, name)) top[String(sectionPath[0])] = document[name];
  }
  checkSection(report, topFields, top, [], draft);
}

function suggestName(name: string): string {
  const section = Object.keys(sections).find((sectionName) => Object.hasOwn(sections[sectionName]!, name));
  const near = section ? `${section}.${name}` : findNearestName(name, topNames);
  return near ? `; did you mean ${near}?` : '';
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value))
    Object.values(Object.freeze(value)).forEach(deepFreeze);
  return value;
}
