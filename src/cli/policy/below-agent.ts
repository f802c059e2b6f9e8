/** Whether this process is below an agent that a store guards. */

import type { Store } from '../../ports/store.ts';
import { isAlive, readStoredRun } from '../../supervisor/run-record.ts';

export async function isBelowGuardedAgent(
  store: Store,
  { SWITCHGEAR_TASK: task }: Readonly<Record<string, string | undefined>>,
): Promise<boolean> {
  const run = task ? await readStoredRun(store, task) : undefined;
  return run?.state === 'running' && isAlive(run.owner);
}
