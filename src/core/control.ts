/** The interface of a control: a pure pair of judging and learning, with a place for its state. */

import type { Action } from './action.ts';
import type { ActionProposed, ControlEvent } from './event.ts';
import type { Counters, Verdict } from './verdict.ts';

/**
 * Which cell holds the state an action is judged by.
 * `task`: the acting task's own. `chain`: the acting task's and every ancestor's, each judged by itself.
 * `target`: the tool's, model's or worker's, as its settings say. `session`, `gear`: one for all.
 */
export type Scope = 'task' | 'chain' | 'target' | 'session' | 'gear';

/** Whether the cell at hand belongs to the acting task itself or to an ancestor of it. */
export type CellOwner = 'self' | 'ancestor';

/** A counter on its way to a limit, for snapshots, notices and cards. */
export interface Gauge {
  readonly name: string;
  readonly actual: number;
  readonly limit: number;
}

/**
 * A safety mechanism. `judge` never writes. `apply` may write into the state it is given, which is plain JSON.
 * The result of both depends on their arguments alone: no clock, no random number, no input or output.
 */
export interface Control<S = unknown> {
  readonly name: string;
  readonly scope: Scope;
  initial(atMs: number): S;
  judge(state: S, proposal: ActionProposed, cellOwner: CellOwner): Verdict;
  apply(state: S, event: ControlEvent, cellOwner: CellOwner): S;
  /** What is due without any action: an overrun, a latched count. Asked after events and by the sweep. */
  check?(state: S, atMs: number): Verdict;
  /** What the ending of an action made due for its task, where the cell is not the task's own. */
  due?(state: S, action: Action): Verdict;
  /** What the agent should be told before anything is refused. */
  hint?(state: S): { readonly counters: Counters } | undefined;
  /** Counters on their way to a limit. */
  gauges?(state: S, atMs: number): readonly Gauge[];
}
