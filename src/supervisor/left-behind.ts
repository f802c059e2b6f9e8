/** Handles the programs that an agent has left running: gives them time to end, then ends and names them. */

import { leftBehindMs, leftoverGraceMs, namedProcessesMax, treePollMs } from '../core/limits.ts';
import { wait } from '../platform/system-clock.ts';
import type { Clock } from '../ports/clock.ts';
import { endTree } from './end-tree.ts';
import { type ProcessInfo, readProcessorTicks } from './process-table.ts';
import type { ProcessTree } from './process-tree.ts';

/** The programs that an agent has left running. */
export interface LeftBehind {
  readonly processes: readonly LeftProcess[];
  /** Whether they were ended, have ended by themselves, or still run. */
  readonly how: 'ended' | 'finished' | 'left';
  /** Whether they did work of their own after the end of the agent: used the processor, or started programs. */
  readonly worked: boolean;
}

export interface LeftProcess {
  readonly pid: number;
  readonly name: string;
}

export interface LeftBehindOptions {
  readonly mode: 'end' | 'leave' | 'wait';
  readonly graceMs: number;
  /** Aborts when the tree is being ended for another reason. */
  readonly stop: AbortSignal;
}

/** Waits for the remaining programs and ends them as the options say; returns undefined if there were none. */
export async function handleLeftBehind(
  tree: ProcessTree,
  clock: Clock,
  { mode, graceMs, stop }: LeftBehindOptions,
): Promise<LeftBehind | undefined> {
  const startedMs = clock.nowMs();
  let alive = tree.scan();
  // Tools of an agent usually end right after it, and are not worth a word.
  while (alive.length > 0 && clock.nowMs() - startedMs < leftBehindMs && !stop.aborted) {
    await wait(clock, treePollMs, stop);
    alive = tree.scan();
  }
  if (alive.length === 0 || stop.aborted) return undefined;
  const work = measureWork(alive);
  const left = nameProcesses(alive);
  if (mode === 'leave') return { processes: left, how: 'left', worked: false };
  const untilMs = mode === 'wait' ? Number.POSITIVE_INFINITY : startedMs + graceMs;
  while (alive.length > 0 && clock.nowMs() < untilMs && !stop.aborted) {
    await wait(clock, Math.min(treePollMs, Math.max(1, untilMs - clock.nowMs())), stop);
    alive = tree.scan();
    work.look(alive);
  }
  if (alive.length === 0) return { processes: left, how: 'finished', worked: work.worked };
  const last = nameProcesses(alive);
  if (!stop.aborted) await endTree(tree, clock, { signal: 'SIGTERM', graceMs: Math.min(graceMs, leftoverGraceMs) });
  return { processes: last, how: 'ended', worked: work.worked };
}

/** Names processes for a person: `node (1234), sleep (1235)`. */
export function formatProcesses(processes: readonly LeftProcess[]): string {
  const shown = processes.slice(0, namedProcessesMax).map(({ name, pid }) => `${name} (${pid})`);
  const more = processes.length - shown.length;
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ');
}

/** The names of processes; a program chooses its own name, so only plain characters of it are kept. */
export function nameProcesses(processes: readonly ProcessInfo[]): readonly LeftProcess[] {
  return processes.map(({ pid, name }) => ({ pid, name: name.replaceAll(/[^\w.:+-]+/g, '_') }));
}

/** A tick is 10 ms on all common systems; an idle program uses almost none. */
const workTicks = 20;

function measureWork(first: readonly ProcessInfo[]) {
  const ticks = new Map(first.map(({ pid }) => [pid, readProcessorTicks(pid)]));
  let worked = false;
  return {
    look(processes: readonly ProcessInfo[]) {
      for (const { pid } of processes) {
        const before = ticks.get(pid);
        worked ||= before === undefined || readProcessorTicks(pid) - before >= workTicks;
      }
    },
    get worked() {
      return worked;
    },
  };
}
