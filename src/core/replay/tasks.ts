/** The tasks of a replay: the tree that the journal tells of, each task with its own state and its halt. */

import type { Control } from '../control.ts';
import { carryOn } from '../controls/budget/budget.ts';
import {
  bindTaskControls,
  createTaskControls,
  initialTaskCells,
  type PanelTask,
  type TaskControls,
} from '../controls/panel.ts';
import type { BoundControl, Panel } from '../decide.ts';
import type { Entry } from '../event.ts';
import type { Settings } from '../settings.ts';
import type { Code, Stop } from '../verdict.ts';

export interface ReplayTask extends PanelTask {
  readonly parent: ReplayTask | undefined;
  readonly children: ReplayTask[];
  boundControls: Panel;
  ended: boolean;
  stop: Stop | undefined;
  /** Whether the halt was its own, and whether the journal told of it. */
  own: boolean;
  told: boolean;
  /** Codes that would have halted it, where the gear only observes. */
  readonly reported: Set<Code>;
}

export interface ReplayTasks {
  start(entry: Extract<Entry, { type: 'task-started' }>): void;
  end(id: string | undefined): void;
  find(id: string | undefined): ReplayTask | undefined;
  halt(task: ReplayTask, stop: Stop, observes: boolean): void;
  /** Tasks that were halted here and not in the journal. */
  untold(): readonly ReplayTask[];
}

export function replayTasks(
  settings: Settings,
  ownControls: readonly Control<never>[],
  budgetsOf: (agent: string, session: string) => readonly BoundControl[] = () => [],
): ReplayTasks {
  const tasks = new Map<string, ReplayTask>();

  function bindTask(task: ReplayTask, controls: TaskControls, budgets: readonly BoundControl[], atMs: number): Panel {
    const boundControls = bindTaskControls(task);
    const own = (ownControls as readonly Control[])
      .filter(({ scope }) => scope === 'task' || scope === 'chain')
      .map((control) => {
        task.cells.own ??= {};
        task.cells.own[control.name] = { state: control.initial(atMs) };
        return { control, cell: task.cells.own[control.name], cellOwner: 'self' } as BoundControl;
      });
    const at = controls.loop === undefined ? 3 : 4;
    return [...boundControls.slice(0, at), ...budgets, ...own, ...boundControls.slice(at)];
  }

  function latch(task: ReplayTask, stop: Stop, own: boolean): void {
    if (task.stop !== undefined) return;
    task.stop = stop;
    task.own = own;
    for (const child of task.children) if (!child.ended) latch(child, stop, false);
  }

  return {
    start({ task: id = '', agent = '', session = '', atMs, limits, parent: above, retryOf }) {
      const parent = above === undefined ? undefined : tasks.get(above);
      const controls = createTaskControls(limits, settings.loop);
      const cells = initialTaskCells(controls, atMs);
      const before = retryOf === undefined ? undefined : tasks.get(retryOf);
      if (before !== undefined) carryOn(cells.budget.state, before.cells.budget.state);
      const task: ReplayTask = {
        id,
        controls,
        cells,
        parent,
        children: [],
        boundControls: [],
        ended: false,
        stop: parent?.stop,
        own: false,
        told: false,
        reported: new Set(),
      };
      task.boundControls = bindTask(task, controls, budgetsOf(agent, session), atMs);
      parent?.children.push(task);
      tasks.set(id, task);
    },
    end(id) {
      const task = id === undefined ? undefined : tasks.get(id);
      if (task !== undefined) task.ended = true;
    },
    find: (id) => (id === undefined ? undefined : tasks.get(id)),
    halt(task, stop, observes) {
      let ended = task;
      if (stop.ends !== undefined) {
        while (ended.id !== stop.ends && ended.parent !== undefined) ended = ended.parent;
      }
      if (ended.ended) return; // What is over cannot be ended again.
      if (observes) ended.reported.add(stop.code);
      else latch(ended, stop, true);
    },
    untold: () => [...tasks.values()].filter(({ own, told }) => own && !told),
  };
}
