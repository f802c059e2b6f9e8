/** Selects the controls that judge an action, from the settings alone, so that a replay uses the same panel. */

import type { Control } from '../control.ts';
import type { BoundControl, Panel } from '../decide.ts';
import type { BreakerSettings, DelegationSettings, LoopSettings, TaskSettings } from '../settings.ts';
import { breaker } from './breaker/control.ts';
import type { BreakerState } from './breaker/state.ts';
import { type BudgetState, budget } from './budget/budget.ts';
import { type DeadlineState, deadline } from './deadline.ts';
import { delegation } from './delegation/delegation.ts';
import { type DenialsState, denials } from './denials.ts';
import { loop } from './loop/loop.ts';
import { initialLoop, type LoopState } from './loop/state.ts';

/** The cell of one control's state. */
export interface ControlCell<S = unknown> {
  state: S;
}

/** The states of a task, one cell per control. */
export interface TaskCells {
  readonly budget: ControlCell<BudgetState>;
  readonly deadline: ControlCell<DeadlineState>;
  readonly loop: ControlCell<LoopState>;
  readonly denials: ControlCell<DenialsState>;
  /** The states of custom controls, by name. */
  own: Record<string, ControlCell> | undefined;
}

/** The controls of one set of limits, shared by all tasks with equal limits. */
export interface TaskControls {
  readonly budget: Control<BudgetState>;
  readonly deadline: Control<DeadlineState>;
  readonly loop: Control<LoopState> | undefined;
  readonly denials: Control<DenialsState>;
}

/** Creates the controls of one set of limits. */
export function createTaskControls(limits: TaskSettings, loopSettings: LoopSettings): TaskControls {
  return {
    budget: budget(limits),
    deadline: deadline(limits),
    loop: loopSettings.enabled ? loop(loopSettings) : undefined,
    denials: denials(limits),
  };
}

/** The part of a task that the panel needs. */
export interface PanelTask {
  readonly id: string;
  readonly controls: TaskControls;
  readonly cells: TaskCells;
  readonly parent: PanelTask | undefined;
}

/** Creates the cells of a new task. */
export function initialTaskCells(controls: TaskControls, atMs: number): TaskCells {
  return {
    budget: { state: controls.budget.initial(atMs) },
    deadline: { state: controls.deadline.initial(atMs) },
    loop: { state: initialLoop() },
    denials: { state: controls.denials.initial(atMs) },
    own: undefined,
  };
}

/** Binds the controls of a task: its own, and the budgets and deadlines of all ancestors. */
export function bindTaskControls(task: PanelTask): Panel {
  const { controls, cells } = task;
  const boundControls: BoundControl<never>[] = [];
  addBound(boundControls, controls.budget, cells.budget);
  addBound(boundControls, controls.deadline, cells.deadline);
  if (controls.loop !== undefined) addBound(boundControls, controls.loop, cells.loop);
  addBound(boundControls, controls.denials, cells.denials);
  for (let above = task.parent; above !== undefined; above = above.parent) {
    addBound(boundControls, above.controls.budget, above.cells.budget, above.id);
    addBound(boundControls, above.controls.deadline, above.cells.deadline, above.id);
  }
  return boundControls as unknown as Panel;
}

function addBound<S>(
  boundControls: BoundControl<never>[],
  control: Control<S>,
  cell: ControlCell<S>,
  ancestorId?: string,
): void {
  const cellOwner = ancestorId === undefined ? 'self' : 'ancestor';
  boundControls.push({
    control,
    cell,
    cellOwner,
    ...(ancestorId === undefined ? {} : { ancestorId }),
  } as unknown as BoundControl<never>);
}

/** Binds the breaker control to a cell. */
export function bindBreaker(settings: BreakerSettings, cell: ControlCell<BreakerState>): BoundControl {
  return { control: breaker(settings), cell, cellOwner: 'self' } as unknown as BoundControl;
}

/** Binds the delegation control to a cell. */
export function bindDelegation(settings: DelegationSettings, cell: ControlCell): BoundControl {
  return { control: delegation(settings), cell, cellOwner: 'self' } as unknown as BoundControl;
}
