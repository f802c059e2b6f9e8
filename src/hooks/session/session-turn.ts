/**
 * One hook at a time per session: whoever has the turn reads what the others left, decides, and writes everything down
 * in the transaction that ends its turn. One that dies leaves things as they were; its turn is over when its lease is.
 */

import { SwitchgearError } from '../../core/error.ts';
import { hookKeepMs, hookLeaseMs, hookTurnMaxMs, hookTurnMinMs } from '../../core/limits.ts';
import {
  endSilently,
  endTask,
  forgetTasks,
  freezeTask,
  keepsContent,
  type Runtime,
  type TaskState,
  thawTask,
} from '../../guard/internal.ts';
import { systemClock, wait } from '../../platform/system-clock.ts';
import { uniqueId } from '../../platform/unique-id.ts';
import type { Cell, Change, SharedStore, Store } from '../../ports/store.ts';
import { emptySession, type HookTask, type SessionState, sessionKey, taskKey } from './session-state.ts';

/** A task in hand, with what hooks keep beside it. */
export interface LoadedTaskFields extends Omit<HookTask, 'frozen'> {
  readonly node: TaskState;
}

export interface SessionTurn {
  /** As it will be written. */
  state: SessionState;
  /** The task of an id, with those above it; undefined where it is not known any more. */
  loadTask(id: string): Promise<LoadedTask | undefined>;
  /** Takes a task that was just begun. */
  addTask(node: TaskState): LoadedTask;
  /** Ends a task, with everything below it. */
  endTask(id: string, how: 'done' | 'error'): Promise<void>;
}

export type LoadedTask = { -readonly [K in keyof LoadedTaskFields]: LoadedTaskFields[K] };

export interface SessionTurnOptions {
  readonly runtime: Runtime;
  readonly store: Store & { readonly shared: SharedStore };
  /** What the state of this conversation is kept under. */
  readonly conversationKey: string;
  /** Whether somebody else tells of its tasks: a run around it. */
  readonly isReportedByRun: boolean;
  /** When the host gives up, by the process's own time. */
  readonly untilMs: number;
  /** What is done first in each turn. */
  onTurnStart?(turn: SessionTurn): Promise<void>;
}

const owner = uniqueId();

/** Does some work when it is this hook's turn. */
export async function runInTurn<T>(options: SessionTurnOptions, work: (turn: SessionTurn) => Promise<T>): Promise<T> {
  const { runtime, store, conversationKey, isReportedByRun } = options;
  const cell = store.cell<SessionState>(sessionKey(conversationKey), () => emptySession, { keepMs: hookKeepMs });
  const state = await acquireTurn(options, cell);
  const tasks = new Map<string, LoadedTask>();
  const ended = new Set<string>();

  async function load(id: string): Promise<LoadedTask | undefined> {
    const loaded = tasks.get(id);
    if (loaded !== undefined || ended.has(id)) return loaded;
    const key = taskKey(conversationKey, id);
    const [row] = await store.shared.read(key, 1);
    if (row?.key !== key || row.state === null) return undefined;
    const { frozen, round, open, answers } = row.state as HookTask;
    const parent = frozen.parent === undefined ? undefined : await load(frozen.parent);
    const task: LoadedTask = { node: thawTask(runtime, frozen, parent?.node), round, open, answers };
    tasks.set(id, task);
    return task;
  }

  const turn: SessionTurn = {
    state,
    loadTask: load,
    addTask(node) {
      const task: LoadedTask = { node, round: 0, open: [], answers: [] };
      tasks.set(node.id, task);
      return task;
    },
    async endTask(id, how) {
      const task = await load(id);
      if (task === undefined) return;
      if (isReportedByRun) endSilently(task.node);
      else endTask(runtime, task.node, how);
      ended.add(id);
    },
  };
  try {
    await options.onTurnStart?.(turn);
    const result = await work(turn);
    await commitTurn(options, cell, turn.state, tasks, ended);
    return result;
  } catch (error) {
    await releaseTurn(options, cell);
    throw error;
  } finally {
    forgetTasks(runtime); // The next turn reads the tasks as other hooks left them.
  }
}

async function acquireTurn({ store, untilMs }: SessionTurnOptions, cell: Cell<SessionState>): Promise<SessionState> {
  for (let waitMs = hookTurnMinMs; ; waitMs = Math.min(waitMs * 1.5, hookTurnMaxMs)) {
    const atMs = store.clock.nowMs();
    let state = emptySession;
    const update = (stored: SessionState) => {
      const { turn } = stored;
      if (turn !== null && turn.owner !== owner && atMs < turn.untilMs) return 'refuse' as const;
      state = { ...stored, turn: { owner, untilMs: atMs + hookLeaseMs } };
      return { state };
    };
    const result = await store.shared.commit({ changes: [{ cell, update } as unknown as Change] });
    if (result.status === 'committed') return state;
    if (systemClock.nowMs() > untilMs) {
      const why = result.status === 'unavailable' ? result.reason : 'another hook of this session has the turn';
      throw new SwitchgearError('store_unreachable', `it could not be decided in time: ${why}`);
    }
    await wait(systemClock, waitMs * (0.5 + Math.random()));
  }
}

/** Writes everything down and ends the turn, in one transaction. */
async function commitTurn(
  { runtime, store, conversationKey }: SessionTurnOptions,
  cell: Cell<SessionState>,
  state: SessionState,
  tasks: ReadonlyMap<string, LoadedTask>,
  ended: ReadonlySet<string>,
): Promise<void> {
  const changes: Change[] = [
    makeChange(cell, (stored) => (stored.turn?.owner === owner ? { ...state, turn: null } : undefined)),
  ];
  for (const [id, { node, round, open, answers }] of tasks) {
    if (ended.has(id) || node.ended) continue;
    const savedTask = redactState(runtime, { frozen: freezeTask(runtime, node), round, open, answers });
    const taskCell = store.cell<HookTask | null>(taskKey(conversationKey, id), () => null, { keepMs: hookKeepMs });
    changes.push(makeChange(taskCell, () => savedTask));
  }
  const result = await store.shared.commit({ changes });
  if (result.status !== 'committed') {
    const isFull = result.status === 'rejected' && result.by === 'full';
    const refused = isFull ? 'the store has no room for it' : 'its turn was over before it had decided';
    const why = result.status === 'unavailable' ? result.reason : refused;
    throw new SwitchgearError('store_unreachable', `what was decided could not be kept: ${why}`);
  }
  for (const [id, { node }] of tasks) if (ended.has(id) || node.ended) store.drop(taskKey(conversationKey, id));
  await store.shared.settled();
}

/** What is kept holds no values that rules saw, unless somebody wants words held. */
export function redactState<T>(runtime: Runtime, value: T): T {
  return keepsContent(runtime) ? value : (runtime.rules?.redact(value as never) ?? value);
}

function makeChange<S>(cell: Cell<S>, next: (stored: S) => S | undefined): Change {
  const update = (stored: S) => {
    const state = next(stored);
    return state === undefined ? 'refuse' : { state };
  };
  return { cell, update } as unknown as Change;
}

async function releaseTurn({ store }: SessionTurnOptions, cell: Cell<SessionState>): Promise<void> {
  const release = (stored: SessionState) => (stored.turn?.owner === owner ? { ...stored, turn: null } : undefined);
  await store.shared.commit({ changes: [makeChange(cell, release)] });
}
