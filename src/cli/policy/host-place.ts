/**
 * The place of a hook or a proxy. Its variables are those of its host. They may be an agent's if the host is below
 * another agent that the store guards, or below a live run; what the operator gave to that run is known by its record.
 */

import type { Store } from '../../ports/store.ts';
import { type Placement, placeProcess } from '../../supervisor/guarded-agents.ts';
import { readProcessChain } from '../../supervisor/process-chain.ts';
import type { ProcessInfo } from '../../supervisor/process-table.ts';
import { isAlive, type RunRecord, readStoredRun } from '../../supervisor/run-record.ts';
import type { Terminal } from '../command.ts';
import type { CallerPlace } from './policy-in-force.ts';

/** @param around The run around the host, if it is known. */
export function placeBelowHost(
  store: Store,
  env: Terminal['env'],
  host: ProcessInfo | undefined,
  around?: RunRecord,
): CallerPlace {
  let run = around;
  const findKind = async (): Promise<Placement['kind']> => {
    const { SWITCHGEAR_TASK: task } = env;
    run ??= task ? await readStoredRun(store, task) : undefined;
    if (run?.state === 'running' && isAlive(run.owner)) return 'guarded';
    if (host === undefined) return 'operator';
    return (await placeProcess(store, env, readProcessChain(host.parent), host)).kind;
  };
  return {
    isBelowAgent: async () => (await findKind()) === 'guarded',
    isOperator: async () => (await findKind()) === 'operator',
    isGiven: (name, value) => run?.variables?.[name] === value,
  };
}
