/**
 * Single values from the environment. Numbers are decimal digits with an optional fraction, trimmed: no exponent, no
 * hex. A bad value leaves what was there and is told once; nothing in the environment switches a protection off.
 */

import { quoteLengthMax } from '../core/limits.ts';
import { editDistance, shorten } from '../core/names.ts';
import { describeValue } from '../core/plain-copy.ts';
import type { Settings } from '../core/settings.ts';
import { type CheckedPolicy, checked } from './check/check-policy.ts';
import { conflictsOf } from './check/conflicts.ts';
import { readVariable, variables, withValue } from './check/environment-names.ts';
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
  const taken: { readonly name: string; readonly path: string; readonly before: Provenance }[] = [];
  const refused: { readonly name: string; readonly path: string; readonly problem: string }[] = [];
  for (const variable of variables()) {
    const { path } = variable;
    for (const name of variable.names) {
      const text = env[name];
      if (text === undefined) continue;
      const before = provenance.get(path)!;
      const { value, problem } = readVariable(variable, text);
      if (problem) refused.push({ name, path, problem: problem.replace(/(, got .*| or "none".*)$/s, '') });
      else {
        taken.unshift({ name, path, before });
        provenance.set(path, { value, source: `environment ${name}` });
      }
    }
  }
  for (const { names, problem } of conflictsOf(withValues(policy.settings, provenance), (path) =>
    provenance.has(path),
  )) {
    // The latest first, so that each gives way to what was there before it.
    for (const { name, path, before } of taken) {
      if (!names.includes(path.split('.').at(-1)!) || refused.some((one) => one.name === name)) continue;
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
  const result = checked(withValues(policy.settings, provenance), provenance);
  return Object.assign(result, { ignored: [...ignored, ...misspelt(env)] });
}

/** New settings with what the environment said. */
function withValues(settings: Settings, provenance: ReadonlyMap<string, Provenance>): Settings {
  let result = settings;
  for (const { path } of variables()) {
    const { value, source } = provenance.get(path)!;
    if (source.startsWith('environment')) result = withValue(result, path, value);
  }
  return result;
}

/** Names that are almost ours: someone believes that they are in force. */
function misspelt(env: Readonly<Record<string, string | undefined>>): IgnoredVariable[] {
  const known = variables().flatMap(({ names }) => names);
  return Object.keys(env).flatMap((name) => {
    if (!/^(SWITCHGEAR_|BB_CIRCUIT_BREAKER_)/.test(name) || name.length > 80 || known.includes(name)) return [];
    const most = name.length > 20 ? 2 : 1; // Short names are near to each other by nature.
    // To compare all of them letter by letter takes a hook longer than its policy.
    const isNear = (one: string) => Math.abs(one.length - name.length) <= most && editDistance(one, name) <= most;
    const near = known.find(isNear);
    const value = shorten(env[name] ?? '', quoteLengthMax);
    return near ? [{ name, value, message: `${name} is not a setting; did you mean ${near}?` }] : [];
  });
}
