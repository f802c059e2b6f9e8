/** The tasks of a replay: the tree of the journal, each task with its state and its halt. */

import type { Control } from '../control.ts';
import { continueBudget } from '../controls/budget/budget.ts';
import { bindTaskControls, createTaskControls, initialTaskCells, type PanelTask } from '../controls/panel.ts';
import type { BoundControl, Panel } from '../decide.ts';
import type { Entry } from '../event.ts';
import type { Settings, TaskSettings } from '../settings.ts';
import type { Code, Stop } from '../verdict.ts';

/** A task of a replay. */
export interface ReplayTask extends PanelTask {
  readonly parent: ReplayTask | undefined;
  readonly children: ReplayTask[];
  readonly limits: TaskSettings;
  boundControls: Panel;
  ended: boolean;
  stop: Stop | undefined;
  /** Whether the halt was the task's own, and whether the journal contains it. */
  isOwnHalt: boolean;
  isInJournal: boolean;
  /** Codes that would have halted the task, if the gear only observes. */
  readonly reported: Set<Code>;
}

/** The tasks of a replay, by id. */
export interface ReplayTasks {
  start(entry: Extract<Entry, { type: 'task-started' }>): void;
  end(id: string | undefined): void;
  find(id: string | undefined): ReplayTask | undefined;
  halt(task: ReplayTask, stop: Stop, observes: boolean): void;
  /** Tasks that the replay halted and the journal did not. */
  listMissingHalts(): readonly ReplayTask[];
}

/** Creates the empty task tree of a replay. */
export function createReplayTasks(
  settings: Settings,
  ownControls: readonly Control[],
  bindBudgets: (agent: string, session: string) => readonly BoundControl[] = () => [],
): ReplayTasks {
  const tasks = new Map<string, ReplayTask>();

  function bindTask(task: ReplayTask, budgets: readonly BoundControl[], atMs: number): Panel {
    const customControls = (ownControls as readonly Control[])
      .filter(({ scope }) => scope === 'task' || scope === 'chain')
      .map((control) => {
        task.cells.own ??= {};
        task.cells.own[control.name] = { state: control.initial(atMs) };
        return { control, cell: task.cells.own[control.name], cellOwner: 'self' } as BoundControl;
      });
    return bindTaskControls(task, [...budgets, ...customControls]);
  }

  function latch(task: ReplayTask, stop: Stop, isOwnHalt: boolean): void {
    if (task.stop !== undefined) return;
    task.stop = stop;
    task.isOwnHalt = isOwnHalt;
    for (const child of task.children) if (!child.ended) latch(child, stop, false);
  }

  return {
    start({ task: id = '', agent = '', session = '', atMs, limits, parent: parentId, retryOf, own = false }) {
      const parent = parentId === undefined ? undefined : tasks.get(parentId);
      const controls = createTaskControls(settings, limits);
      const cells = initialTaskCells(controls, atMs);
      const retried = retryOf === undefined ? undefined : tasks.get(retryOf);
      if (retried !== undefined) continueBudget(cells.budget.state, retried.cells.budget.state);
      const task: ReplayTask = {
        id,
        limits,
        controls,
        cells,
        parent,
        isDelegated: parentId !== undefined && !own,
        children: [],
        boundControls: [],
        ended: false,
        stop: parent?.stop,
        isOwnHalt: false,
        isInJournal: false,
        reported: new Set(),
      };
      task.boundControls = bindTask(task, bindBudgets(agent, session), atMs);
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
      if (ended.ended) return; // An ended task cannot be halted.
      if (observes) ended.reported.add(stop.code);
      else latch(ended, stop, true);
    },
    listMissingHalts: () => [...tasks.values()].filter(({ isOwnHalt, isInJournal }) => isOwnHalt && !isInJournal),
  };
}
