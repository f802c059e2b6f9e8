/** The folder of the user in which Switchgear keeps its store, trust and passwords. */

import { homedir, userInfo } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { Homes } from './policy-files.ts';

/** Returns `$XDG_STATE_HOME/switchgear`; ignores a relative `XDG_STATE_HOME`, as the XDG standard says. */
export function stateFolder(env: Homes['env']): string {
  const { XDG_STATE_HOME: state = '' } = env;
  return join(isAbsolute(state) ? state : join(findHomeFolder(env), '.local', 'state'), 'switchgear');
}

/** Returns the state folder in the home that the system knows for the user; an environment cannot move it. */
export function userStateFolder({ env, userHome }: Homes): string {
  try {
    return join(userHome ?? userInfo().homedir, '.local', 'state', 'switchgear');
  } catch {
    return stateFolder(env); // A user without an entry, as in some containers.
  }
}

export function findHomeFolder({ HOME }: Homes['env']): string {
  return HOME || homedir();
}
