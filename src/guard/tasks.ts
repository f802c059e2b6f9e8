/** The tree of tasks: starting and ending them, and the sweep that makes silent ones trip. */

import { carryOn, microsPerCent } from '../core/budget.ts';
import type { Control } from '../core/control.ts';
import { durationOf, idleOf } from '../core/deadline.ts';
import type { Seat } from '../core/decide.ts';
import { SwitchgearError } from '../core/error.ts';
import { sharedSettingsMax, sweepMs, taskDepthMax, tasksMax } from '../core/limits.ts';
import { initialTaskCells, type TaskCells, type TaskControls, taskControls, taskSeats } from '../core/panel.ts';
import type { Settings, TaskSettings } from '../core/settings.ts';
import type { Store } from '../ports/store.ts';
import type { TaskSnapshot } from './front-door.ts';
import type { Notebook } from './notebook.ts';
import { seatsOf, type TaskNode } from './task-node.ts';

export interface NewTask {
  readonly id: string;
  readonly agent: string;
  readonly session: string;
  readonly parent: TaskNode | undefined;
  readonly limits: TaskSettings;
  /** The part of the limits that the starter gave. */
  readonly said: Partial<TaskSettings> | undefined;
  readonly retryOf?: string;
  readonly raises?: number;
  /** Counters to go on from, where this is a retry. */
  readonly carried?: TaskNode;
}

export interface Tasks {
  start(task: NewTask): TaskNode;
  end(task: TaskNode, how: 'done' | 'error' | 'halted'): void;
  find(id: string): TaskNode | undefined;
  all(): Iterable<TaskNode>;
  readonly size: number;
  /** Makes the controls of running tasks anew, from changed settings; their counts stay. */
  reseat(limitsOf: (task: TaskNode) => TaskSettings): void;
}

export interface TasksOptions {
  readonly store: Store;
  readonly notes: Notebook;
  readonly settings: () => Settings;
  readonly ownControls: readonly Control<never>[];
  /** Called for each task by the sweep, and once per sweep after them. */
  readonly sweepTask: (task: TaskNode, atMs: number) => void;
  readonly afterSweep: (atMs: number) => boolean;
}

export interface Sweeper {
  /** Makes sure that the sweep runs while there is something to look at. */
  wake(): void;
  /** Looks now, instead of when the next second is over. */
  sweep(atMs?: number): void;
  stop(): void;
}

export function createTasks(options: TasksOptions): Tasks & Sweeper {
  const { store, notes, ownControls } = options;
  const tasks = new Map<string, TaskNode>();
  const controlsOf = new Map<string, TaskControls>();
  let disarm: (() => void) | undefined;

  function wake(): void {
    disarm ??= store.clock.after(sweepMs, () => sweep());
  }

  function sweep(atMs = store.clock.nowMs()): void {
    disarm?.();
    disarm = undefined;
    for (const task of tasks.values()) {
      try {
        options.sweepTask(task, atMs);
      } catch (error) {
        notes.countError('sweep', error, atMs);
      }
    }
    let wanted = true;
    try {
      wanted = options.afterSweep(atMs);
    } catch (error) {
      notes.countError('sweep', error, atMs); // A timer has no caller: what it throws would end the process.
    }
    if (tasks.size > 0 || wanted) wake();
  }

  /** Tasks of equal limits share one set of controls. */
  function sharedControls(limits: TaskSettings): TaskControls {
    const key = JSON.stringify(limits);
    let controls = controlsOf.get(key);
    if (controls === undefined) {
      if (controlsOf.size >= sharedSettingsMax) controlsOf.clear();
      controls = taskControls(limits, options.settings().loop);
      controlsOf.set(key, controls);
    }
    return controls;
  }

  function seat(task: TaskNode): readonly Seat[] {
    const inherited = taskSeats(task);
    const own = ownSeats(task);
    task.ownSeats = (task.controls.loop === undefined ? 3 : 4) + own.length;
    const at = task.ownSeats - own.length;
    task.seats = [...inherited.slice(0, at), ...own, ...inherited.slice(at)];
    return task.seats;
  }

  function ownSeats(task: TaskNode): readonly Seat[] {
    return ownControls
      .filter((control) => control.scope === 'task' || control.scope === 'chain')
      .map((control) => {
        const { cells } = task;
        cells.own ??= {};
        cells.own[control.name] ??= { state: control.initial(cells.deadline.state.startedAtMs) };
        return { control, cell: cells.own[control.name], place: 'self' } as unknown as Seat;
      });
  }

  return {
    wake,
    sweep,
    stop() {
      disarm?.();
      disarm = undefined;
    },
    start({ id, agent, session, parent, limits, said, retryOf, raises, carried }) {
      const known = tasks.get(id);
      if (known !== undefined)
        throw new SwitchgearError('task_exists', `a task with the id ${JSON.stringify(id)} is running`);
      if (tasks.size >= tasksMax)
        throw new SwitchgearError('too_many_tasks', `at most ${tasksMax} tasks can run at once`);
      const depth = (parent?.depth ?? -1) + 1;
      if (depth >= taskDepthMax) {
        throw new SwitchgearError('too_deep', `tasks can be nested ${taskDepthMax} deep at most`);
      }
      const atMs = store.clock.nowMs();
      const controls = sharedControls(limits);
      const cell = store.cell<TaskCells>(`task/${encodeURIComponent(id)}`, () => initialTaskCells(controls, atMs));
      if (carried !== undefined) carryOn(cell.state.budget.state, carried.cells.budget.state);
      const node = newNode({
        id,
        agent,
        session,
        parent,
        limits,
        said,
        depth,
        controls,
        cells: cell.state,
        raises: raises ?? 0,
        seat,
      });
      if (ownControls.length > 0) seat(node);
      if (parent !== undefined) {
        parent.children ??= new Set();
        parent.children.add(node);
        if (parent.haltStop !== undefined) {
          node.haltStop = parent.haltStop; // Born below a halted task: it has ended before it began.
          node.halt = parent.halt;
        }
      }
      tasks.set(id, node);
      notes.write(
        {
          type: 'task-started',
          limits,
          ...(parent === undefined ? {} : { parent: parent.id }),
          ...(retryOf === undefined ? {} : { retryOf }),
        },
        { task: id, session, agent },
        atMs,
      );
      wake();
      return node;
    },
    end(task, how) {
      if (task.ended) return;
      for (const child of task.children ?? []) this.end(child, how);
      task.ended = true;
      tasks.delete(task.id);
      task.parent?.children?.delete(task);
      task.letGo?.();
      store.drop(`task/${encodeURIComponent(task.id)}`);
      const place = { task: task.id, session: task.session, agent: task.agent };
      notes.write(
        { type: 'task-ended', how: task.haltStop === undefined ? how : 'halted' },
        place,
        store.clock.nowMs(),
      );
      if (tasks.size === 0 && !options.afterSweep(Number.NEGATIVE_INFINITY)) this.stop();
    },
    find: (id) => tasks.get(id),
    all: () => tasks.values(),
    get size() {
      return tasks.size;
    },
    reseat(limitsOf) {
      controlsOf.clear();
      for (const task of tasks.values()) {
        task.limits = limitsOf(task);
        task.controls = sharedControls(task.limits);
        task.noticeCalls = noticeCalls(task.limits);
      }
      for (const task of tasks.values()) {
        task.lanes = undefined;
        if (task.seats !== undefined) seat(task);
      }
    },
  };
}

function noticeCalls(limits: TaskSettings): number {
  return limits.maxToolCalls * limits.noticeShare;
}

function newNode(
  given: Pick<
    TaskNode,
    'id' | 'agent' | 'session' | 'parent' | 'limits' | 'said' | 'depth' | 'controls' | 'cells' | 'raises' | 'seat'
  >,
): TaskNode {
  const node = {
    ...given,
    root: undefined as unknown as TaskNode,
    seats: undefined,
    ownSeats: 0,
    lanes: undefined,
    children: undefined,
    haltStop: undefined,
    halt: undefined,
    ended: false,
    ending: undefined,
    letGo: undefined,
    signal: undefined,
    words: undefined,
    prompts: undefined,
    counted: undefined,
    bookedBelow: false,
    noticed: undefined,
    reported: undefined,
    noticeCalls: noticeCalls(given.limits),
    pauses: 0,
    face: undefined,
  };
  node.root = given.parent?.root ?? node;
  return node;
}

/** The signal of a task, made when somebody asks: most never do. */
export function signalOf(task: TaskNode): AbortSignal {
  if (task.signal === undefined) {
    const controller = new AbortController();
    task.signal = controller.signal;
    if (task.halt !== undefined) controller.abort(haltReason(task));
    else atHalt(task, () => controller.abort(haltReason(task)));
  }
  return task.signal;
}

function haltReason(task: TaskNode): Error {
  const error = new Error(task.halt?.message ?? 'halted');
  error.name = 'AbortError';
  return error;
}

/** Runs something once when the task halts; the result takes it back. */
export function atHalt(task: TaskNode, end: () => void): () => void {
  task.ending ??= new Set();
  task.ending.add(end);
  return () => task.ending?.delete(end);
}

export function snapshotTask(task: TaskNode, atMs: number): TaskSnapshot {
  const { budget, deadline } = task.cells;
  const gauges = seatsOf(task)
    .slice(0, task.ownSeats)
    .flatMap(({ control, cell }) => control.gauges?.(cell.state, atMs) ?? []);
  return {
    id: task.id,
    agent: task.agent,
    session: task.session,
    ...(task.parent === undefined ? {} : { parent: task.parent.id }),
    toolCalls: budget.state.calls,
    spendCents: budget.state.micros / microsPerCent,
    tokens: budget.state.tokens,
    durationMs: durationOf(deadline.state, atMs),
    idleMs: idleOf(deadline.state, atMs),
    gauges,
    ...(task.halt === undefined ? {} : { halt: task.halt }),
  };
}
