/**
 * Applies single values from the environment. Numbers are decimal digits with an optional fraction, trimmed: no
 * exponent, no hex. A bad value is ignored with one warning. A value that protects less than the one before is listed,
 * so that every process reports it, or ignored where the environment is not the operator's.
 */

import type { Setting } from '../core/declare/setting.ts';
import { isEqual, stricterOf } from '../core/declare/strictness.ts';
import { quoteLengthMax } from '../core/limits.ts';
import { editDistance, shorten } from '../core/names.ts';
import { describeValue } from '../core/plain-copy.ts';
import type { Settings } from '../core/settings.ts';
import { backgroundOf, type CheckedPolicy, markChecked } from './check/check-policy.ts';
import { findConflicts } from './check/conflicts.ts';
import { type EnvironmentVariable, listVariables, readVariable, withValue } from './check/environment-names.ts';
import type { Provenance } from './check/report.ts';

/** A variable that was ignored. */
export interface IgnoredVariable {
  readonly name: string;
  readonly value: string;
  /** The value in force instead; absent if the name is not a setting. */
  readonly used?: unknown;
  /** The warning, in one sentence. */
  readonly message: string;
}

/** A variable that protects less than the value before. */
export interface LoosenedSetting {
  readonly name: string;
  readonly value: string;
  /** The path of the setting, and its value without the variable. */
  readonly path: string;
  readonly before: unknown;
  /** The warning, in one sentence. */
  readonly message: string;
}

/** A policy with the values of the environment. */
export type EnvironmentPolicy = CheckedPolicy & {
  readonly ignored: readonly IgnoredVariable[];
  readonly loosened: readonly LoosenedSetting[];
};

/** Whether a variable may loosen a setting. */
export type MayLoosen = (name: string, value: string) => boolean;

/**
 * Returns the policy with the values of the environment, every ignored variable, and every variable that loosens a
 * setting. A variable that `mayLoosen` refuses is ignored if it loosens one.
 */
export function applyEnvironment(
  policy: CheckedPolicy,
  env: Readonly<Record<string, string | undefined>>,
  mayLoosen: MayLoosen = () => true,
): EnvironmentPolicy {
  const provenance = new Map(policy.provenance);
  const applied: { readonly name: string; readonly path: string; readonly before: Provenance }[] = [];
  const refused: { readonly name: string; readonly path: string; readonly problem: string }[] = [];
  const invalidNames = new Map<string, string>();
  const valid = new Set<string>();
  for (const variable of listVariables()) {
    const { path } = variable;
    for (const name of variable.names) {
      const text = env[name];
      if (text === undefined) continue;
      const before = provenance.get(path)!;
      const { value, problem: invalid } = readVariable(variable, text);
      if (invalid !== undefined) invalidNames.set(path, name);
      else valid.add(path);
      const isRefused =
        invalid === undefined && !mayLoosen(name, text) && isLooser(variable.setting, before.value, value);
      const problem = isRefused ? 'loosens a setting below an agent that Switchgear guards' : invalid;
      if (problem) refused.push({ name, path, problem: problem.replace(/(, got .*| or "none".*)$/s, '') });
      else {
        applied.unshift({ name, path, before });
        provenance.set(path, { value, source: `environment ${name}` });
      }
    }
  }
  for (const variable of listVariables()) {
    const name = invalidNames.get(variable.path);
    if (name !== undefined && !valid.has(variable.path)) fallBack(provenance, variable, name, env[name]!);
  }
  for (const { names, problem } of findConflicts(withValues(policy.settings, provenance), (path) =>
    provenance.has(path),
  )) {
    // The latest first, so that each falls back to the value before it.
    for (const { name, path, before } of applied) {
      if (!names.includes(path.split('.').at(-1)!) || refused.some((candidate) => candidate.name === name)) continue;
      provenance.set(path, before);
      refused.push({ name, path, problem: `does not fit: ${problem}` });
    }
  }
  const ignored = refused.map(({ name, path, problem }) => {
    const { value: used } = provenance.get(path)!;
    const value = env[name]!;
    const isStricter = !isEqual(used, policy.provenance.get(path)!.value) && !valid.has(path);
    const why = isStricter ? ', the stricter of the default and the policy,' : '';
    const message = `${name}=${describeValue(value)} is ignored: it ${problem}; ${used}${why} is used`;
    return { name, value: shorten(value, quoteLengthMax), used, message };
  });
  const result = markChecked(withValues(policy.settings, provenance), provenance, backgroundOf(policy));
  return Object.assign(result, { ignored: [...ignored, ...findMisspelt(env)], loosened: listLoosened(policy, result) });
}

/** Puts the stricter of default and policy in force, where the only variable of a setting has an invalid value. */
function fallBack(
  provenance: Map<string, Provenance>,
  { path, setting }: EnvironmentVariable,
  name: string,
  text: string,
): void {
  const { value } = provenance.get(path)!;
  // The word agrees with the policy, which alone may switch a limit off.
  if (text.trim() === String(value)) return;
  const written = setting.default ?? ('derived' in setting && setting.derived ? value : 'none');
  if (isLooser(setting, written, value))
    provenance.set(path, { value: written, source: `environment ${name}`, note: 'invalid: the default holds' });
}

function listLoosened(policy: CheckedPolicy, { provenance }: CheckedPolicy): readonly LoosenedSetting[] {
  return listVariables().flatMap(({ path, setting }) => {
    const { value, source } = provenance.get(path)!;
    const { value: before } = policy.provenance.get(path)!;
    if (!source.startsWith('environment') || !isLooser(setting, before, value)) return [];
    const name = source.slice('environment '.length);
    const message = `${name}=${describeValue(value)} loosens ${path}, which is ${describeValue(before)} without it`;
    return [{ name, value: shorten(String(value), quoteLengthMax), path, before, message }];
  });
}

/** Whether a value protects less than another; `none` is a limit that is off. */
function isLooser(setting: Setting, before: unknown, value: unknown): boolean {
  const written = (each: unknown) => (each === 'none' && setting.kind !== 'choice' ? undefined : each);
  return !isEqual(stricterOf(setting, written(before), written(value)), written(value));
}

/** Returns new settings with the values of the environment. */
function withValues(settings: Settings, provenance: ReadonlyMap<string, Provenance>): Settings {
  let result = settings;
  for (const { path } of listVariables()) {
    const { value, source } = provenance.get(path)!;
    if (source.startsWith('environment')) result = withValue(result, path, value);
  }
  return result;
}

/** Finds names that are nearly names of settings, or leave out a section or unit: probably misspelt. */
function findMisspelt(env: Readonly<Record<string, string | undefined>>): IgnoredVariable[] {
  const variables = listVariables();
  const names = new Set(variables.flatMap((variable) => variable.names));
  return Object.keys(env).flatMap((name) => {
    if (!/^(SWITCHGEAR_|BB_CIRCUIT_BREAKER_)/.test(name) || name.length > 80) return [];
    if (names.has(name) || notSettings.test(name)) return [];
    const value = shorten(env[name] ?? '', quoteLengthMax);
    if (/^SWITCHGEAR_MCP_TOOLS/.test(name))
      return [{ name, value, message: `${name} is not taken: mcp.tools is set in a policy` }];
    const near = findNear(name, variables);
    return near ? [{ name, value, message: `${name} is not a setting; did you mean ${near}?` }] : [];
  });
}

/** Variables of Switchgear that are no settings. */
const notSettings = /^SWITCHGEAR_(STORE|TASK|SESSION|POLICY|TRUST|DOCTOR_KEY|(MARK|RUN)_\w+)$/;

function findNear(name: string, variables: readonly EnvironmentVariable[]): string | undefined {
  const maxEdits = name.length > 20 ? 2 : 1; // Short names differ by few letters anyway.
  // Computing all edit distances would take a hook longer than reading its policy.
  const isNear = (candidate: string) =>
    Math.abs(candidate.length - name.length) <= maxEdits && editDistance(candidate, name) <= maxEdits;
  const near = variables.flatMap((variable) => variable.names).find(isNear);
  if (near !== undefined) return near;
  const words = name.split('_').slice(1);
  const extraWords = variables.flatMap(({ path, names }) => {
    const missing = countMissing(words, path.toUpperCase().split(/[._]/));
    // A single word is a name only if it is the whole name of a setting.
    const isNamed = words.length > 1 || path.split('.').at(-1)?.toUpperCase() === words[0];
    // Of two that are as near, a limit of the task is meant.
    const distance = missing === undefined || !isNamed ? undefined : missing * 2 - Number(path.startsWith('task.'));
    return distance === undefined ? [] : [{ name: names.at(-1), distance }];
  });
  return extraWords.toSorted((one, other) => one.distance - other.distance)[0]?.name;
}

/** How many words of a setting a name leaves out; undefined if the name has others, or in another order. */
function countMissing(words: readonly string[], all: readonly string[]): number | undefined {
  let at = 0;
  for (const word of all) if (words[at] !== undefined && isSameWord(words[at]!, word)) at++;
  return at === words.length ? all.length - at : undefined;
}

/** Compares words without their plural. */
function isSameWord(one: string, other: string): boolean {
  return one.replace(/S$/, '') === other.replace(/S$/, '');
}
