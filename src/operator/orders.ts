/** Sends orders of an operator to every process on a store: halt, pause or resume tasks. */

import { setTimeout as sleep } from 'node:timers/promises';
import { activeOrders, type Orders, ordersCell, withOrder, withoutTarget } from '../coordination/operator-orders.ts';
import { SwitchgearError } from '../core/error.ts';
import type { EntryBody, EntryType } from '../core/event.ts';
import { journalEntriesMax, leaseMs, ordersMax } from '../core/limits.ts';
import type { Change, CrossProcessStore, PendingEntry } from '../ports/store.ts';
import { isAlive, isHere, type RunRecord, readRuns } from '../supervisor/run-record.ts';
import type { Operator } from './authorize.ts';
import type { OperatorTask } from './board/answers.ts';
import { findLastSeq, readJournalEntries } from './journal.ts';
import { listTasks } from './tasks.ts';

/**
 * The longest wait for the acknowledgement of a known task. Every gear reads its orders at least once a second, but a
 * busy machine delays it; a task whose process is gone is not waited for.
 */
const acknowledgeTimeoutMs = 15_000;
/** The longest wait for a task that is not published yet, and for any task at all. */
const unknownTaskTimeoutMs = 1_500;
const anyTaskTimeoutMs = 500;
const pollMs = 50;

/** The journal entry of an order. */
export type OrderEntry = Extract<EntryBody, { readonly type: 'order-given' }>;

/** The kinds of orders to tasks. */
export type TaskOrder = 'halt' | 'pause' | 'resume';

/** Whom an order concerns, and who gives it. */
export interface OrderRequest extends Operator {
  /** A task or tool; null means all. */
  readonly target: string | null;
  readonly reason: string;
}

/** How the tasks reacted to an order. */
export interface OrderResult {
  /** Tasks that acknowledged the order in the journal. */
  readonly acknowledged: readonly string[];
  /** Known tasks without an acknowledgement so far; the order stays in force for them. */
  readonly silent: readonly string[];
}

interface OrderKind {
  /** The journal entry with which a task acknowledges the order. */
  readonly acknowledgement: EntryType;
  /** States of the tasks that the order concerns. */
  readonly states: readonly OperatorTask['state'][];
  change(orders: Orders, request: OrderRequest, atMs: number): Orders | undefined;
}

const orderKinds: Readonly<Record<TaskOrder, OrderKind>> = {
  halt: {
    acknowledgement: 'task-halted',
    states: ['running', 'paused'],
    change: (orders, { target, reason: operatorReason }, atMs) => {
      const reason = operatorReason ? `an operator halted the task: ${operatorReason}` : 'an operator halted the task';
      return { ...orders, halts: withOrder(orders.halts, { target, atMs, reason }) };
    },
  },
  pause: {
    acknowledgement: 'task-stopped',
    states: ['running'],
    change: (orders, { target, reason: operatorReason }, atMs) => {
      const reason = operatorReason ? `an operator paused the task: ${operatorReason}` : 'an operator paused the task';
      return { ...orders, pauses: withOrder(orders.pauses, { target, atMs, reason }) };
    },
  },
  resume: {
    acknowledgement: 'task-resumed',
    states: ['paused'],
    change: (orders, { target }) => {
      const pauses = target === null ? [] : withoutTarget(orders.pauses, target);
      return pauses.length === orders.pauses.length ? undefined : { ...orders, pauses };
    },
  },
};

/** Sends an order to a task or to all tasks and waits for acknowledgements. */
export async function orderTasks(
  store: CrossProcessStore,
  order: TaskOrder,
  request: OrderRequest,
): Promise<OrderResult> {
  const { target, reason, by, from } = request;
  const kind = orderKinds[order];
  // First: a task may acknowledge the equal order of another person right after it was listed.
  const fromSeq = (await findLastSeq(store.shared)) + 1;
  const tasks = await listTasks(store);
  const starting = kind.states.includes('running') ? await findStartingRuns(store, tasks) : [];
  const known = tasks.filter(({ state }) => kind.states.includes(state)).map(({ id }) => id);
  const targets = [...known, ...starting].filter((id) => (target ?? id) === id);
  const entry = { type: 'order-given', order, target, reason, by, ...(from && { from }) } as const;
  const isSent = await commitOrder(store, entry, (orders, atMs) => kind.change(orders, request, atMs));
  if (!isSent) throw notPausedError(target, ordersCell(store).state);
  const acknowledged = await waitForAcknowledgements(store, fromSeq, kind.acknowledgement, targets, target);
  return { acknowledged, silent: targets.filter((id) => !acknowledged.includes(id)) };
}

/** The tasks of runs whose agent has been started, and that are not published yet. */
async function findStartingRuns(store: CrossProcessStore, tasks: readonly OperatorTask[]): Promise<readonly string[]> {
  const published = new Set(tasks.map(({ id }) => id));
  const isStarting = ({ task, state, owner, startedMs = 0 }: RunRecord) =>
    state === 'running' &&
    !published.has(task) &&
    isAlive(owner) &&
    // The owner on another machine cannot be looked up.
    (isHere(owner) || store.clock.wallMs() - startedMs < leaseMs);
  return (await readRuns(store)).filter(isStarting).map(({ task }) => task);
}

/** Waits until all targets acknowledge the order, or until any task does if there is no known target. */
async function waitForAcknowledgements(
  { shared }: CrossProcessStore,
  fromSeq: number,
  acknowledgement: EntryType,
  targets: readonly string[],
  target: string | null,
): Promise<readonly string[]> {
  const tasks = new Set<string>();
  let nextSeq = fromSeq;
  const isDone = () => (targets.length === 0 ? tasks.size > 0 : targets.every((id) => tasks.has(id)));
  const unknownMs = target === null ? anyTaskTimeoutMs : unknownTaskTimeoutMs;
  const timeoutMs = targets.length === 0 ? unknownMs : acknowledgeTimeoutMs;
  for (let waitedMs = 0; waitedMs <= timeoutMs && !isDone(); waitedMs += pollMs) {
    for (const { seq, type, task } of await readJournalEntries(shared, nextSeq, journalEntriesMax)) {
      nextSeq = seq + 1;
      if (type === acknowledgement && task !== undefined) tasks.add(task);
    }
    if (!isDone()) await sleep(pollMs);
  }
  return [...tasks];
}

function notPausedError(target: string | null, { pauses }: Orders): SwitchgearError {
  const sentence =
    target === null
      ? 'no task was paused by an order: switchgear status shows the orders in force'
      : pauses.some((order) => order.target === null)
        ? 'all tasks are paused, not this one alone: use resume --all'
        : `the task ${JSON.stringify(target)} was not paused by an order: switchgear status shows the orders in force`;
  return new SwitchgearError('not_found', sentence);
}

/** Changes the orders of a store and other cells in one transaction; returns false if there was nothing to change. */
export async function commitOrder(
  store: CrossProcessStore,
  entry: OrderEntry | undefined,
  change: (orders: Orders, atMs: number) => Orders | undefined,
  otherChanges: readonly Change[] = [],
): Promise<boolean> {
  const atMs = store.clock.nowMs();
  const entries: readonly PendingEntry[] = entry === undefined ? [] : [{ body: entry, place: {}, atMs }];
  let fullKind: 'pauses' | 'holds' | undefined;
  const ordersChange: Change<Orders> = {
    cell: ordersCell(store),
    update(state) {
      const active = { ...state, halts: activeOrders(state.halts, atMs), trips: activeOrders(state.trips, atMs) };
      const next = change(active, atMs);
      fullKind = next && findFullKind(next);
      if (fullKind !== undefined) return 'refuse'; // Dropping an old pause would resume its task.
      if (next === undefined) return otherChanges.length > 0 ? 'keep' : 'refuse';
      return { state: { ...next, halts: next.halts.slice(-ordersMax), trips: next.trips.slice(-ordersMax) } };
    },
  };
  const result = await store.shared.commit({ changes: [ordersChange as Change, ...otherChanges], entries });
  if (result.status === 'committed') return true;
  if (fullKind !== undefined) {
    const things = fullKind === 'pauses' ? 'single tasks can be paused: use pause --all' : 'tools can be held';
    throw new SwitchgearError('orders_full', `at most ${ordersMax} ${things}`);
  }
  if (result.status === 'rejected' && result.by === 'cell') return false;
  throw storeWriteError(result.status === 'unavailable' ? result.reason : 'the store is full');
}

function findFullKind({ pauses, holds = [] }: Orders): 'pauses' | 'holds' | undefined {
  if (pauses.length > ordersMax) return 'pauses';
  return holds.length > ordersMax ? 'holds' : undefined;
}

/** The error for a change that the store did not accept. */
export function storeWriteError(reason: string): SwitchgearError {
  return new SwitchgearError('store_unreachable', `the store did not accept the change: ${reason}`);
}
