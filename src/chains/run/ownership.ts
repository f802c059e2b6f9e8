/** Who runs a run: a process that says every few seconds that it lives, and that can be asked on its own machine. */

import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { leaseMs } from '../../core/limits.ts';
import type { Store } from '../../ports/store.ts';
import type { RunOwner } from './state/run-state.ts';

let attempts = 0;
let machine: string | undefined;

/** This process, for one attempt to run something. */
export function createOwner({ shared, clock }: Store): RunOwner {
  const processId = `${shared?.process ?? `local-${process.pid}`}-${++attempts}`;
  return { process: processId, untilMs: clock.nowMs() + leaseMs, pid: process.pid, machine: machineId() };
}

/** Whether the owner is known to be gone: its lease is over, or this machine has no such process. */
export function isOwnerGone(owner: RunOwner, atMs: number): boolean {
  return atMs >= owner.untilMs || (owner.machine === machineId() && !isAlive(owner.pid));
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'; // Somebody else's process lives, too.
  }
}

/** Names the machine since its start, and the room in which processes are numbered: containers have their own. */
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
