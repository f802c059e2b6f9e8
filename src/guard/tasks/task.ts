/** A task as the gear keeps it: its place in the tree, its state, and what has to end with it. */

import { bindTaskControls, type PanelTask, type TaskCells, type TaskControls } from '../../core/controls/panel.ts';
import type { BoundControl } from '../../core/decide.ts';
import type { EntryPlace } from '../../core/event.ts';
import type { Refusal } from '../../core/refusal.ts';
import type { TaskSettings } from '../../core/settings.ts';
import type { Stop } from '../../core/verdict.ts';
import type { BudgetSet } from '../../ports/policy.ts';
import type { Task } from '../api.ts';
import type { CallSite, Target } from '../route/call-site.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { RecentOutput } from './recent-output.ts';

export interface TaskState extends PanelTask {
  readonly id: string;
  readonly agent: string;
  readonly session: string;
  readonly parent: TaskState | undefined;
  readonly depth: number;
  limits: TaskSettings;
  /** The limits that its starter gave, to be kept when the policy changes. */
  readonly givenLimits: Partial<TaskSettings> | undefined;
  controls: TaskControls;
  readonly cells: TaskCells;
  /** Its own seats and, after them, those of its ancestors; made when it first acts. */
  boundControls: readonly BoundControl[] | undefined;
  /** What each tool needs in this task, resolved once. */
  callSites: Map<Target, CallSite> | undefined;
  /** The keys of breakers that end with it. */
  breakers: Set<string> | undefined;
  children: Set<TaskState> | undefined;
  haltStop: Stop | undefined;
  halt: Refusal | undefined;
  ended: boolean;
  /** Ends signals and waits; run once, when the task halts. */
  ending: Set<() => void> | undefined;
  /** Lets go of what it held outside; run when it ends. */
  removeAbortListener: (() => void) | undefined;
  signal: AbortSignal | undefined;
  /** What it said and asked for lately. */
  recentOutput: RecentOutput | undefined;
  /** What the model should be told with the next result, and whether it was told before. */
  loopHint: string | undefined;
  suspected: boolean;
  /** Fingerprints of what a person said, to tell new words from a prompt seen before. */
  prompts: Set<number> | undefined;
  /** Ids of calls and usage reports that were counted. */
  counted: Set<string> | undefined;
  /** Workers whose failure, or that of one below them, was booked and has not come right since. */
  booked: Set<string> | undefined;
  /** Gauges a notice was written for, and codes reported while only observing. */
  noticed: Set<string> | undefined;
  /** From how many calls on the gauges are looked at. */
  noticeCalls: number;
  readonly raises: number;
  /** Pauses by hand that were not taken back. */
  pauses: number;
  handle: Task | undefined;
}

/** Where the entries of a task belong. */
export function entryPlace(task: TaskState): EntryPlace {
  return { task: task.id, session: task.session, agent: task.agent };
}

/** The seats of a task. One that only waits has none yet: a hundred thousand idle tasks cost little. */
export function boundControlsOf(runtime: Runtime, task: TaskState): readonly BoundControl[] {
  if (task.boundControls === undefined) {
    const jointBudgets = budgetSetOf(runtime, task)?.boundControls ?? [];
    task.boundControls = bindTaskControls(task, [...jointBudgets, ...(runtime.own?.ofTask(task) ?? [])]);
  }
  return task.boundControls;
}

/** The budgets beyond one task that somebody spends from. */
export function budgetSetOf(runtime: Runtime, who: Pick<TaskState, 'agent' | 'session'>): BudgetSet | undefined {
  return runtime.budgets?.setFor(runtime, who);
}

/** A task that ended, or began below one that had, is out of reach when those above it halt: it looks up itself. */
export function inheritHalt(task: TaskState): void {
  for (let above = task.parent; above !== undefined && task.haltStop === undefined; above = above.parent) {
    task.haltStop = above.haltStop;
    task.halt = above.halt;
  }
}

/** Runs something once when the task halts; the result takes it back. */
export function onHalt(task: TaskState | undefined, end: () => void): () => void {
  if (task !== undefined) task.ending ??= new Set();
  task?.ending?.add(end);
  return () => task?.ending?.delete(end);
}

/** The signal of a task, made when somebody asks: most never do. */
export function signalOf(task: TaskState): AbortSignal {
  if (task.signal === undefined) {
    const controller = new AbortController();
    task.signal = controller.signal;
    const abort = () => {
      const error = new Error(task.halt?.message ?? 'halted');
      error.name = 'AbortError';
      controller.abort(error);
    };
    if (task.halt === undefined) onHalt(task, abort);
    else abort();
  }
  return task.signal;
}
