/** Binds the controls that judge an action, from the settings alone, so that guard and replay use the same panel. */

import type { Control } from '../control.ts';
import type { BoundControl, Panel } from '../decide.ts';
import type { FeatureDeclaration, PanelDeclaration } from '../declare/control-declaration.ts';
import type { BreakerSettings, DelegationSettings, Settings, TaskSettings } from '../settings.ts';
import type { Stop } from '../verdict.ts';
import { breaker } from './breaker/control.ts';
import type { BreakerState } from './breaker/state.ts';
import { catchAllWorker, type DelegationState, delegation } from './delegation/delegation.ts';
import { type PanelDeclared, panelDeclarations } from './registry.ts';

/** The cell of one control's state. */
export interface ControlCell<S = unknown> {
  state: S;
}

/** A control whose state belongs to a task. */
type TaskDeclared = Extract<PanelDeclared, { readonly scope: 'task' | 'chain' }>;

type Created<D extends PanelDeclared> = ReturnType<D['create']>;
type CellOf<D extends PanelDeclared> = ControlCell<Created<D> extends Control<infer S> | undefined ? S : never>;
type AlwaysOn<D extends PanelDeclared> = undefined extends Created<D> ? never : D['name'];
type MaybeOff<D extends PanelDeclared> = undefined extends Created<D> ? D['name'] : never;

/** The states of a task, one cell per control. A control that is switched off has none. */
export type TaskCells = {
  readonly [D in TaskDeclared as AlwaysOn<D>]: CellOf<D>;
} & {
  readonly [D in TaskDeclared as MaybeOff<D>]?: CellOf<D>;
} & {
  /** The states of custom controls, by name. */
  own: Record<string, ControlCell> | undefined;
};

/** The controls of one set of limits, by name, shared by all tasks with equal limits. */
export type TaskControls = { readonly [D in TaskDeclared as D['name']]: Created<D> };

const isOfTask = ({ scope }: PanelDeclaration) => scope === 'task' || scope === 'chain';
const taskDeclarations = panelDeclarations.filter(isOfTask);
const sharedDeclarations = panelDeclarations.filter((declaration) => !isOfTask(declaration));

/** Creates the controls of one set of limits. */
export function createTaskControls(settings: Settings, limits: TaskSettings): TaskControls {
  const effective = { ...settings, task: limits };
  const created = taskDeclarations.map(({ name, create }) => [name, create(effective)]);
  return Object.fromEntries(created) as TaskControls;
}

/** The part of a task that the panel needs. */
export interface PanelTask {
  readonly id: string;
  readonly controls: TaskControls;
  readonly cells: TaskCells;
  readonly parent: PanelTask | undefined;
  /** Whether a worker, a subagent or a nested agent works on the task, and not the program that opened it. */
  readonly isDelegated?: boolean;
}

/** How many delegations lie between a task and its root: child tasks that a program opens itself are none. */
export function delegationDepthOf(task: PanelTask | undefined): number {
  let depth = 0;
  for (let each = task; each !== undefined; each = each.parent) if (each.isDelegated === true) depth++;
  return depth;
}

/** Creates the cells of a new task. */
export function initialTaskCells(controls: TaskControls, atMs: number): TaskCells {
  const cells: Record<string, ControlCell | undefined> = {};
  for (const [name, control] of activeControls(controls)) cells[name] = { state: control.initial(atMs) };
  cells.own = undefined;
  return cells as TaskCells;
}

/**
 * Binds the controls of a task: its own, then `between` (joint budgets, custom controls), then the controls of scope
 * `chain` of all ancestors. Creates the cells that a stored task lacks.
 */
export function bindTaskControls(task: PanelTask, between: readonly BoundControl[] = []): Panel {
  const panel: BoundControl[] = [];
  for (const [name, control] of activeControls(task.controls)) {
    panel.push({ control, cell: ensureCell(task, name, control), cellOwner: 'self' });
  }
  panel.push(...between);
  const isDelegatedWork = delegationDepthOf(task) > 0;
  for (let above = task.parent; above !== undefined; above = above.parent) {
    const isRootOfWork = isDelegatedWork && above.parent === undefined;
    for (const [name, control] of activeControls(above.controls)) {
      if (control.scope !== 'chain') continue;
      const cell = ensureCell(above, name, control);
      const judging = (isRootOfWork && control.ofDelegatedWork) || control;
      panel.push({ control: judging, cell, cellOwner: 'ancestor', ancestorId: above.id });
    }
  }
  return panel;
}

/** Binds the controls whose state belongs to a target, a session or the gear; `cellOf` finds the cell of a key. */
export function bindSharedControls(
  settings: Settings,
  { target, session }: { readonly target: string; readonly session: string },
  cellOf: (control: Control, key: readonly string[]) => ControlCell,
  declarations: readonly PanelDeclaration[] = sharedDeclarations,
): Panel {
  return declarations.flatMap(({ name, scope, create }) => {
    const control: Control | undefined = create(settings);
    if (control === undefined) return [];
    const owner = scope === 'target' ? [target] : scope === 'session' ? [session] : [];
    return [{ control, cell: cellOf(control, ['control', name, ...owner]), cellOwner: 'self' as const }];
  });
}

/** The features of arguments that the controls in force need. */
export function listFeatures(
  settings: Settings,
  declarations: readonly PanelDeclaration[] = panelDeclarations,
): readonly FeatureDeclaration[] {
  return declarations.flatMap(({ feature, create }) => {
    return feature !== undefined && create(settings) !== undefined ? [feature] : [];
  });
}

const activeByControls = new WeakMap<TaskControls, ActiveControls>();

type ActiveControls = readonly (readonly [name: string, control: Control])[];

/** The controls that are switched on, in the order of the registry. Tasks of equal limits share the list. */
function activeControls(controls: TaskControls): ActiveControls {
  let active = activeByControls.get(controls);
  if (active === undefined) {
    const entries: readonly [string, Control | undefined][] = Object.entries(controls);
    active = entries.filter((entry): entry is [string, Control] => entry[1] !== undefined);
    activeByControls.set(controls, active);
  }
  return active;
}

function ensureCell({ cells }: PanelTask, name: string, control: Control): ControlCell {
  const byName = cells as Record<string, ControlCell | undefined>;
  byName[name] ??= { state: control.initial(cells.deadline.state.startedAtMs) };
  return byName[name];
}

/** Binds the breaker control to a cell. */
export function bindBreaker(settings: BreakerSettings, cell: ControlCell<BreakerState>): BoundControl {
  return { control: breaker(settings), cell, cellOwner: 'self' };
}

/** Binds the delegation controls of a worker: its own, and for a catch-all type the one of all its workers. */
export function bindDelegations(
  settings: DelegationSettings,
  worker: string,
  bind: (control: Control<DelegationState>, worker: string, isJoint: boolean) => BoundControl,
): Panel {
  const joint = catchAllWorker(worker);
  const own = bind(delegation(settings), worker, false);
  return joint === undefined ? [own] : [own, bind(delegation(settings, joint), joint, true)];
}

/** The halt that is due by the failures of workers, the worker's own or those of its type. */
export function findDelegationHalt(panel: Panel, atMs: number): Stop | undefined {
  for (const { control, cell } of panel) {
    const due = control.name === 'delegation' ? control.check?.(cell.state, atMs) : undefined;
    if (due?.kind === 'halt') return due;
  }
  return undefined;
}
