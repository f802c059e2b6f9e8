/**
 * Finds and reads a policy file, and decides how much of it holds. A file that was given is taken whole. Of a file that
 * was found in a folder, everything that tightens holds, and everything that loosens waits for trust.
 */

import { dirname, relative, resolve } from 'node:path';
import { defaultSettings } from '../../core/controls/defaults.ts';
import { SwitchgearError } from '../../core/error.ts';
import { toCamelCase } from '../../core/names.ts';
import type { Settings } from '../../core/settings.ts';
import type { Homes } from '../../platform/policy-files.ts';
import { sha256Hex } from '../../platform/sha256.ts';
import { type CheckedPolicy, checkPolicy, markChecked } from '../check/check-policy.ts';
import { tightenSettings } from '../trust/tighten-settings.ts';
import { readTrust, type TrustRecord } from '../trust/trusted-files.ts';
import { findPolicy, parsePolicy, readPolicyText } from './files.ts';

/** How a process came to its policy file. */
export type PolicyOrigin = 'option' | 'variable' | 'found' | 'none';

/** A policy file as it is written, before anything is decided about it. */
export interface WrittenPolicy {
  readonly policy: CheckedPolicy;
  /** The name of the file as a person in this folder would write it; undefined without a file. */
  readonly file: string | undefined;
  /** The folder of a file that was found; undefined for a file that was given. */
  readonly folder: string | undefined;
  readonly origin: PolicyOrigin;
  readonly digest: string | undefined;
}

/** A policy file of which what loosens waits, unless a person gave or trusts the file. */
export interface HeldPolicy extends WrittenPolicy {
  /** The trust of the user in the file, by a record or by `SWITCHGEAR_TRUST`. */
  readonly trust: TrustRecord | 'variable' | undefined;
  /** Settings of the file that wait for trust. */
  readonly waiting: readonly string[];
  /** Settings of the file in force that protect less than the defaults. */
  readonly looserFile: readonly string[];
}

/** The folder to search from, and the homes that end the search. */
export interface PolicyPlace extends Homes {
  readonly cwd: string;
}

/** Reads the policy file of a process without the environment. */
export function readWrittenPolicy(option: string | undefined, place: PolicyPlace, variable?: string): WrittenPolicy {
  const { cwd } = place;
  const given = option ?? variable;
  const path = given === undefined ? findPolicy(cwd, place) : resolve(cwd, given);
  if (path === undefined)
    return { policy: checkPolicy({}), file: undefined, folder: undefined, origin: 'none', digest: undefined };
  const file = given ?? relative(cwd, path);
  const folder = given === undefined ? dirname(path) : undefined;
  const text = readPolicyText(path);
  const origin = option !== undefined ? 'option' : variable !== undefined ? 'variable' : 'found';
  return { policy: parsePolicy(text, file), file, folder, origin, digest: sha256Hex(text) };
}

/** Reads the policy of a file that must exist. */
export function requirePolicy(
  written: WrittenPolicy,
): WrittenPolicy & { readonly file: string; readonly digest: string } {
  const { file, digest } = written;
  if (file === undefined || digest === undefined)
    throw new SwitchgearError(
      'policy_missing',
      'no policy file found: looked for switchgear.toml, .yaml, .yml, .json here and up to the root of the repository',
    );
  return { ...written, file, digest };
}

/** The settings of an earlier start of the same run: what loosens them waits for trust that is given later. */
export interface EarlierSettings {
  readonly settings: Settings;
  /** The wall time of that start. */
  readonly atMs: number;
}

/** Holds back what a found file loosens, unless the file is trusted by a record or by the variable. */
export function holdPolicy(
  written: WrittenPolicy,
  trustFolders: readonly string[],
  readTrustVariable: () => string | undefined,
  earlier?: EarlierSettings,
): HeldPolicy {
  const { digest, origin, policy } = written;
  const looserThanDefaults = tightenSettings(defaultSettings, policy.settings);
  const isLooser = origin === 'found' && looserThanDefaults.waiting.length > 0;
  const needsTrust = isLooser || (earlier !== undefined && !isAsStrict(earlier.settings, policy.settings));
  const trust = digest === undefined ? undefined : findTrust(digest, trustFolders, needsTrust, readTrustVariable);
  const untrusted = isLooser && trust === undefined ? looserThanDefaults : undefined;
  const found = untrusted?.settings ?? policy.settings;
  const isNewTrust = trust === 'variable' || (trust !== undefined && trust.atMs >= (earlier?.atMs ?? 0));
  const changed = earlier === undefined || isNewTrust ? undefined : tightenSettings(earlier.settings, found);
  const waiting = [...new Set([...(untrusted?.waiting ?? []), ...(changed?.waiting ?? [])])];
  if (waiting.length === 0) return { ...written, trust, waiting, looserFile: looserThanDefaults.waiting };
  const held = holdStricter(written, changed?.settings ?? found, waiting);
  return { ...written, policy: held, trust, waiting, looserFile: [] };
}

function isAsStrict(base: Settings, found: Settings): boolean {
  return tightenSettings(base, found).waiting.length === 0;
}

function findTrust(
  digest: string,
  folders: readonly string[],
  needsTrust: boolean,
  readTrustVariable: () => string | undefined,
): HeldPolicy['trust'] {
  for (const folder of folders) {
    const trust = readTrust(digest, folder);
    if (trust !== undefined) return trust;
  }
  if (!needsTrust) return undefined;
  const digests = (readTrustVariable() ?? '').split(/[\s,]+/);
  return digests.includes(digest) || digests.includes(`sha256:${digest}`) ? 'variable' : undefined;
}

/** The policy with the stricter settings; the origin of each waiting value says for what it waits. */
function holdStricter({ policy, file }: WrittenPolicy, settings: Settings, waiting: readonly string[]): CheckedPolicy {
  const provenance = new Map(policy.provenance);
  for (const path of waiting) {
    const { line } = policy.provenance.get(path) ?? {};
    const note = `waits for trust: ${file}${line === undefined ? '' : `, line ${line}`}`;
    const [section, name] = path.split('.').map(toCamelCase) as [keyof Settings, string?];
    const part = settings[section] as unknown;
    const value = name === undefined ? part : (part as Readonly<Record<string, unknown>> | undefined)?.[name];
    // Overrides of tools and agents that wait are not in force at all.
    if (section === 'tools' || section === 'agents') provenance.delete(path);
    else
      provenance.set(path, { value: Array.isArray(value) ? [...value] : (value ?? 'none'), source: 'default', note });
  }
  return markChecked(settings, provenance);
}
