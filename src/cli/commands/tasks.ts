/** `switchgear halt`, `pause` and `resume`: orders to the tasks of every process on a store. */

import { setTimeout as sleep } from 'node:timers/promises';
import { type Orders, ordersCell, withOrder, withoutTarget } from '../../coordination/operator-orders.ts';
import { SwitchgearError } from '../../core/error.ts';
import type { EntryType } from '../../core/event.ts';
import { journalEntriesMax } from '../../core/limits.ts';
import { sanitizeText } from '../../operator/format.ts';
import { findLastSeq, readJournalEntries } from '../../operator/journal.ts';
import { listTasks, type OperatorTask } from '../../operator/tasks.ts';
import type { CrossProcessStore } from '../../ports/store.ts';
import { type Command, exitCodes, readArgs, type Terminal } from '../command.ts';
import { findStoreAddress, withStore } from '../store-option.ts';
import { makeOrderEntry, type OrderEntry, parseOrderReason, parseOrderTarget, sendOrder } from './send-order.ts';

/** How long a command looks for what its order did. Gears look at least once a second. */
const acknowledgeTimeoutMs = 1_500;
const pollMs = 50;

interface OrderKind {
  readonly order: OrderEntry['order'];
  /** The entry by which a task says that it heard. */
  readonly acknowledgement: EntryType;
  readonly doneText: string;
  /** Tasks that it is meant for. */
  readonly states: readonly OperatorTask['state'][];
  change(orders: Orders, target: string | null, reason: string, atMs: number): Orders | undefined;
}

export const haltCommand = createOrderCommand(
  {
    order: 'halt',
    acknowledgement: 'task-halted',
    doneText: 'halted',
    states: ['running', 'paused'],
    change: (orders, target, operatorReason, atMs) => {
      const reason = operatorReason ? `an operator halted the task: ${operatorReason}` : 'an operator halted the task';
      return { ...orders, halts: withOrder(orders.halts, { target, atMs, reason }) };
    },
  },
  ['halt TASK|--all [--reason T]     end a task, or every task that has begun, in every process on a store'],
);

export const pauseCommand = createOrderCommand(
  {
    order: 'pause',
    acknowledgement: 'task-stopped',
    doneText: 'paused',
    states: ['running'],
    change: (orders, target, operatorReason, atMs) => {
      const reason = operatorReason ? `an operator paused the task: ${operatorReason}` : 'an operator paused the task';
      return { ...orders, pauses: withOrder(orders.pauses, { target, atMs, reason }) };
    },
  },
  ['pause TASK|--all [--reason T]    refuse the calls of a task, or of all, and stop their clocks'],
);

export const resumeCommand = createOrderCommand(
  {
    order: 'resume',
    acknowledgement: 'task-resumed',
    doneText: 'goes on',
    states: ['paused'],
    change: (orders, target) => {
      const pauses = target === null ? [] : withoutTarget(orders.pauses, target);
      return pauses.length === orders.pauses.length ? undefined : { ...orders, pauses };
    },
  },
  ['resume TASK|--all                have a task go on that was paused, or all'],
);

function createOrderCommand(kind: OrderKind, usage: readonly string[]): Command {
  return {
    usage,
    async run(args, terminal) {
      const options = kind.order === 'resume' ? ['--store'] : ['--store', '--reason'];
      const parsedArgs = readArgs(args, ['--json', '--all'], 1, options);
      const target = parseOrderTarget(parsedArgs, 'a task');
      const address = findStoreAddress(parsedArgs, terminal);
      return withStore(address, async (store) => {
        const targets = await findTargetTasks(store, target, kind);
        const fromSeq = (await findLastSeq(store.shared)) + 1;
        const body = makeOrderEntry(kind.order, target, parseOrderReason(parsedArgs));
        const isSent = await sendOrder(store, address, body, (orders, atMs) =>
          kind.change(orders, target, body.reason, atMs),
        );
        if (!isSent) throw notPausedError(target, ordersCell(store).state);
        const acknowledged = await waitForAcknowledgements(store, fromSeq, kind, targets, target);
        return reportOrder(kind, target, targets, acknowledged, parsedArgs.switches.has('--json'), terminal);
      });
    },
  };
}

/** The tasks that are known; there may be others, which no process shows and which began long ago. */
async function findTargetTasks(
  store: CrossProcessStore,
  target: string | null,
  { states }: OrderKind,
): Promise<readonly string[]> {
  const tasks = await listTasks(store);
  return tasks.filter(({ id, state }) => (target ?? id) === id && states.includes(state)).map(({ id }) => id);
}

/** Waits for those that are meant to say that they heard, or for anybody where the journal knows nobody. */
async function waitForAcknowledgements(
  { shared }: CrossProcessStore,
  fromSeq: number,
  { acknowledgement }: OrderKind,
  targets: readonly string[],
  target: string | null,
): Promise<readonly string[]> {
  const tasks = new Set<string>();
  let nextSeq = fromSeq;
  const isDone = () => (targets.length === 0 ? tasks.size > 0 : targets.every((id) => tasks.has(id)));
  for (let waitedMs = 0; waitedMs < acknowledgeTimeoutMs && !isDone(); waitedMs += pollMs) {
    for (const { seq, type, task } of await readJournalEntries(shared, nextSeq, journalEntriesMax)) {
      nextSeq = seq + 1;
      if (type === acknowledgement && task !== undefined) tasks.add(task);
    }
    // Nobody is known and all are meant: there is nobody to wait for.
    if (targets.length === 0 && target === null && waitedMs >= acknowledgeTimeoutMs / 3) break;
    await sleep(pollMs);
  }
  return [...tasks];
}

function reportOrder(
  { order, doneText }: OrderKind,
  target: string | null,
  targets: readonly string[],
  acknowledged: readonly string[],
  asJson: boolean,
  { out, err }: Terminal,
): number {
  const silent = targets.filter((id) => !acknowledged.includes(id));
  // A pause of all holds tasks that begin later; a task that goes on may have ended meanwhile.
  const worked = acknowledged.length > 0 || order === 'resume' || (order === 'pause' && target === null);
  if (asJson) out(JSON.stringify({ order, target, tasks: acknowledged, silent }, null, 2));
  else {
    for (const id of acknowledged)
      out(order === 'resume' ? `${sanitizeText(id)} ${doneText}` : `${doneText} ${sanitizeText(id)}`);
    if (order === 'pause' && target === null) out('Tasks that begin are paused, too, until: switchgear resume --all');
    if (order === 'resume' && acknowledged.length === 0)
      out(`${sanitizeText(target ?? 'all tasks')}: the pause is taken back.`);
  }
  if (silent.length > 0) err(`switchgear: no answer yet from ${silent.map(sanitizeText).join(', ')}; the order stands`);
  else if (!worked) err(`switchgear: nobody on this store runs ${target === null ? 'a task' : JSON.stringify(target)}`);
  return worked ? exitCodes.ok : exitCodes.error;
}

function notPausedError(target: string | null, { pauses }: Orders): SwitchgearError {
  const sentence =
    target === null
      ? 'no task was paused by an order'
      : pauses.some((order) => order.target === null)
        ? 'all tasks are paused, not this one alone: use resume --all'
        : `the task ${JSON.stringify(target)} was not paused by an order`;
  return new SwitchgearError('not_found', sentence);
}
