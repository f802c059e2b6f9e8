/** The owner of a run: one process, which renews a lease and whose process id its own machine can check. */

import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { leaseMs, runRenewMs } from '../../core/limits.ts';
import type { Store } from '../../ports/store.ts';
import type { RunOwner } from './state/run-state.ts';
import { type ActiveRun, writeTransition } from './storage/active-run.ts';
import { reloadRun, runKey } from './storage/runs.ts';

let attempts = 0;
let machine: string | undefined;

/** Describes this process as the owner of one attempt. */
export function createOwner({ shared, clock }: Store): RunOwner {
  const processId = `${shared?.process ?? `local-${process.pid}`}-${++attempts}`;
  return { process: processId, untilMs: clock.nowMs() + leaseMs, pid: process.pid, machine: machineId() };
}

/** Whether the owner is gone: its lease has expired, or this machine has no process with its id. */
export function isOwnerGone(owner: RunOwner, atMs: number): boolean {
  return atMs >= owner.untilMs || (owner.machine === machineId() && !isAlive(owner.pid));
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'; // EPERM: a living process of another user.
  }
}

/** Identifies the machine, its boot and its pid namespace: containers number processes on their own. */
function machineId(): string {
  machine ??= [
    hostname(),
    tryRead(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()),
    readPidNamespace(),
  ]
    .filter((part) => part !== undefined)
    .join(' ');
  return machine;
}

function readPidNamespace(): string | undefined {
  return tryRead(() => readlinkSync('/proc/self/ns/pid'));
}

function tryRead(readValue: () => string): string | undefined {
  try {
    return readValue();
  } catch {
    return undefined; // Not a Linux machine.
  }
}

/** Renews the lease of a run until the returned function is called; calls `onLost` if another process owns the run. */
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
