/**
 * The place of a hook. Its variables are those of its host. They may be an agent's if the host is below another agent
 * that the store guards, or below a live run; what the operator gave to that run is known by its record.
 */

import type { HookOrigin } from '../../hooks/hook-origin.ts';
import type { Store } from '../../ports/store.ts';
import { type Placement, placeProcess } from '../../supervisor/guarded-agents.ts';
import { readProcessChain } from '../../supervisor/process-chain.ts';
import { isAlive, type RunRecord, readStoredRun } from '../../supervisor/run-record.ts';
import type { Terminal } from '../command.ts';
import type { CallerPlace } from './policy-in-force.ts';

export function placeOfHook(store: Store, env: Terminal['env'], origin: HookOrigin | undefined): CallerPlace {
  let run: RunRecord | undefined;
  const findKind = async (): Promise<Placement['kind']> => {
    const { SWITCHGEAR_TASK: task } = env;
    run = task ? await readStoredRun(store, task) : undefined;
    if (run?.state === 'running' && isAlive(run.owner)) return 'guarded';
    const { host } = origin ?? {};
    if (host === undefined) return 'operator';
    return (await placeProcess(store, env, readProcessChain(host.parent), host)).kind;
  };
  return {
    isBelowAgent: async () => (await findKind()) === 'guarded',
    isOperator: async () => (await findKind()) === 'operator',
    isGiven: (name, value) => run?.variables?.[name] === value,
  };
}
