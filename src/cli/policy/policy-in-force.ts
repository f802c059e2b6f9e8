/**
 * Finds the policy of a command and decides how much of it holds. A file that the operator gave is taken whole. Of a
 * file that was found in the folder, everything that tightens holds, and everything that loosens waits for trust.
 */

import { relative, resolve } from 'node:path';
import { defaultSettings } from '../../core/controls/defaults.ts';
import { SwitchgearError } from '../../core/error.ts';
import { toCamelCase } from '../../core/names.ts';
import type { Settings } from '../../core/settings.ts';
import { sha256Hex } from '../../platform/sha256.ts';
import { type CheckedPolicy, checkPolicy, markChecked } from '../../policy/check/check-policy.ts';
import { applyEnvironment, type LoosenedSetting, type MayLoosen } from '../../policy/environment.ts';
import { findPolicy, parsePolicy, readPolicyText } from '../../policy/file/files.ts';
import { tightenSettings } from '../../policy/trust/tighten-settings.ts';
import type { Terminal } from '../command.ts';
import { isPolicyVariable } from './policy-variables.ts';
import { findTrustFolder, readTrust, type TrustRecord } from './trusted-policies.ts';

/** How a command came to its policy file. */
export type PolicyOrigin = 'option' | 'variable' | 'found' | 'none';

/** A policy file as it is written, before anything is decided about it. */
export interface WrittenPolicy {
  readonly policy: CheckedPolicy;
  /** The name of the file as a person in this folder would write it; undefined without a file. */
  readonly file: string | undefined;
  readonly origin: PolicyOrigin;
  readonly digest: string | undefined;
}

/** The policy that holds for a command. */
export interface PolicyInForce extends WrittenPolicy {
  /** The trust of the user in the file, by a record or by `SWITCHGEAR_TRUST`. */
  readonly trust: TrustRecord | 'variable' | undefined;
  /** Settings of the file that wait for trust. */
  readonly waiting: readonly string[];
  /** Settings in force that protect less than the defaults. */
  readonly looser: readonly string[];
  /** Settings of the file in force that protect less than the defaults. */
  readonly looserFile: readonly string[];
  /** Environment variables that loosen the policy. */
  readonly loosened: readonly LoosenedSetting[];
  /** Sentences about variables that were not taken. */
  readonly warnings: readonly string[];
}

/**
 * Answers whether this process is below an agent that the store guards: then its environment may be the agent's, and
 * variables that loosen are not taken. Called only if there is such a variable.
 */
export interface CallerPlace {
  isBelowAgent(): Promise<boolean>;
  /** Whether no agent that the store guards can have started the process. */
  isOperator(): Promise<boolean>;
  /** Whether the operator set this variable, although the process is below the agent. */
  isGiven?(name: string, value: string): boolean;
}

/** The settings of an earlier start of the same run: what loosens them waits for trust that is given later. */
export interface EarlierSettings {
  readonly settings: Settings;
  /** The wall time of that start. */
  readonly atMs: number;
}

/** Reads the policy file of a command without the environment. */
export function readWrittenPolicy(
  policyOption: string | undefined,
  { cwd }: Pick<Terminal, 'cwd'>,
  variable?: string,
): WrittenPolicy {
  const given = policyOption ?? variable;
  const path = given === undefined ? findPolicy(cwd) : resolve(cwd, given);
  if (path === undefined) return { policy: checkPolicy({}), file: undefined, origin: 'none', digest: undefined };
  const file = given ?? relative(cwd, path);
  const text = readPolicyText(path);
  const origin = policyOption !== undefined ? 'option' : variable !== undefined ? 'variable' : 'found';
  return { policy: parsePolicy(text, file), file, origin, digest: sha256Hex(text) };
}

/** Loads the policy that holds for a command. */
export async function loadPolicyInForce(
  policyOption: string | undefined,
  terminal: Pick<Terminal, 'cwd' | 'env' | 'userHome'>,
  place: CallerPlace,
  earlier?: EarlierSettings,
): Promise<PolicyInForce> {
  const { env } = terminal;
  const warnings: string[] = [];
  const mayTake = await decideOnVariables(env, place);
  const readVariable = (name: 'SWITCHGEAR_POLICY' | 'SWITCHGEAR_TRUST'): string | undefined => {
    const value = env[name] || undefined;
    if (value === undefined || mayTake(name, value)) return value;
    warnings.push(`${name} is ignored: this process is below an agent that Switchgear guards`);
    return undefined;
  };
  const variable = policyOption === undefined ? readVariable('SWITCHGEAR_POLICY') : undefined;
  const written = readWrittenPolicy(policyOption, terminal, variable);
  const looserThanDefaults = tightenSettings(defaultSettings, written.policy.settings);
  const isGiven = written.origin !== 'found';
  const isLooser = !isGiven && looserThanDefaults.waiting.length > 0;
  const needsTrust = isLooser || (earlier !== undefined && !isAsStrict(earlier.settings, written.policy.settings));
  const trust =
    written.digest === undefined
      ? undefined
      : findTrust(written.digest, await findTrustFolder(terminal, place), needsTrust, readVariable);
  const untrusted = isLooser && trust === undefined ? looserThanDefaults : undefined;
  const found = untrusted?.settings ?? written.policy.settings;
  const isNewTrust = trust === 'variable' || (trust !== undefined && trust.atMs >= (earlier?.atMs ?? 0));
  const changed = earlier === undefined || isNewTrust ? undefined : tightenSettings(earlier.settings, found);
  const waiting = [...new Set([...(untrusted?.waiting ?? []), ...(changed?.waiting ?? [])])];
  const stricter = changed?.settings ?? found;
  const held = waiting.length === 0 ? written.policy : holdStricter(written, stricter, waiting);
  const { settings, provenance, ignored, loosened } = applyEnvironment(held, env, mayTake);
  const policy = markChecked(settings, provenance);
  warnings.push(...ignored.map(({ message }) => message));
  const looserFile = waiting.length === 0 ? looserThanDefaults.waiting : [];
  const looser = loosened.length === 0 ? looserFile : tightenSettings(defaultSettings, settings).waiting;
  return { ...written, policy, trust, waiting, looser, looserFile, loosened, warnings };
}

function isAsStrict(base: Settings, found: Settings): boolean {
  return tightenSettings(base, found).waiting.length === 0;
}

/** Asks for the place of the process once, and only if a variable could loosen something. */
async function decideOnVariables(env: Terminal['env'], place: CallerPlace): Promise<MayLoosen> {
  if (!Object.keys(env).some(isPolicyVariable) || !(await place.isBelowAgent())) return () => true;
  return (name, value) => place.isGiven?.(name, value) === true;
}

function findTrust(
  digest: string,
  folder: string,
  needsTrust: boolean,
  readVariable: (name: 'SWITCHGEAR_TRUST') => string | undefined,
): PolicyInForce['trust'] {
  const trust = readTrust(digest, folder);
  if (trust !== undefined || !needsTrust) return trust;
  const digests = (readVariable('SWITCHGEAR_TRUST') ?? '').split(/[\s,]+/);
  return digests.includes(digest) || digests.includes(`sha256:${digest}`) ? 'variable' : undefined;
}

/** The policy with the stricter settings; the origin of each waiting value says for what it waits. */
function holdStricter({ policy, file }: WrittenPolicy, settings: Settings, waiting: readonly string[]): CheckedPolicy {
  const provenance = new Map(policy.provenance);
  for (const path of waiting) {
    const { line } = policy.provenance.get(path) ?? {};
    const note = `waits for trust: ${file ?? 'the file is gone'}${line === undefined ? '' : `, line ${line}`}`;
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

/** Loads the policy of a file that must exist. */
export function requirePolicy(
  written: WrittenPolicy,
): WrittenPolicy & { readonly file: string; readonly digest: string } {
  const { file, digest } = written;
  if (file === undefined || digest === undefined)
    throw new SwitchgearError('policy_missing', 'no policy file found: looked for switchgear.toml, .yaml, .yml, .json');
  return { ...written, file, digest };
}
