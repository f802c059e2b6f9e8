/** How a process tree is ended: asked as its program understands it, given time, then killed until nothing is left. */

import { killRoundsMax, leftoverGraceMs, treePollMs } from '../core/limits.ts';
import { wait } from '../platform/system-clock.ts';
import type { Clock } from '../ports/clock.ts';
import type { Process } from './process-table.ts';
import type { ProcessTree } from './process-tree.ts';

export interface EndOptions {
  /** What asks the program to end. */
  readonly signal: 'SIGINT' | 'SIGTERM';
  /** How long it may take over it. */
  readonly graceMs: number;
  /** Aborted when it has to be over at once. */
  readonly hurry?: AbortSignal;
}

export interface Ended {
  /** Processes that were there when it began or came meanwhile, and those of them that had to be killed. */
  readonly met: number;
  readonly killed: number;
  /** What lives all the same, as a process of somebody else would. */
  readonly left: readonly number[];
}

export async function endTree(tree: ProcessTree, clock: Clock, options: EndOptions): Promise<Ended> {
  const { signal, graceMs, hurry } = options;
  const met = new Set<number>();
  const look = () => {
    const found = tree.look();
    for (const { pid } of found) met.add(pid);
    return found;
  };
  const first = look();
  ask(tree, first, signal);
  let living = first;
  let untilMs = clock.nowMs() + graceMs;
  let isOrphaned = false;
  while (living.length > 0 && clock.nowMs() < untilMs && hurry?.aborted !== true) {
    await wait(clock, treePollMs, hurry);
    living = look();
    if (isOrphaned || tree.hasRoot()) continue;
    // The program has ended and left tools behind, which nobody has asked yet.
    isOrphaned = true;
    for (const each of living) send(each.pid, 'SIGTERM');
    untilMs = Math.min(untilMs, clock.nowMs() + leftoverGraceMs);
  }
  const killed = new Set<number>();
  // Whoever is killed may just have started another, and one that is just being started shows no environment: it is
  // over when two looks find nobody.
  for (let round = 0, calm = 0; calm < 2 && round < killRoundsMax; round++) {
    for (const { pid } of living) {
      killed.add(pid);
      send(pid, 'SIGKILL');
    }
    await wait(clock, treePollMs / 2);
    living = look();
    calm = living.length === 0 ? calm + 1 : 0;
  }
  return { met: met.size, killed: killed.size, left: living.map(({ pid }) => pid) };
}

/** Has a tree stand still, or go on. */
export function stopOrGo(tree: ProcessTree, signal: 'SIGSTOP' | 'SIGCONT'): void {
  for (const { pid } of tree.look()) send(pid, signal);
}

/** The command with its group; a launcher alone would not pass the signal on. */
function ask({ root }: ProcessTree, found: readonly Process[], signal: NodeJS.Signals): void {
  if (root === undefined) for (const { pid } of found) send(pid, signal);
  else for (const { pid, group } of found) if (pid === root.pid || group === root.pid) send(pid, signal);
  for (const { pid } of found) send(pid, 'SIGCONT'); // One that stands still hears nothing else.
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It is gone, which is what was wanted, or is not ours to end, which the next look shows.
  }
}
