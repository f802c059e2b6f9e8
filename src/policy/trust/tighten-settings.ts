/** Compares two sets of settings: what the second one tightens holds, what it loosens waits. */

import { breakerFields } from '../../core/controls/breaker/fields.ts';
import { resolveBreaker, resolveTask } from '../../core/controls/resolve-settings.ts';
import { sections, taskFields } from '../../core/controls/sections.ts';
import { topFields } from '../../core/declare/general-sections.ts';
import type { SectionFields, Setting } from '../../core/declare/setting.ts';
import { isEqual, type MapFallback, stricterOf } from '../../core/declare/strictness.ts';
import { comparedPatternsMax, rulesMax } from '../../core/limits.ts';
import { formatPath, toCamelCase, toSnakeCase } from '../../core/names.ts';
import { emptyTable, type Table } from '../../core/plain-copy.ts';
import type { BreakerSettings, JointBudget, RuleText, Settings, TaskSettings } from '../../core/settings.ts';
import { sortBySpecificity } from '../check/overrides.ts';

/** The stricter of two settings, and the paths of the values that would protect less. */
export interface TightenedSettings {
  readonly settings: Settings;
  readonly waiting: readonly string[];
}

type Section = Readonly<Record<string, unknown>>;

/** Returns the stricter value of each setting; the paths of `waiting` are looser in `found` than in `base`. */
export function tightenSettings(base: Settings, found: Settings): TightenedSettings {
  const waiting: string[] = [];
  const top = tightenSection(topFields, base as unknown as Section, found as unknown as Section, [], waiting);
  const merged: Table = { ...found, ...top };
  for (const [name, fields] of Object.entries(sections)) {
    const key = toCamelCase(name) as keyof Settings;
    merged[key] = tightenSection(fields, base[key] as Section, found[key] as Section, [name], waiting);
  }
  merged.tools = tightenTools(base, found, waiting);
  merged.agents = tightenAgents(base, found, waiting);
  merged.budgets = tightenBudgets(base.budgets, found.budgets, waiting);
  merged.rules = tightenRules(base.rules, found.rules, waiting);
  // A mapping decides which calls of a program are seen, so no other mapping is known to protect as much. A webhook
  // decides who reads the cards, and an upstream who reads prompts and keys.
  for (const name of ['mappings', 'webhooks', 'upstreams'] as const) {
    if (!isEqual(base[name] ?? {}, found[name] ?? {})) {
      waiting.push(name);
      merged[name] = base[name];
    }
    if (merged[name] === undefined) delete merged[name];
  }
  return { settings: merged as unknown as Settings, waiting };
}

function tightenSection(
  fields: SectionFields,
  base: Section,
  found: Section,
  path: readonly string[],
  waiting: string[],
): Table {
  const merged: Table = {};
  for (const [name, setting] of Object.entries(fields)) {
    const key = toCamelCase(name);
    const value = stricterOf(setting, base[key], found[key], readFallback(setting, base, found));
    if (!isEqual(value, found[key])) waiting.push(formatPath([...path, name]));
    if (value !== undefined) merged[key] = value;
  }
  return merged;
}

function readFallback({ stricter }: Setting, base: Section, found: Section): MapFallback | undefined {
  if (typeof stricter !== 'object' || !('lowerThan' in stricter)) return undefined;
  const key = toCamelCase(stricter.lowerThan);
  return { base: base[key] as number, value: found[key] as number };
}

/**
 * The overrides of tools. An override that is only in `found` holds if it protects as much as everything in `base` that
 * may apply to the same calls; otherwise it is left out, and the general settings hold.
 */
function tightenTools(base: Settings, found: Settings, waiting: string[]): Table {
  const merged = emptyTable();
  for (const name of namesOf(base.tools, found.tools)) {
    const before = readOwn(base.tools, name);
    const after = readOwn(found.tools, name);
    merged[name] = tightenOverride(breakerFields, before, after, {
      path: ['tools', name],
      waiting,
      inBase: (key) => breakerValues(base, name, key),
      inFound: (key) => breakerValues(found, name, key),
    });
  }
  return sortBySpecificity(merged);
}

function tightenAgents(base: Settings, found: Settings, waiting: string[]): Table {
  const merged = emptyTable();
  for (const name of namesOf(base.agents, found.agents)) {
    const before = readOwn(base.agents, name) ?? {};
    const after = readOwn(found.agents, name) ?? {};
    const agent: Table = {};
    const breakerOf = (settings: Settings) => (key: string) => [
      ({ ...settings.circuitBreaker, ...readOwn(settings.agents, name)?.circuitBreaker } as Section)[key],
    ];
    const taskOf = (settings: Settings) => (key: string) => [resolveTask(settings, name)[key as keyof TaskSettings]];
    if (before.circuitBreaker ?? after.circuitBreaker)
      agent.circuitBreaker = tightenOverride(breakerFields, before.circuitBreaker, after.circuitBreaker, {
        path: ['agents', name, 'circuit_breaker'],
        waiting,
        inBase: breakerOf(base),
        inFound: breakerOf(found),
      });
    if (before.task ?? after.task)
      agent.task = tightenOverride(taskFields, before.task, after.task, {
        path: ['agents', name, 'task'],
        waiting,
        inBase: taskOf(base),
        inFound: taskOf(found),
      });
    merged[name] = agent;
  }
  return merged;
}

interface OverrideContext {
  readonly path: readonly string[];
  readonly waiting: string[];
  /** Every value of a setting that may apply where the override does. */
  inBase(key: string): readonly unknown[];
  inFound(key: string): readonly unknown[];
}

function tightenOverride(
  fields: SectionFields,
  before: object | undefined,
  after: object | undefined,
  { path, waiting, inBase, inFound }: OverrideContext,
): Table {
  const merged: Table = {};
  const base = (before ?? {}) as Section;
  const found = (after ?? {}) as Section;
  for (const key of namesOf(base, found)) {
    const name = toSnakeCase(key);
    const setting: Setting | undefined = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (setting === undefined) continue;
    const strictest = (from: unknown, values: readonly unknown[]) =>
      values.reduce((value, next) => stricterOf(setting, next, value), from);
    if (Object.hasOwn(found, key)) {
      const value = strictest(found[key], inBase(key));
      if (isEqual(value, found[key])) merged[key] = value;
      else {
        waiting.push(formatPath([...path, name]));
        if (Object.hasOwn(base, key)) merged[key] = stricterOf(setting, base[key], found[key]);
      }
      continue;
    }
    merged[key] = strictest(base[key], inFound(key));
    // Without the override the general settings of `found` hold.
    const isAsStrict = inFound(key).every((value) => isEqual(stricterOf(setting, base[key], value), value));
    if (!isAsStrict) waiting.push(formatPath([...path, name]));
  }
  return merged;
}

/**
 * Every value of a breaker setting that may apply to the tools of a name. A pattern may share tools with any other
 * pattern, so all overrides count.
 */
function breakerValues(settings: Settings, name: string, key: string): readonly unknown[] {
  const agents = Object.keys(settings.agents);
  const isFew = agents.length + Object.keys(settings.tools).length <= comparedPatternsMax;
  if (name.includes('*') || !isFew) return allValues(settings, key);
  // `tool_x` is another name of the tool `x`.
  const names = name.startsWith('tool_') ? [name, name.slice('tool_'.length)] : [name];
  return names.flatMap((tool) =>
    [undefined, ...agents].map((agent) => resolveBreaker(settings, { tool, agent })[key as keyof BreakerSettings]),
  );
}

const valuesOfSettings = new WeakMap<Settings, Map<string, readonly unknown[]>>();

/** Every value that a breaker setting has anywhere, once. */
function allValues(settings: Settings, key: string): readonly unknown[] {
  const known = valuesOfSettings.get(settings) ?? new Map<string, readonly unknown[]>();
  valuesOfSettings.set(settings, known);
  let values = known.get(key);
  if (values === undefined) {
    const overrides: readonly object[] = [
      settings.circuitBreaker,
      ...Object.values(settings.agents).flatMap(({ circuitBreaker }) => circuitBreaker ?? []),
      ...Object.values(settings.tools),
    ];
    const general = (settings.circuitBreaker as unknown as Section)[key];
    const written = overrides.flatMap((override) => (Object.hasOwn(override, key) ? [(override as Section)[key]] : []));
    values = [...new Set([general, ...written])];
    known.set(key, values);
  }
  return values;
}

/** A budget is one by its scope, unit and window; the lower limit holds, and a limit over one that only observes. */
function tightenBudgets(
  base: readonly JointBudget[],
  found: readonly JointBudget[],
  waiting: string[],
): readonly JointBudget[] {
  const keyOf = ({ scope, unit, windowSecs }: JointBudget) => JSON.stringify([scope, unit, windowSecs ?? null]);
  const merged = new Map(found.map((budget) => [keyOf(budget), budget]));
  let isLooser = false;
  for (const budget of base) {
    const same = merged.get(keyOf(budget));
    const isHeld = same?.mode !== 'observe' || budget.mode === 'observe';
    if (same !== undefined && same.limit <= budget.limit && isHeld) continue;
    isLooser = true;
    merged.set(keyOf(budget), budget);
  }
  if (isLooser) waiting.push('budgets');
  return [...merged.values()];
}

/** All rules of both; a rule that is gone stays. */
function tightenRules(base: readonly RuleText[], found: readonly RuleText[], waiting: string[]): readonly RuleText[] {
  const keyOf = ({ target, condition, action }: RuleText) => JSON.stringify([target, condition, action]);
  const inFound = new Set(found.map(keyOf));
  if (base.every((rule) => inFound.has(keyOf(rule)))) return found;
  waiting.push('rules');
  const inBase = new Set(base.map(keyOf));
  // The rules of `base` stand first, so that the bound on rules drops none of them.
  return [...base, ...found.filter((rule) => !inBase.has(keyOf(rule)))].slice(0, rulesMax);
}

function namesOf(one: object, other: object): readonly string[] {
  return [...new Set([...Object.keys(one), ...Object.keys(other)])];
}

function readOwn<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
