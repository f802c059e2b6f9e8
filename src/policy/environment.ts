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
import { type CheckedPolicy, markChecked } from './check/check-policy.ts';
import { findConflicts } from './check/conflicts.ts';
import { listVariables, readVariable, withValue } from './check/environment-names.ts';
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
  for (const variable of listVariables()) {
    const { path } = variable;
    for (const name of variable.names) {
      const text = env[name];
      if (text === undefined) continue;
      const before = provenance.get(path)!;
      const { value, problem: invalid } = readVariable(variable, text);
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
    const message = `${name}=${describeValue(value)} is ignored: it ${problem}; ${used} is used`;
    return { name, value: shorten(value, quoteLengthMax), used, message };
  });
  const result = markChecked(withValues(policy.settings, provenance), provenance);
  return Object.assign(result, { ignored: [...ignored, ...findMisspelt(env)], loosened: listLoosened(policy, result) });
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

/** Finds names that are nearly names of settings: probably misspelt. */
function findMisspelt(env: Readonly<Record<string, string | undefined>>): IgnoredVariable[] {
  const names = listVariables().flatMap(({ names }) => names);
  return Object.keys(env).flatMap((name) => {
    if (!/^(SWITCHGEAR_|BB_CIRCUIT_BREAKER_)/.test(name) || name.length > 80 || names.includes(name)) return [];
    const maxEdits = name.length > 20 ? 2 : 1; // Short names differ by few letters anyway.
    // Computing all edit distances would take a hook longer than reading its policy.
    const isNear = (candidate: string) =>
      Math.abs(candidate.length - name.length) <= maxEdits && editDistance(candidate, name) <= maxEdits;
    const near = names.find(isNear);
    const value = shorten(env[name] ?? '', quoteLengthMax);
    return near ? [{ name, value, message: `${name} is not a setting; did you mean ${near}?` }] : [];
  });
}
