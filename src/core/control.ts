/** The interface of a control: a pure pair of `judge` and `apply`, with a scope for its state. */

import type { Action } from './action.ts';
import type { ActionProposed, ControlEvent } from './event.ts';
import type { Counters, Verdict } from './verdict.ts';

/**
 * The cell that holds the state an action is judged by.
 * `task`: of the acting task. `chain`: of the acting task and of every ancestor, each judged separately; unrelated to
 * chain files.
 * `target`: of the tool, model or worker, as its settings define. `session`, `gear`: one cell for all.
 */
export type ControlScope = 'task' | 'chain' | 'target' | 'session' | 'gear';

/** Whether the cell belongs to the acting task itself or to an ancestor. */
export type CellOwner = 'self' | 'ancestor';

/** What a running action wants to reserve beyond its reservation. */
export interface Growth {
  readonly atMs: number;
  readonly action: Action;
  readonly micros: number;
  readonly tokens: number;
  /** Whether the caller only wants to know, and reserves nothing: a budget of a store then judges by its own view. */
  readonly isProbe?: boolean;
}

/** A counter and its limit, for snapshots, notices and cards. */
export interface Gauge {
  readonly name: string;
  readonly actual: number;
  readonly limit: number;
}

/**
 * A safety mechanism. `judge` never writes. `apply` may write into its state argument, which is plain JSON.
 * Both depend on their arguments alone: no clock, no random number, no input or output.
 */
export interface Control<S = unknown> {
  readonly name: string;
  readonly scope: ControlScope;
  /** Returns the state of a new cell. */
  initial(atMs: number): S;
  /** Returns the verdict on a proposed action. */
  judge(state: S, proposal: ActionProposed, cellOwner: CellOwner): Verdict;
  /** Returns the verdict on a running action that reserves more; absent if the control reserves nothing. */
  judgeGrowth?(state: S, growth: Growth): Verdict;
  /** Returns the state after an event: the same object, changed, or a new one. */
  apply(state: S, event: ControlEvent, cellOwner: CellOwner): S;
  /** Returns a verdict that needs no action, e.g. for an exceeded duration. Called after events and by the sweep. */
  check?(state: S, atMs: number): Verdict;
  /** Returns the verdict on a task whose action has ended, if the cell does not belong to the task. */
  due?(state: S, action: Action): Verdict;
  /** Returns a hint for the agent before any refusal. */
  hint?(state: S): { readonly counters: Counters } | undefined;
  /** Returns counters and their limits. */
  gauges?(state: S, atMs: number): readonly Gauge[];
  /** The control in place of this one for the root of delegated work, if the root counts that work apart. */
  readonly ofDelegatedWork?: Control<S>;
}
