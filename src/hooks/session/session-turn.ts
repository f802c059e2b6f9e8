/**
 * One hook at a time per session: whoever has the turn reads what the others left, decides, and writes everything down
 * in the deal that ends its turn. One that dies leaves things as they were; its turn is over when its lease is.
 */

import { SwitchgearError } from '../../core/error.ts';
import { hookKeepMs, hookLeaseMs, hookTurnMaxMs, hookTurnMinMs } from '../../core/limits.ts';
import { keepsContent } from '../../guard/journal/journal.ts';
import type { Runtime } from '../../guard/runtime/runtime.ts';
import { stopSweep } from '../../guard/tasks/sweep.ts';
import type { TaskState } from '../../guard/tasks/task.ts';
import { freezeTask, thawTask } from '../../guard/tasks/task-transfer.ts';
import { endTask } from '../../guard/tasks/task-tree.ts';
import { systemClock, wait } from '../../platform/system-clock.ts';
import { uniqueId } from '../../platform/unique-id.ts';
import type { Cell, Change, SharedStore, Store } from '../../ports/store.ts';
import { type HookTask, noSession, type SessionState, sessionKey, taskKey } from './session-state.ts';

/** A task in hand, with what hooks keep beside it. */
export interface HeldTask extends Omit<HookTask, 'frozen'> {
  readonly node: TaskState;
}

export interface Desk {
  /** As it will be written. */
  state: SessionState;
  /** The task of an id, with those above it; undefined where it is not known any more. */
  task(id: string): Promise<Held | undefined>;
  /** Takes a task that was just begun. */
  hold(node: TaskState): Held;
  /** Ends a task, with everything below it. */
  end(id: string, how: 'done' | 'error'): Promise<void>;
}

export type Held = { -readonly [K in keyof HeldTask]: HeldTask[K] };

export interface DeskOptions {
  readonly runtime: Runtime;
  readonly store: Store & { readonly shared: SharedStore };
  /** What the state of this conversation is kept under. */
  readonly desk: string;
  /** Whether somebody else tells of its tasks: a run around it. */
  readonly isSilent: boolean;
  /** When the host gives up, by the process's own time. */
  readonly untilMs: number;
  /** What is done first in each turn. */
  begin?(desk: Desk): Promise<void>;
}

const owner = uniqueId();

/** Does some work when it is this hook's turn. */
export async function inTurn<T>(options: DeskOptions, work: (desk: Desk) => Promise<T>): Promise<T> {
  const { runtime, store, desk: name, isSilent } = options;
  const cell = store.cell<SessionState>(sessionKey(name), () => noSession, { keepMs: hookKeepMs });
  const state = await takeTurn(options, cell);
  const held = new Map<string, Held>();
  const ended = new Set<string>();

  async function load(id: string): Promise<Held | undefined> {
    const known = held.get(id);
    if (known !== undefined || ended.has(id)) return known;
    const key = taskKey(name, id);
    const [row] = await store.shared.read(key, 1);
    if (row?.key !== key || row.state === null) return undefined;
    const { frozen, round, open, answers } = row.state as HookTask;
    const parent = frozen.parent === undefined ? undefined : await load(frozen.parent);
    const task: Held = { node: thawTask(runtime, frozen, parent?.node), round, open, answers };
    held.set(id, task);
    return task;
  }

  const desk: Desk = {
    state,
    task: load,
    hold(node) {
      const task: Held = { node, round: 0, open: [], answers: [] };
      held.set(node.id, task);
      return task;
    },
    async end(id, how) {
      const task = await load(id);
      if (task === undefined) return;
      if (isSilent) task.node.ended = true;
      else endTask(runtime, task.node, how);
      ended.add(id);
    },
  };
  try {
    await options.begin?.(desk);
    const result = await work(desk);
    await leave(options, cell, desk.state, held, ended);
    return result;
  } catch (error) {
    await giveBack(options, cell);
    throw error;
  } finally {
    runtime.tasks.clear(); // The next turn reads what the others made of them.
    stopSweep(runtime);
  }
}

async function takeTurn({ store, untilMs }: DeskOptions, cell: Cell<SessionState>): Promise<SessionState> {
  for (let waitMs = hookTurnMinMs; ; waitMs = Math.min(waitMs * 1.5, hookTurnMaxMs)) {
    const atMs = store.clock.nowMs();
    let state = noSession;
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

/** Writes everything down and ends the turn, in one deal. */
async function leave(
  { runtime, store, desk: name }: DeskOptions,
  cell: Cell<SessionState>,
  state: SessionState,
  held: ReadonlyMap<string, Held>,
  ended: ReadonlySet<string>,
): Promise<void> {
  const changes: Change[] = [
    ofCell(cell, (stored) => (stored.turn?.owner === owner ? { ...state, turn: null } : undefined)),
  ];
  for (const [id, { node, round, open, answers }] of held) {
    if (ended.has(id) || node.ended) continue;
    const kept = veiled(runtime, { frozen: freezeTask(runtime, node), round, open, answers });
    const own = store.cell<HookTask | null>(taskKey(name, id), () => null, { keepMs: hookKeepMs });
    changes.push(ofCell(own, () => kept));
  }
  const result = await store.shared.commit({ changes });
  if (result.status !== 'committed') {
    const isFull = result.status === 'rejected' && result.by === 'full';
    const refused = isFull ? 'the store has no room for it' : 'its turn was over before it had decided';
    const why = result.status === 'unavailable' ? result.reason : refused;
    throw new SwitchgearError('store_unreachable', `what was decided could not be kept: ${why}`);
  }
  for (const [id, { node }] of held) if (ended.has(id) || node.ended) store.drop(taskKey(name, id));
  await store.shared.settled();
}

/** What is kept holds no values that rules saw, unless somebody wants words held. */
export function veiled<T>(runtime: Runtime, kept: T): T {
  return keepsContent(runtime) ? kept : (runtime.rules?.redact(kept as never) ?? kept);
}

function ofCell<S>(cell: Cell<S>, next: (stored: S) => S | undefined): Change {
  const update = (stored: S) => {
    const state = next(stored);
    return state === undefined ? 'refuse' : { state };
  };
  return { cell, update } as unknown as Change;
}

async function giveBack({ store }: DeskOptions, cell: Cell<SessionState>): Promise<void> {
  const back = (stored: SessionState) => (stored.turn?.owner === owner ? { ...stored, turn: null } : undefined);
  await store.shared.commit({ changes: [ofCell(cell, back)] });
}
