/** Finds the policy of a command: the given file, or the file in the folder, or the defaults. */

import { relative, resolve } from 'node:path';
import { applyEnvironment, type CheckedPolicy, checkPolicy, findPolicy, loadPolicy } from '../policy/index.ts';
import type { Terminal } from './command.ts';

/** A policy and the name of its file, as a person in this folder would write it. */
export interface LoadedPolicy {
  readonly policy: CheckedPolicy;
  readonly file: string | undefined;
}

/** Loads the policy without the environment. */
export function loadWrittenPolicy(policyOption: string | undefined, { cwd }: Terminal): LoadedPolicy {
  const path = policyOption === undefined ? findPolicy(cwd) : resolve(cwd, policyOption);
  if (path === undefined) return { policy: checkPolicy({}), file: undefined };
  const file = policyOption ?? relative(cwd, path);
  return { policy: loadPolicy(path, file), file };
}

/** Loads the policy with the environment; reports ignored variables. */
export function loadEffectivePolicy(policyOption: string | undefined, terminal: Terminal): LoadedPolicy {
  const { policy, file } = loadWrittenPolicy(policyOption, terminal);
  const effective = applyEnvironment(policy, terminal.env);
  for (const { message } of effective.ignored) terminal.err(`warning: ${message}`);
  return { policy: effective, file };
}
