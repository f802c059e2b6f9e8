/** Ends a process tree: sends the signal that the program expects, waits, and then kills until no process is left. */

import { killRoundsMax, leftoverGraceMs, treePollMs } from '../core/limits.ts';
import { wait } from '../platform/system-clock.ts';
import type { Clock } from '../ports/clock.ts';
import type { ProcessInfo } from './process-table.ts';
import type { ProcessTree } from './process-tree.ts';

export interface EndTreeOptions {
  /** The signal that asks the program to end. */
  readonly signal: 'SIGINT' | 'SIGTERM';
  /** The time the program has to end. */
  readonly graceMs: number;
  /** Aborts to end the wait and kill at once. */
  readonly hurry?: AbortSignal;
}

export interface EndTreeResult {
  /** The number of processes, including new ones, and of those that had to be killed. */
  readonly total: number;
  readonly killed: number;
  /** Processes that could not be ended, such as those of another user. */
  readonly surviving: readonly number[];
}

export async function endTree(tree: ProcessTree, clock: Clock, options: EndTreeOptions): Promise<EndTreeResult> {
  const { signal, graceMs, hurry } = options;
  const pids = new Set<number>();
  const scan = () => {
    const processes = tree.scan();
    for (const { pid } of processes) pids.add(pid);
    return processes;
  };
  const initial = scan();
  signalCommand(tree, initial, signal);
  let alive = initial;
  let untilMs = clock.nowMs() + graceMs;
  let isOrphaned = false;
  while (alive.length > 0 && clock.nowMs() < untilMs && hurry?.aborted !== true) {
    await wait(clock, treePollMs, hurry);
    alive = scan();
    if (isOrphaned || tree.hasRoot()) continue;
    // The program has ended and left tool processes, which have not got the signal yet.
    isOrphaned = true;
    for (const each of alive) sendSignal(each.pid, 'SIGTERM');
    untilMs = Math.min(untilMs, clock.nowMs() + leftoverGraceMs);
  }
  const killed = new Set<number>();
  // A killed process may just have started another one, and a starting process has no environment yet. So the end is
  // reached when two scans in a row find no process.
  for (let round = 0, calm = 0; calm < 2 && round < killRoundsMax; round++) {
    for (const { pid } of alive) {
      killed.add(pid);
      sendSignal(pid, 'SIGKILL');
    }
    await wait(clock, treePollMs / 2);
    alive = scan();
    calm = alive.length === 0 ? calm + 1 : 0;
  }
  return { total: pids.size, killed: killed.size, surviving: alive.map(({ pid }) => pid) };
}

/** Suspends or resumes a process tree. */
export function signalTree(tree: ProcessTree, signal: 'SIGSTOP' | 'SIGCONT'): void {
  for (const { pid } of tree.scan()) sendSignal(pid, signal);
}

/** Sends a signal to the command and its process group, because a launcher may not forward it. */
function signalCommand({ root }: ProcessTree, processes: readonly ProcessInfo[], signal: NodeJS.Signals): void {
  if (root === undefined) for (const { pid } of processes) sendSignal(pid, signal);
  else for (const { pid, group } of processes) if (pid === root.pid || group === root.pid) sendSignal(pid, signal);
  for (const { pid } of processes) sendSignal(pid, 'SIGCONT'); // A suspended process does not handle other signals.
}

/** Kills processes at once; returns their number. */
export function killProcesses(processes: readonly ProcessInfo[]): number {
  for (const { pid } of processes) sendSignal(pid, 'SIGKILL');
  return processes.length;
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process is gone, or belongs to another user, which the next scan shows.
  }
}
