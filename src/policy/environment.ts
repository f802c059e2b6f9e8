/**
 * Single values from the environment. Numbers are decimal digits with an optional fraction, trimmed: no exponent, no
 * hex. A bad value leaves what was there and is told once; nothing in the environment switches a protection off.
 */

import { quoteLengthMax } from '../core/limits.ts';
import { editDistance, shorten } from '../core/names.ts';
import { describeValue } from '../core/plain-copy.ts';
import type { Settings } from '../core/settings.ts';
import { type CheckedPolicy, markChecked } from './check/check-policy.ts';
import { findConflicts } from './check/conflicts.ts';
import { listVariables, readVariable, withValue } from './check/environment-names.ts';
import type { Provenance } from './check/report.ts';

/** A variable that was not taken. */
export interface IgnoredVariable {
  readonly name: string;
  readonly value: string;
  /** What is in force instead; absent for a name that is no setting. */
  readonly used?: unknown;
  /** The whole of it in one sentence. */
  readonly message: string;
}

/** The policy with the environment's values in it, and every variable that was not taken. */
export function applyEnvironment(
  policy: CheckedPolicy,
  env: Readonly<Record<string, string | undefined>>,
): CheckedPolicy & { readonly ignored: readonly IgnoredVariable[] } {
  const provenance = new Map(policy.provenance);
  const applied: { readonly name: string; readonly path: string; readonly before: Provenance }[] = [];
  const refused: { readonly name: string; readonly path: string; readonly problem: string }[] = [];
  for (const variable of listVariables()) {
    const { path } = variable;
    for (const name of variable.names) {
      const text = env[name];
      if (text === undefined) continue;
      const before = provenance.get(path)!;
      const { value, problem } = readVariable(variable, text);
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
    // The latest first, so that each gives way to what was there before it.
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
  return Object.assign(result, { ignored: [...ignored, ...findMisspelt(env)] });
}

/** New settings with what the environment said. */
function withValues(settings: Settings, provenance: ReadonlyMap<string, Provenance>): Settings {
  let result = settings;
  for (const { path } of listVariables()) {
    const { value, source } = provenance.get(path)!;
    if (source.startsWith('environment')) result = withValue(result, path, value);
  }
  return result;
}

/** Names that are almost ours: someone believes that they are in force. */
function findMisspelt(env: Readonly<Record<string, string | undefined>>): IgnoredVariable[] {
  const names = listVariables().flatMap(({ names }) => names);
  return Object.keys(env).flatMap((name) => {
    if (!/^(SWITCHGEAR_|BB_CIRCUIT_BREAKER_)/.test(name) || name.length > 80 || names.includes(name)) return [];
    const maxEdits = name.length > 20 ? 2 : 1; // Short names are near to each other by nature.
    // To compare all of them letter by letter takes a hook longer than its policy.
    const isNear = (candidate: string) =>
      Math.abs(candidate.length - name.length) <= maxEdits && editDistance(candidate, name) <= maxEdits;
    const near = names.find(isNear);
    const value = shorten(env[name] ?? '', quoteLengthMax);
    return near ? [{ name, value, message: `${name} is not a setting; did you mean ${near}?` }] : [];
  });
}
