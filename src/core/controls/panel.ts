/** Which controls judge what: made from the settings alone, so that a replay seats the same panel. */

import type { Control } from '../control.ts';
import type { Panel, Seat } from '../decide.ts';
import type { BreakerSettings, DelegationSettings, LoopSettings, TaskSettings } from '../settings.ts';
import { breaker } from './breaker/control.ts';
import type { BreakerState } from './breaker/state.ts';
import { type BudgetState, budget } from './budget/budget.ts';
import { type DeadlineState, deadline } from './deadline.ts';
import { delegation } from './delegation/delegation.ts';
import { type DenialsState, denials } from './denials.ts';
import { loop } from './loop/loop.ts';
import { initialLoop, type LoopState } from './loop/state.ts';

/** A place for the state of one control. */
export interface Holder<S = unknown> {
  state: S;
}

/** The state of a task: one small cell, with a holder per control. */
export interface TaskCells {
  readonly budget: Holder<BudgetState>;
  readonly deadline: Holder<DeadlineState>;
  readonly loop: Holder<LoopState>;
  readonly denials: Holder<DenialsState>;
  /** Of controls that the user added, by name. */
  own: Record<string, Holder> | undefined;
}

/** The controls of one set of limits; shared by all tasks that have it. */
export interface TaskControls {
  readonly budget: Control<BudgetState>;
  readonly deadline: Control<DeadlineState>;
  readonly loop: Control<LoopState> | undefined;
  readonly denials: Control<DenialsState>;
}

export function taskControls(limits: TaskSettings, loopSettings: LoopSettings): TaskControls {
  return {
    budget: budget(limits),
    deadline: deadline(limits),
    loop: loopSettings.enabled ? loop(loopSettings) : undefined,
    denials: denials(limits),
  };
}

/** A task as the panel sees it. */
export interface TaskSeats {
  readonly id: string;
  readonly controls: TaskControls;
  readonly cells: TaskCells;
  readonly parent: TaskSeats | undefined;
}

export function initialTaskCells(controls: TaskControls, atMs: number): TaskCells {
  return {
    budget: { state: controls.budget.initial(atMs) },
    deadline: { state: controls.deadline.initial(atMs) },
    loop: { state: initialLoop() },
    denials: { state: controls.denials.initial(atMs) },
    own: undefined,
  };
}

/** The seats of a task: its own controls, and the money and clocks of everyone above it. */
export function taskSeats(task: TaskSeats): Panel {
  const { controls, cells } = task;
  const seats: Seat<never>[] = [];
  add(seats, controls.budget, cells.budget);
  add(seats, controls.deadline, cells.deadline);
  if (controls.loop !== undefined) add(seats, controls.loop, cells.loop);
  add(seats, controls.denials, cells.denials);
  for (let above = task.parent; above !== undefined; above = above.parent) {
    add(seats, above.controls.budget, above.cells.budget, above.id);
    add(seats, above.controls.deadline, above.cells.deadline, above.id);
  }
  return seats as unknown as Panel;
}

function add<S>(seats: Seat<never>[], control: Control<S>, cell: Holder<S>, owner?: string): void {
  const place = owner === undefined ? 'self' : 'ancestor';
  seats.push({ control, cell, place, ...(owner === undefined ? {} : { owner }) } as unknown as Seat<never>);
}

export function breakerSeat(settings: BreakerSettings, cell: Holder<BreakerState>): Seat {
  return { control: breaker(settings), cell, place: 'self' } as unknown as Seat;
}

export function delegationSeat(settings: DelegationSettings, cell: Holder): Seat {
  return { control: delegation(settings), cell, place: 'self' } as unknown as Seat;
}
