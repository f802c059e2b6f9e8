/**
 * Finds the policy of a command and decides how much of it holds. A file that the operator gave is taken whole. Of a
 * file that was found in the folder, everything that tightens holds, and everything that loosens waits for trust.
 */

import { defaultSettings } from '../../core/controls/defaults.ts';
import { markChecked } from '../../policy/check/check-policy.ts';
import { applyEnvironment, type LoosenedSetting, type MayLoosen } from '../../policy/environment.ts';
import {
  type EarlierSettings,
  type HeldPolicy,
  holdPolicy,
  readWrittenPolicy,
} from '../../policy/file/written-policy.ts';
import { tightenSettings } from '../../policy/trust/tighten-settings.ts';
import type { Terminal } from '../command.ts';
import { isPolicyVariable } from './policy-variables.ts';
import { findTrustFolder } from './trust-folder.ts';

/** The policy that holds for a command. */
export interface PolicyInForce extends HeldPolicy {
  /** Settings in force that protect less than the defaults. */
  readonly looser: readonly string[];
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
  const folders = written.digest === undefined ? [] : [await findTrustFolder(terminal, place)];
  const held = holdPolicy(written, folders, () => readVariable('SWITCHGEAR_TRUST'), earlier);
  const { settings, provenance, ignored, loosened } = applyEnvironment(held.policy, env, mayTake);
  const policy = markChecked(settings, provenance, { project: held.folder });
  warnings.push(...ignored.map(({ message }) => message));
  const looser = loosened.length === 0 ? held.looserFile : tightenSettings(defaultSettings, settings).waiting;
  return { ...held, policy, looser, loosened, warnings };
}

/** Asks for the place of the process once, and only if a variable could loosen something. */
async function decideOnVariables(env: Terminal['env'], place: CallerPlace): Promise<MayLoosen> {
  if (!Object.keys(env).some(isPolicyVariable) || !(await place.isBelowAgent())) return () => true;
  return (name, value) => place.isGiven?.(name, value) === true;
}
