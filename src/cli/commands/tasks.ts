/** `switchgear halt`, `pause` and `resume`: orders to the tasks of every process on a store. */

import { setTimeout as sleep } from 'node:timers/promises';
import { type Orders, ordersCell, withOrder, withoutTarget } from '../../coordination/operator-orders.ts';
import { SwitchgearError } from '../../core/error.ts';
import type { EntryType } from '../../core/event.ts';
import { journalEntriesMax } from '../../core/limits.ts';
import { entriesFrom, lastSeq } from '../../operator/journal.ts';
import { type KnownTask, knownTasks } from '../../operator/tasks.ts';
import { type Command, exitCodes, readArgs, type Terminal } from '../command.ts';
import { type CrossProcessStore, findStoreAddress, withStore } from '../store-option.ts';
import { sanitizeText } from '../terminal-table.ts';
import { type Given, give, givenOrder, reasonOf, targetOf } from './send-order.ts';

/** How long a command looks for what its order did. Gears look at least once a second. */
const answerMs = 1_500;
const lookMs = 50;

interface Kind {
  readonly order: Given['order'];
  /** The entry by which a task says that it heard. */
  readonly heard: EntryType;
  readonly did: string;
  /** Tasks that it is meant for. */
  readonly states: readonly KnownTask['state'][];
  change(orders: Orders, target: string | null, reason: string, atMs: number): Orders | undefined;
}

export const halt = commandOf(
  {
    order: 'halt',
    heard: 'task-halted',
    did: 'halted',
    states: ['running', 'paused'],
    change: (orders, target, operatorReason, atMs) => {
      const reason = operatorReason ? `an operator halted the task: ${operatorReason}` : 'an operator halted the task';
      return { ...orders, halts: withOrder(orders.halts, { target, atMs, reason }) };
    },
  },
  ['halt TASK|--all [--reason T]     end a task, or every task that has begun, in every process on a store'],
);

export const pause = commandOf(
  {
    order: 'pause',
    heard: 'task-stopped',
    did: 'paused',
    states: ['running'],
    change: (orders, target, operatorReason, atMs) => {
      const reason = operatorReason ? `an operator paused the task: ${operatorReason}` : 'an operator paused the task';
      return { ...orders, pauses: withOrder(orders.pauses, { target, atMs, reason }) };
    },
  },
  ['pause TASK|--all [--reason T]    refuse the calls of a task, or of all, and stop their clocks'],
);

export const resume = commandOf(
  {
    order: 'resume',
    heard: 'task-resumed',
    did: 'goes on',
    states: ['paused'],
    change: (orders, target) => {
      const pauses = target === null ? [] : withoutTarget(orders.pauses, target);
      return pauses.length === orders.pauses.length ? undefined : { ...orders, pauses };
    },
  },
  ['resume TASK|--all                have a task go on that was paused, or all'],
);

function commandOf(kind: Kind, usage: readonly string[]): Command {
  return {
    usage,
    async run(args, terminal) {
      const options = kind.order === 'resume' ? ['--store'] : ['--store', '--reason'];
      const parsedArgs = readArgs(args, ['--json', '--all'], 1, options);
      const target = targetOf(parsedArgs, 'a task');
      const address = findStoreAddress(parsedArgs, terminal);
      return withStore(address, async (store) => {
        const meant = await tasksMeant(store, target, kind);
        const from = (await lastSeq(store.shared)) + 1;
        const body = givenOrder(kind.order, target, reasonOf(parsedArgs));
        const isSent = await give(store, address, body, (orders, atMs) =>
          kind.change(orders, target, body.reason, atMs),
        );
        if (!isSent) throw nothingPaused(target, ordersCell(store).state);
        const heard = await answers(store, from, kind, meant, target);
        return tell(kind, target, meant, heard, parsedArgs.switches.has('--json'), terminal);
      });
    },
  };
}

/** The tasks that are known; there may be others, which no process shows and which began long ago. */
async function tasksMeant(
  store: CrossProcessStore,
  target: string | null,
  { states }: Kind,
): Promise<readonly string[]> {
  const tasks = await knownTasks(store);
  return tasks.filter(({ id, state }) => (target ?? id) === id && states.includes(state)).map(({ id }) => id);
}

/** Waits for those that are meant to say that they heard, or for anybody where the journal knows nobody. */
async function answers(
  { shared }: CrossProcessStore,
  from: number,
  { heard }: Kind,
  meant: readonly string[],
  target: string | null,
): Promise<readonly string[]> {
  const tasks = new Set<string>();
  let next = from;
  const isDone = () => (meant.length === 0 ? tasks.size > 0 : meant.every((id) => tasks.has(id)));
  for (let waited = 0; waited < answerMs && !isDone(); waited += lookMs) {
    for (const { seq, type, task } of await entriesFrom(shared, next, journalEntriesMax)) {
      next = seq + 1;
      if (type === heard && task !== undefined) tasks.add(task);
    }
    // Nobody is known and all are meant: there is nobody to wait for.
    if (meant.length === 0 && target === null && waited >= answerMs / 3) break;
    await sleep(lookMs);
  }
  return [...tasks];
}

function tell(
  { order, did }: Kind,
  target: string | null,
  meant: readonly string[],
  heard: readonly string[],
  asJson: boolean,
  { out, err }: Terminal,
): number {
  const silent = meant.filter((id) => !heard.includes(id));
  // A pause of all holds tasks that begin later; a task that goes on may have ended meanwhile.
  const worked = heard.length > 0 || order === 'resume' || (order === 'pause' && target === null);
  if (asJson) out(JSON.stringify({ order, target, tasks: heard, silent }, null, 2));
  else {
    for (const id of heard) out(order === 'resume' ? `${sanitizeText(id)} ${did}` : `${did} ${sanitizeText(id)}`);
    if (order === 'pause' && target === null) out('Tasks that begin are paused, too, until: switchgear resume --all');
    if (order === 'resume' && heard.length === 0)
      out(`${sanitizeText(target ?? 'all tasks')}: the pause is taken back.`);
  }
  if (silent.length > 0) err(`switchgear: no answer yet from ${silent.map(sanitizeText).join(', ')}; the order stands`);
  else if (!worked) err(`switchgear: nobody on this store runs ${target === null ? 'a task' : JSON.stringify(target)}`);
  return worked ? exitCodes.ok : exitCodes.error;
}

function nothingPaused(target: string | null, { pauses }: Orders): SwitchgearError {
  const sentence =
    target === null
      ? 'no task was paused by an order'
      : pauses.some((order) => order.target === null)
        ? 'all tasks are paused, not this one alone: use resume --all'
        : `the task ${JSON.stringify(target)} was not paused by an order`;
  return new SwitchgearError('not_found', sentence);
}
