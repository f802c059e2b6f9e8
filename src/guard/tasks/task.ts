/** The internal state of a task: its position in the tree, its controls, and what ends with it. */

import type { CardAction } from '../../core/card.ts';
import { ownSession } from '../../core/cell-key.ts';
import { bindTaskControls, type PanelTask, type TaskCells, type TaskControls } from '../../core/controls/panel.ts';
import { findCode } from '../../core/controls/registry.ts';
import type { BoundControl } from '../../core/decide.ts';
import type { EntryPlace } from '../../core/event.ts';
import { type Refusal, RefusedError } from '../../core/refusal.ts';
import type { TaskSettings } from '../../core/settings.ts';
import type { Stop } from '../../core/verdict.ts';
import type { BudgetOwner, BudgetSet, BudgetTarget, PayingKey } from '../../ports/policy.ts';
import type { Task } from '../api.ts';
import type { CallSite, Target } from '../route/call-site.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { SlotList } from '../runtime/slot-list.ts';
import type { RecentOutput } from './recent-output.ts';

export interface TaskState extends PanelTask {
  readonly id: string;
  readonly agent: string;
  readonly session: string;
  readonly parent: TaskState | undefined;
  readonly depth: number;
  readonly isDelegated: boolean;
  /** The key of the gateway that pays for the task. */
  readonly key?: PayingKey | undefined;
  limits: TaskSettings;
  /** The limits from the options, which stay when the policy changes. */
  readonly givenLimits: Partial<TaskSettings> | undefined;
  controls: TaskControls;
  readonly cells: TaskCells;
  /** Its bound controls, followed by those of its ancestors; created at its first action. */
  boundControls: readonly BoundControl[] | undefined;
  /** The call sites of this task by target. */
  callSites: Map<Target, CallSite> | undefined;
  /** The keys of breakers that end with the task. */
  breakers: Set<string> | undefined;
  /** The refusals of the running job, which count as one. */
  burst: { readonly turn: string; refusals: number } | undefined;
  /** The keys of worker failures that end with the task: those of a session of its own. */
  workers: Set<string> | undefined;
  children: Set<TaskState> | undefined;
  haltStop: Stop | undefined;
  halt: Refusal | undefined;
  /** The card of the halt. */
  card?: string;
  /** What a person may do after its halt, if not what the gear offers. */
  haltActions?: readonly CardAction[];
  ended: boolean;
  /** Functions that abort signals and waits; called once when the task halts. */
  ending: SlotList<HaltListener> | undefined;
  /** Removes the listener of the outer signal; called when the task ends. */
  removeAbortListener: (() => void) | undefined;
  signal: AbortSignal | undefined;
  /** The reason of the caller who cancelled the task. */
  cancelReason: unknown;
  /** The recent texts and calls. */
  recentOutput: RecentOutput | undefined;
  /** The pending hint for the model, and whether it was given before. */
  loopHint: string | undefined;
  suspected: boolean;
  /** Fingerprints of prompts, to recognise a repeated one. */
  prompts: Set<number> | undefined;
  /** Ids of calls and usage reports that were counted. */
  counted: Set<string> | undefined;
  /** Whether its events are counted elsewhere, as by another process: they change only its own controls. */
  isCountedElsewhere?: boolean;
  /** Workers with a counted failure, their own or a nested one, and no success since. */
  booked: Set<string> | undefined;
  /** Gauges with a written notice, and codes reported in observe mode. */
  noticed: Set<string> | undefined;
  /** The number of calls from which the gauges are checked. */
  noticeCalls: number;
  readonly raises: number;
  /** The number of active pauses by hand. */
  pauses: number;
  /** The time from which orders of an operator concern the task, if its work began before the task. */
  orderedSinceMs?: number | undefined;
  handle: Task | undefined;
}

/** The place of a task's entries. */
export function entryPlace(task: TaskState): EntryPlace {
  return { task: task.id, session: task.session, agent: task.agent };
}

/** The bound controls of a task, created on first use, so that a hundred thousand idle tasks cost little. */
export function boundControlsOf(runtime: Runtime, task: TaskState): readonly BoundControl[] {
  if (task.boundControls === undefined) {
    const jointBudgets = budgetSetOf(runtime, task)?.boundControls ?? [];
    task.boundControls = bindTaskControls(task, [...jointBudgets, ...(runtime.own?.ofTask(task) ?? [])]);
  }
  return task.boundControls;
}

/** The shared budgets of an agent in a session, and those of what it calls. */
export function budgetSetOf(runtime: Runtime, who: BudgetOwner, target?: BudgetTarget): BudgetSet | undefined {
  if (who.key !== undefined && who.key.budgets.length > 0)
    runtime.budgets ??= runtime.policyEngine?.createEmptyBudgets();
  return runtime.budgets?.setFor(runtime, who, target);
}

/**
 * Takes over the halt of an ancestor. Needed for a task that has ended, or that started under an ended one, because
 * the halt does not reach it.
 */
export function inheritHalt(task: TaskState): void {
  for (let above = task.parent; above !== undefined && task.haltStop === undefined; above = above.parent) {
    task.haltStop = above.haltStop;
    task.halt = above.halt;
  }
}

/** Called once when a task halts, with the number of its listeners. */
export type HaltListener = (listeners: number) => void;

/** Runs a function once when the task halts; returns a function that removes it. */
export function onHalt(task: TaskState | undefined, end: HaltListener): () => void {
  if (task === undefined) return () => {};
  task.ending ??= new SlotList();
  return task.ending.add(end);
}

/** The signal of a task, created on first use. */
export function signalOf(task: TaskState): AbortSignal {
  if (task.signal === undefined) {
    const controller = new AbortController();
    task.signal = controller.signal;
    const abort = () => controller.abort(abortReasonOf(task));
    if (task.halt === undefined) onHalt(task, abort);
    else abort();
  }
  return task.signal;
}

/** The reason with which the signals of a halted task abort: that of the caller who cancelled it, or an error. */
export function abortReasonOf({ halt, cancelReason }: TaskState): unknown {
  if (cancelReason !== undefined) return cancelReason;
  const cause = halt && new RefusedError(halt);
  const error = new Error(halt?.message ?? 'halted', { cause });
  error.name = 'AbortError';
  return error;
}

/** The task whose end is the end of a task's session; undefined if the session was given by name. */
export function sessionOwnerOf(task: TaskState): TaskState | undefined {
  let root = task;
  while (root.parent !== undefined) root = root.parent;
  return task.session === ownSession(root.id) ? root : undefined;
}

/** Whether a task has ended at a limit that must end it with an error. */
export function failsAtLimit({ limits, haltStop }: TaskState): boolean {
  return limits.atLimit === 'error' && haltStop !== undefined && findCode(haltStop.code).raises !== undefined;
}
