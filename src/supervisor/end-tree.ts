/** How a process tree is ended: asked as its program understands it, given time, then killed until nothing is left. */

import { killRoundsMax, leftoverGraceMs, treePollMs } from '../core/limits.ts';
import { wait } from '../platform/system-clock.ts';
import type { Clock } from '../ports/clock.ts';
import type { ProcessInfo } from './process-table.ts';
import type { ProcessTree } from './process-tree.ts';

export interface EndTreeOptions {
  /** What asks the program to end. */
  readonly signal: 'SIGINT' | 'SIGTERM';
  /** How long it may take over it. */
  readonly graceMs: number;
  /** Aborted when it has to be over at once. */
  readonly hurry?: AbortSignal;
}

export interface EndTreeResult {
  /** Processes that were there when it began or came meanwhile, and those of them that had to be killed. */
  readonly total: number;
  readonly killed: number;
  /** What lives all the same, as a process of somebody else would. */
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
    // The program has ended and left tools behind, which nobody has asked yet.
    isOrphaned = true;
    for (const each of alive) sendSignal(each.pid, 'SIGTERM');
    untilMs = Math.min(untilMs, clock.nowMs() + leftoverGraceMs);
  }
  const killed = new Set<number>();
  // Whoever is killed may just have started another, and one that is just being started shows no environment: it is
  // over when two looks find nobody.
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

/** Has a tree stand still, or go on. */
export function signalTree(tree: ProcessTree, signal: 'SIGSTOP' | 'SIGCONT'): void {
  for (const { pid } of tree.scan()) sendSignal(pid, signal);
}

/** The command with its group; a launcher alone would not pass the signal on. */
function signalCommand({ root }: ProcessTree, processes: readonly ProcessInfo[], signal: NodeJS.Signals): void {
  if (root === undefined) for (const { pid } of processes) sendSignal(pid, signal);
  else for (const { pid, group } of processes) if (pid === root.pid || group === root.pid) sendSignal(pid, signal);
  for (const { pid } of processes) sendSignal(pid, 'SIGCONT'); // One that stands still hears nothing else.
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It is gone, which is what was wanted, or is not ours to end, which the next look shows.
  }
}
