/** Whether the environment of a hook comes from a live run: then the variables of the hook may be the agent's. */

import type { Store } from '../../ports/store.ts';
import { isAlive, readStoredRun } from '../../supervisor/run-record.ts';

export async function isBelowRun(
  store: Store,
  { SWITCHGEAR_TASK: task }: Readonly<Record<string, string | undefined>>,
): Promise<boolean> {
  const run = task ? await readStoredRun(store, task) : undefined;
  return run?.state === 'running' && isAlive(run.owner);
}
