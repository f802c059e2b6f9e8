/** Who runs a run keeps saying so, and hears when somebody else has it or it was cancelled. */

import { leaseMs, runRenewMs } from '../../core/limits.ts';
import { type ActiveRun, writeTransition } from './storage/run-context.ts';
import { lookAtRun, runKey } from './storage/runs.ts';

/** Says every few seconds that the owner lives, and looks whether it still is the owner. */
export function keepLease(active: ActiveRun, leave: () => void): () => void {
  const { store, clock, by } = active;
  let stopped = false;
  let disarm = () => {};
  const renew = async () => {
    await writeTransition(active, { type: 'renewed', by, untilMs: clock.nowMs() + leaseMs });
    if (active.lost && !stopped) leave();
    else if (!stopped) arm();
  };
  const arm = () => {
    disarm = clock.after(runRenewMs, () => void renew().catch(leave));
  };
  const look = async () => {
    const now = await lookAtRun(store, active.run);
    if (stopped || now === undefined || now.owner?.process === by) return;
    active.lost = true;
    leave();
  };
  const unwatch = store.shared?.watch((hint) => {
    if (hint.type === 'cell-changed' && hint.key === runKey(active.run.id)) void look().catch(leave);
  });
  arm();
  return () => {
    stopped = true;
    disarm();
    unwatch?.();
  };
}
