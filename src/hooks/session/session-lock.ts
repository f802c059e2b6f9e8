/**
 * The lock of a session: one hook at a time reads the session, decides, and writes everything in the transaction that
 * releases the lock. A hook that dies changes nothing, and its lock ends with its lease.
 */

import { SwitchgearError } from '../../core/error.ts';
import { hookKeepMs, hookLeaseMs, hookLockPollMaxMs, hookLockPollMinMs } from '../../core/limits.ts';
import {
  endSilently,
  endTask,
  forgetTasks,
  freezeTask,
  keepsContent,
  type Runtime,
  removeInput,
  type TaskState,
  thawTask,
  withdrawQuestion,
} from '../../guard/internal.ts';
import { systemClock, wait } from '../../platform/system-clock.ts';
import { uniqueId } from '../../platform/unique-id.ts';
import type { Cell, Change, SharedStore, Store } from '../../ports/store.ts';
import type { HookEventSource } from '../place-event.ts';
import {
  emptySession,
  type HookTask,
  readSession,
  type SessionState,
  type StoredSession,
  sessionKey,
  storeSession,
  taskKey,
} from './session-state.ts';

/** A loaded task with its hook data. */
export interface LoadedTaskFields extends Omit<HookTask, 'frozen' | 'round'> {
  readonly node: TaskState;
  /** The number of the model turn, if the host reports turns. */
  readonly modelTurn: number;
}

/** A session whose lock this hook holds. */
export interface LockedSession {
  /** The state to be written. */
  state: SessionState;
  /** Where the event comes from. */
  source: HookEventSource;
  /** Loads a task and its ancestors by id; undefined if it is no longer known. */
  loadTask(id: string): Promise<LoadedTask | undefined>;
  /** Adds a task that was just started. */
  addTask(node: TaskState): LoadedTask;
  /** Ends a task and its descendants. */
  endTask(id: string, how: 'done' | 'error'): Promise<void>;
}

export type LoadedTask = { -readonly [K in keyof LoadedTaskFields]: LoadedTaskFields[K] };

export interface SessionLockOptions {
  readonly runtime: Runtime;
  readonly store: Store & { readonly shared: SharedStore };
  /** The key of the conversation's state. */
  readonly conversationKey: string;
  /** Whether a surrounding run reports its tasks. */
  readonly isReportedByRun: boolean;
  /** The host's timeout, in process time. */
  readonly untilMs: number;
  /** Called first whenever the hook has the lock. */
  onLocked?(session: LockedSession): Promise<void>;
}

const owner = uniqueId();

/** Does some work while this hook holds the lock of the session; commits its changes with the release. */
export async function withSessionLock<T>(
  options: SessionLockOptions,
  work: (session: LockedSession) => Promise<T>,
): Promise<T> {
  const { runtime, store, conversationKey, isReportedByRun } = options;
  const initial = () => storeSession(emptySession);
  const cell = store.cell<StoredSession>(sessionKey(conversationKey), initial, { keepMs: hookKeepMs });
  const state = await acquireLock(options, cell);
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
    const task: LoadedTask = { node: thawTask(runtime, frozen, parent?.node), modelTurn: round, open, answers };
    tasks.set(id, task);
    return task;
  }

  const session: LockedSession = {
    state,
    source: 'host',
    loadTask: load,
    addTask(node) {
      const task: LoadedTask = { node, modelTurn: 0, open: [], answers: [] };
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
    await options.onLocked?.(session);
    const result = await work(session);
    if (session.state.questions !== undefined) {
      const halted = [...tasks.values()].flatMap(({ node }) => (node.haltStop === undefined ? [] : node.id));
      session.state = endQuestions(runtime, session.state, [...ended, ...halted]);
    }
    await commitAndUnlock(options, cell, session.state, tasks, ended);
    return result;
  } catch (error) {
    await releaseLock(options, cell);
    throw error;
  } finally {
    forgetTasks(runtime); // The next lock reads the tasks as other hooks left them.
  }
}

/** Ends the questions of tasks that are over, and forgets those that are answered or expired. */
function endQuestions(
  runtime: Runtime,
  { questions, ...state }: SessionState,
  tasksOver: readonly string[],
): SessionState {
  const atMs = runtime.clock.nowMs();
  const left: Record<string, string> = {};
  for (const [id, task] of Object.entries(questions ?? {})) {
    const card = runtime.store.card(id);
    if (card?.state !== 'open') continue;
    // The id of a subagent's task begins with that of the prompt's task.
    if (tasksOver.some((over) => task === over || task.startsWith(`${over}/`))) withdrawQuestion(runtime, id, atMs);
    // The card stays: the same call, made again, learns from it that nobody answered.
    else if (atMs >= (card.expiresAtMs ?? 0)) removeInput(runtime.store, id);
    else left[id] = task;
  }
  return Object.keys(left).length === 0 ? state : { ...state, questions: left };
}

async function acquireLock({ store, untilMs }: SessionLockOptions, cell: Cell<StoredSession>): Promise<SessionState> {
  for (let waitMs = hookLockPollMinMs; ; waitMs = Math.min(waitMs * 1.5, hookLockPollMaxMs)) {
    const atMs = store.clock.nowMs();
    let state = emptySession;
    const update = (stored: StoredSession) => {
      const current = readSession(stored);
      const { lock } = current;
      if (lock !== null && lock.owner !== owner && atMs < lock.untilMs) return 'refuse' as const;
      state = { ...current, lock: { owner, untilMs: atMs + hookLeaseMs } };
      return { state: storeSession(state) };
    };
    const result = await store.shared.commit({ changes: [{ cell, update }] });
    if (result.status === 'committed') return state;
    if (systemClock.nowMs() > untilMs) {
      const why = result.status === 'unavailable' ? result.reason : 'another hook holds the lock of this session';
      throw new SwitchgearError('store_unreachable', `no decision in time: ${why}`);
    }
    await wait(systemClock, waitMs * (0.5 + Math.random()));
  }
}

/** Writes everything and releases the lock, in one transaction. */
async function commitAndUnlock(
  { runtime, store, conversationKey }: SessionLockOptions,
  cell: Cell<StoredSession>,
  state: SessionState,
  tasks: ReadonlyMap<string, LoadedTask>,
  ended: ReadonlySet<string>,
): Promise<void> {
  const changes: Change[] = [
    makeChange(cell, (stored) => (isOwnLock(stored) ? storeSession({ ...state, lock: null }) : undefined)),
  ];
  for (const [id, { node, modelTurn, open, answers }] of tasks) {
    if (ended.has(id) || node.ended) continue;
    const savedTask = redactState(runtime, { frozen: freezeTask(runtime, node), round: modelTurn, open, answers });
    const taskCell = store.cell<HookTask | null>(taskKey(conversationKey, id), () => null, { keepMs: hookKeepMs });
    changes.push(makeChange(taskCell, () => savedTask));
  }
  const counted = store.shared.counters?.take();
  const result = await store.shared.commit(
    counted === undefined ? { changes } : { changes: [...changes, ...counted.changes], adds: counted.adds },
  );
  if (result.status !== 'committed') {
    counted?.giveBack();
    const isFull = result.status === 'rejected' && result.by === 'full';
    const refused = isFull ? 'the store is full' : 'the lock of the session expired before the decision';
    const why = result.status === 'unavailable' ? result.reason : refused;
    throw new SwitchgearError('store_unreachable', `the decision could not be stored: ${why}`);
  }
  for (const [id, { node }] of tasks) if (ended.has(id) || node.ended) store.drop(taskKey(conversationKey, id));
  await store.shared.settled();
}

/** Removes the values that rules saw from stored state, unless `journal.content` allows them. */
export function redactState<T>(runtime: Runtime, value: T): T {
  return keepsContent(runtime) ? value : (runtime.rules?.redact(value as never) ?? value);
}

function makeChange<S>(cell: Cell<S>, next: (stored: S) => S | undefined): Change {
  const update = (stored: S) => {
    const state = next(stored);
    return state === undefined ? 'refuse' : { state };
  };
  return { cell, update };
}

async function releaseLock({ store }: SessionLockOptions, cell: Cell<StoredSession>): Promise<void> {
  const release = (stored: StoredSession) => (isOwnLock(stored) ? { ...stored, turn: null } : undefined);
  await store.shared.commit({ changes: [makeChange(cell, release)] });
}

function isOwnLock(stored: StoredSession): boolean {
  return readSession(stored).lock?.owner === owner;
}
