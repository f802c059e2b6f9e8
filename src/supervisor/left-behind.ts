/** Handles the programs that an agent has left running: gives them time to end, then ends and names them. */

import type { Card } from '../core/card.ts';
import { leftBehindMs, leftoverGraceMs, namedProcessesMax, treePollMs } from '../core/limits.ts';
import { wait } from '../platform/system-clock.ts';
import type { Clock } from '../ports/clock.ts';
import { endTree } from './end-tree.ts';
import { type ProcessInfo, readProcessorTicks } from './process-table.ts';
import type { ProcessTree } from './process-tree.ts';

/** The programs that an agent has left running. */
export interface LeftBehind {
  readonly processes: readonly LeftProcess[];
  /** Whether they did work of their own after the end of the agent: used the processor, or started programs. */
  readonly worked: boolean;
  /** Whether they were to be left running. */
  readonly isLeft: boolean;
}

/** A process that an agent has left running. */
export interface LeftProcess extends NamedProcess {
  /** Whether it was ended, has ended by itself, or still runs. */
  readonly how: 'ended' | 'finished' | 'left';
}

/** A process as a person sees it. */
export interface NamedProcess {
  readonly pid: number;
  readonly name: string;
}

export interface LeftBehindOptions {
  readonly mode: 'end' | 'leave' | 'wait';
  readonly graceMs: number;
  /** Aborts when the tree is being ended for another reason; `ended` then settles after the end. */
  readonly stop: AbortSignal;
  ended(): Promise<unknown> | undefined;
}

/** Waits for the remaining programs and ends them as the options say; returns undefined if there were none. */
export async function handleLeftBehind(
  tree: ProcessTree,
  clock: Clock,
  { mode, graceMs, stop, ended }: LeftBehindOptions,
): Promise<LeftBehind | undefined> {
  const startedMs = clock.nowMs();
  let alive = tree.scan();
  // Tools of an agent usually end right after it, and are not worth a word.
  while ((alive.length > 0 || !tree.isSettled) && clock.nowMs() - startedMs < leftBehindMs && !stop.aborted) {
    await wait(clock, treePollMs, stop);
    alive = tree.scan();
  }
  if (alive.length === 0 || stop.aborted) return undefined;
  const work = measureWork(alive);
  const describe = (processes: readonly ProcessInfo[], how: (process: ProcessInfo) => LeftProcess['how']) => ({
    processes: processes.map((each) => ({ ...nameProcess(each), how: how(each) })),
    worked: work.worked,
    isLeft: mode === 'leave',
  });
  if (mode === 'leave') return describe(alive, () => 'left');
  const first = alive;
  let last = alive;
  const untilMs = mode === 'wait' ? Number.POSITIVE_INFINITY : startedMs + graceMs;
  while (alive.length > 0 && clock.nowMs() < untilMs && !stop.aborted) {
    await wait(clock, Math.min(treePollMs, Math.max(1, untilMs - clock.nowMs())), stop);
    alive = tree.scan();
    work.look(alive);
    // Processes that are gone after the stop did not end by themselves: their end has begun.
    if (!stop.aborted) last = alive;
  }
  if (alive.length === 0 && !stop.aborted) return describe(first, () => 'finished');
  if (stop.aborted) await ended();
  else await endTree(tree, clock, { signal: 'SIGTERM', graceMs: Math.min(graceMs, leftoverGraceMs) });
  const remaining = tree.scan();
  const isRemaining = ({ pid, began }: ProcessInfo) =>
    remaining.some((each) => each.pid === pid && each.began === began);
  const others = remaining.filter((each) => !last.some(({ pid, began }) => each.pid === pid && each.began === began));
  return describe([...last, ...others], (each) => (isRemaining(each) ? 'left' : 'ended'));
}

export interface LeftBehindNews {
  /** One line for each kind of end. */
  readonly lines: readonly string[];
  /** The card, if the programs worked on or could not be ended. */
  readonly card: Card | undefined;
}

/** The words and the card about programs that a command has left running. */
export function announceLeftBehind(
  { processes, worked, isLeft }: LeftBehind,
  command: {
    /** The command in a line and in the card: `the agent`, `claude`. */
    readonly noun: string;
    readonly name: string;
    readonly task: string;
    readonly cardId: string;
    /** The limit that ended the programs, if any. */
    readonly limit?: string | undefined;
  },
): LeftBehindNews {
  const { noun, name, task, cardId, limit } = command;
  const find = (how: LeftProcess['how']) => processes.filter((each) => each.how === how);
  const [ended, left] = [find('ended'), find('left')];
  const cause = limit === undefined ? '' : ` (${limit})`;
  const lines = [
    ended.length > 0 && `ended ${countPrograms(ended)} that ${noun} left running${cause}: ${formatProcesses(ended)}`,
    left.length > 0 &&
      (isLeft
        ? `${noun} ended and left ${countPrograms(left)} running: ${formatProcesses(left)}`
        : `could not end ${countPrograms(left)} that ${noun} left running${cause}: ${formatProcesses(left)}`),
  ].filter((line) => line !== false);
  const deservesCard = (ended.length > 0 && worked) || (left.length > 0 && !isLeft);
  if (!deservesCard) return { lines, card: undefined };
  const parts = [
    ended.length > 0 && `ended${cause}: ${formatProcesses(ended)}`,
    left.length > 0 && `still running without limits: ${formatProcesses(left)}`,
  ].filter((part) => part !== false);
  const all = countPrograms([...ended, ...left]);
  const card: Card = {
    id: cardId,
    kind: 'notice',
    task,
    code: 'notice',
    counters: { processes: ended.length + left.length },
    evidence: [`${name} ended and left ${all} running${worked ? ' that worked on' : ''}; ${parts.join('; ')}`],
    actions: ['dismiss'],
    state: 'open',
    agent: name,
  };
  return { lines, card };
}

function countPrograms({ length }: readonly LeftProcess[]): string {
  return length === 1 ? '1 program' : `${length} programs`;
}

/** Names processes for a person: `node (1234), sleep (1235)`. */
export function formatProcesses(processes: readonly NamedProcess[]): string {
  const shown = processes.slice(0, namedProcessesMax).map(({ name, pid }) => `${name} (${pid})`);
  const more = processes.length - shown.length;
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ');
}

/** The name of a process; a program chooses its own name, so only plain characters of it are kept. */
export function nameProcess({ pid, name }: ProcessInfo): NamedProcess {
  return { pid, name: name.replaceAll(/[^\w.:+-]+/g, '_') };
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
