/** Finds the state folder whose trust counts for a process. */

import { stateFolder, userStateFolder } from '../../platform/state-folder.ts';
import type { Terminal } from '../command.ts';
import type { CallerPlace } from './policy-in-force.ts';

/**
 * Finds the state folder whose trust counts for a process. An agent can set HOME and XDG_STATE_HOME, so a process that
 * may be an agent's reads the home that the system knows, unless the operator gave these variables to its run.
 */
export async function findTrustFolder(
  terminal: Pick<Terminal, 'env' | 'userHome'>,
  place: CallerPlace,
): Promise<string> {
  const { env } = terminal;
  const [given, own] = [stateFolder(env), userStateFolder(terminal)];
  if (given === own || (await place.isOperator())) return given;
  const isGiven = (name: string) => !env[name] || place.isGiven?.(name, env[name]) === true;
  return isGiven('HOME') && isGiven('XDG_STATE_HOME') && place.isGiven !== undefined ? given : own;
}
