/** `switchgear status`: breakers, tasks, budgets, orders and open cards of every process on a store. */

import { activeOrders, noOrders, type Order, type Orders, ordersCell } from '../../coordination/operator-orders.ts';
import type { Card } from '../../core/card.ts';
import { hasCounted, type StoredBreaker, storedBreakers } from '../../operator/breakers.ts';
import { budgetWords, type StoredBudget, storedBudgets } from '../../operator/budgets.ts';
import { type KnownTask, knownTasks } from '../../operator/tasks.ts';
import type { StoreHealth } from '../../ports/store.ts';
import { closeLost } from '../../supervisor/lost-runs.ts';
import { type Command, exitCodes, readArgs, type Terminal } from '../command.ts';
import {
  type CrossProcessStore,
  findStoreAddress,
  type StoreAddress,
  storeExists,
  withStore,
} from '../store-option.ts';
import {
  createPaint,
  formatCount,
  formatTable,
  formatTimeSpan,
  type Paint,
  type Style,
  type TableCell,
} from '../terminal-table.ts';

const cardsShown = 1_000;

/** Everything that is known of a store now. */
interface Status {
  readonly store: string;
  readonly health: StoreHealth;
  /** The store's time. */
  readonly atMs: number;
  readonly breakers: readonly StoredBreaker[];
  readonly tasks: readonly KnownTask[];
  readonly budgets: readonly StoredBudget[];
  readonly orders: Orders;
  readonly cards: readonly Card[];
}

export const command: Command = {
  usage: ['status                           show breakers, tasks, budgets, orders and open cards of a store'],
  async run(args, terminal) {
    const parsedArgs = readArgs(args, ['--json'], 0, ['--store']);
    const address = findStoreAddress(parsedArgs, terminal);
    const status = storeExists(address) ? await withStore(address, (store) => look(store, address)) : nothing(address);
    if (parsedArgs.switches.has('--json')) terminal.out(JSON.stringify(status, null, 2));
    else for (const line of page(status, terminal)) terminal.out(line);
    return exitCodes.ok;
  },
};

function nothing({ name }: StoreAddress): Status {
  const health = { state: 'shared', reason: 'nobody has used this store yet' } as const;
  return { store: name, health, atMs: 0, breakers: [], tasks: [], budgets: [], orders: noOrders, cards: [] };
}

async function look(store: CrossProcessStore, { name }: StoreAddress): Promise<Status> {
  const { shared, clock } = store;
  await closeLost(store); // Whoever looks first says what became of runs that nobody watches any more.
  const tasks = await knownTasks(store);
  const breakers = await storedBreakers(store);
  const budgets = await storedBudgets(store);
  const cards = (await shared.read('card/', cardsShown)).map(({ state }) => state as Card);
  const atMs = clock.nowMs();
  const { halts, pauses, trips } = ordersCell(store).state;
  return {
    store: name,
    health: shared.health,
    atMs,
    breakers,
    tasks,
    budgets,
    orders: { halts: activeOrders(halts, atMs), pauses, trips: activeOrders(trips, atMs) },
    cards: cards.filter(({ state }) => state === 'open'),
  };
}

function page(status: Status, terminal: Terminal): readonly string[] {
  const { store, health, atMs, breakers, tasks, budgets, orders, cards } = status;
  const paint = createPaint(terminal);
  const isWell = health.state === 'shared';
  const sections = [
    section(
      'Breakers',
      breakers
        .filter(hasCounted)
        .toSorted(worstFirst)
        .map((each) => breakerRow(each, atMs)),
      paint,
    ),
    section('Tasks', tasks.map(taskRow), paint),
    section('Budgets', budgets.map(budgetRow), paint),
    section('Orders', orderRows(orders, atMs), paint),
    section('Open cards', cards.map(cardRow), paint),
  ].filter((lines) => lines.length > 0);
  const calm = sections.length > 0 ? [] : ['', 'No breaker has counted a failure, no task runs, nobody is asked.'];
  return [`${store}  ${paint(health.reason, isWell ? 'dim' : 'red')}`, ...sections.flat(), ...calm];
}

function section(title: string, rows: readonly (readonly TableCell[])[], paint: Paint): readonly string[] {
  return rows.length === 0 ? [] : ['', paint(`${title} (${rows.length})`, 'bold'), ...formatTable(rows, paint)];
}

const order = { OPEN: 0, HALF_OPEN: 1, CLOSED: 2 } as const;
const styles = { OPEN: 'red', HALF_OPEN: 'yellow', CLOSED: 'green' } as const;
const positionals = { OPEN: 'open', HALF_OPEN: 'half-open', CLOSED: 'closed' } as const;

function worstFirst(one: StoredBreaker, other: StoredBreaker): number {
  return order[one.state] - order[other.state] || (one.name < other.name ? -1 : 1);
}

function breakerRow(breaker: StoredBreaker, atMs: number): readonly TableCell[] {
  const { name, state, failures, trips, cause, untilMs, held, scope, of, project } = breaker;
  const when = held
    ? 'held by hand'
    : state === 'OPEN'
      ? untilMs === undefined
        ? 'until it is reset'
        : `next try in ${formatTimeSpan(untilMs - atMs)}`
      : state === 'HALF_OPEN'
        ? 'the next call tries it'
        : formatCount(failures, 'failure');
  const whose = [scope === 'all' || scope === 'project' ? '' : `${scope} ${of}`, project].filter(Boolean).join(' · ');
  return [
    { text: name },
    { text: positionals[state], style: styles[state] },
    { text: when },
    { text: state === 'CLOSED' ? '' : cause },
    { text: trips === 0 ? '' : formatCount(trips, 'trip') },
    { text: whose, style: 'dim' },
  ];
}

const taskStyles: Readonly<Record<KnownTask['state'], Style>> = {
  running: 'green',
  paused: 'yellow',
  halted: 'red',
  lost: 'dim',
};

function taskRow({ id, agent, state, ageMs, halt, parent, used }: KnownTask): readonly TableCell[] {
  const more = halt?.message ?? (state === 'lost' ? 'its process is gone' : parent === undefined ? '' : `of ${parent}`);
  return [
    { text: id },
    { text: state, style: taskStyles[state] },
    { text: formatTimeSpan(ageMs) },
    { text: used === undefined ? '' : `${used.toolCalls} of ${used.maxToolCalls} calls` },
    { text: used === undefined || used.spendCents === 0 ? '' : `$${(used.spendCents / 100).toFixed(2)}` },
    { text: agent },
    { text: more, style: 'dim' },
  ];
}

function budgetRow(budget: StoredBudget): readonly TableCell[] {
  const { scope, of, project, used, limit = Number.POSITIVE_INFINITY } = budget;
  const [what, when] = budgetWords(budget);
  const name = scope === 'global' ? 'everybody' : [scope, of ?? project].join(' ');
  return [
    { text: name },
    { text: what, style: used >= limit ? 'red' : undefined },
    { text: when },
    { text: of === undefined ? '' : (project ?? ''), style: 'dim' },
  ];
}

/** What holds somebody back now; a halt is over once it is carried out. */
function orderRows({ pauses, trips }: Orders, atMs: number): readonly (readonly TableCell[])[] {
  const rows = (word: string, all: string, list: readonly Order[]) =>
    list.map(({ target, reason, atMs: since, untilMs }) => [
      { text: word, style: 'yellow' as const },
      { text: target ?? all },
      {
        text: untilMs === undefined ? `${formatTimeSpan(atMs - since)} ago` : `${formatTimeSpan(untilMs - atMs)} more`,
      },
      { text: reason, style: 'dim' as const },
    ]);
  return [...rows('pause', 'every task', pauses), ...rows('trip', 'every tool', trips)];
}

const cardStyles = { halt: 'red', ask: 'yellow', notice: undefined } as const;

function cardRow({ id, kind, task, code, evidence }: Card): readonly TableCell[] {
  return [
    { text: kind, style: cardStyles[kind] },
    { text: task },
    { text: code },
    { text: evidence.join('; ') || id, style: 'dim' },
  ];
}
