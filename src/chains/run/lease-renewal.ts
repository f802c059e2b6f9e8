/** Who runs a run keeps saying so, and hears when somebody else has it or it was cancelled. */

import { leaseMs, runRenewMs } from '../../core/limits.ts';
import { type ActiveRun, writeTransition } from './storage/active-run.ts';
import { reloadRun, runKey } from './storage/runs.ts';

/** Says every few seconds that the owner lives, and looks whether it still is the owner. */
export function startLeaseRenewal(active: ActiveRun, onLost: () => void): () => void {
  const { store, clock, by } = active;
  let stop = false;
  let disarm = () => {};
  const renew = async () => {
    await writeTransition(active, { type: 'renewed', by, untilMs: clock.nowMs() + leaseMs });
    if (active.lost && !stop) onLost();
    else if (!stop) arm();
  };
  const arm = () => {
    disarm = clock.after(runRenewMs, () => void renew().catch(onLost));
  };
  const checkOwner = async () => {
    const stored = await reloadRun(store, active.run);
    if (stop || stored === undefined || stored.owner?.process === by) return;
    active.lost = true;
    onLost();
  };
  const unwatch = store.shared?.watch((hint) => {
    if (hint.type === 'cell-changed' && hint.key === runKey(active.run.id)) void checkOwner().catch(onLost);
  });
  arm();
  return () => {
    stop = true;
    disarm();
    unwatch?.();
  };
}
