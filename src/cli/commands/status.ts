/** The command `switchgear status`: breakers, tasks, budgets, orders and open cards of every process on a store. */

import type { Order, Orders } from '../../coordination/operator-orders.ts';
import type { Card } from '../../core/card.ts';
import { describeOpening } from '../../core/messages/entry-words.ts';
import { formatTimeSpan, formatUse } from '../../core/quote.ts';
import type { OperatorTask, StoredBreaker } from '../../operator/board/answers.ts';
import { compareBreakers, hasCounted } from '../../operator/breakers.ts';
import { formatBudget, type StoredBudget } from '../../operator/budgets.ts';
import { formatCount, type Paint, type Style, type TableCell } from '../../operator/format.ts';
import { makeEmptyStatus, readStatus, type StoreStatus } from '../../operator/status.ts';
import { type Command, exitCodes, readArgs, type Terminal } from '../command.ts';
import { findStoreAddress, storeExists, withStore } from '../store-option.ts';
import { createPaint, formatTable } from '../terminal-table.ts';

export const command: Command = {
  usage: ['status                           show breakers, tasks, budgets, orders and open cards of a store'],
  async run(args, terminal) {
    const parsedArgs = readArgs(args, ['--json'], 0, ['--store']);
    const address = findStoreAddress(parsedArgs, terminal);
    const status = storeExists(address)
      ? await withStore(address, (store) => readStatus(store, address.name), { onLoss: terminal.err })
      : makeEmptyStatus(address.name);
    if (parsedArgs.switches.has('--json')) terminal.out(JSON.stringify(status, null, 2));
    else for (const line of formatStatus(status, terminal)) terminal.out(line);
    return exitCodes.ok;
  },
};

function formatStatus(status: StoreStatus, terminal: Terminal): readonly string[] {
  const { store, health, atMs, breakers, tasks, budgets, orders, cards } = status;
  const paint = createPaint(terminal);
  const isHealthy = health.state === 'shared';
  const sections = [
    formatSection(
      'Breakers',
      breakers
        .filter(hasCounted)
        .toSorted(compareBreakers)
        .map((each) => formatBreakerRow(each, atMs)),
      paint,
    ),
    formatSection('Tasks', tasks.map(formatTaskRow), paint),
    formatSection('Budgets', budgets.map(formatBudgetRow), paint),
    formatSection('Orders', formatOrderRows(orders, atMs), paint),
    formatSection('Open cards', cards.filter(({ kind }) => kind !== 'notice').map(formatCardRow), paint),
    formatSection('Notices', cards.filter(({ kind }) => kind === 'notice').map(formatCardRow), paint),
  ].filter((lines) => lines.length > 0);
  const emptyHint = sections.length > 0 ? [] : ['', 'No open breakers, running tasks or pending approvals.'];
  return [`${store}  ${paint(health.reason, isHealthy ? 'dim' : 'red')}`, ...sections.flat(), ...emptyHint];
}

function formatSection(title: string, rows: readonly (readonly TableCell[])[], paint: Paint): readonly string[] {
  return rows.length === 0 ? [] : ['', paint(`${title} (${rows.length})`, 'bold'), ...formatTable(rows, paint)];
}

const stateStyles = { OPEN: 'red', HALF_OPEN: 'yellow', CLOSED: 'green' } as const;
const stateNames = { OPEN: 'open', HALF_OPEN: 'half-open', CLOSED: 'closed' } as const;

function formatBreakerRow(breaker: StoredBreaker, atMs: number): readonly TableCell[] {
  const { name, state, failures, inARow, trips, cause, untilMs, held, scope, of, project } = breaker;
  const when = held
    ? 'held by hand'
    : state === 'OPEN'
      ? untilMs === undefined
        ? 'until it is reset'
        : `next probe in ${formatTimeSpan(untilMs - atMs)}`
      : state === 'HALF_OPEN'
        ? 'the next call is a probe'
        : formatCount(failures, 'failure');
  const owner = [scope === 'all' || scope === 'project' ? '' : `${scope} ${of}`, project].filter(Boolean).join(' · ');
  return [
    { text: name },
    { text: stateNames[state], style: stateStyles[state] },
    { text: when },
    { text: trips === 0 ? '' : formatCount(trips, 'trip') },
    { text: owner, style: 'dim' },
    {
      text: [state === 'CLOSED' ? '' : describeOpening(cause, inARow), describeLast(breaker)]
        .filter(Boolean)
        .join('; '),
    },
  ];
}

function describeLast({ lastError }: StoredBreaker): string {
  return lastError === undefined ? '' : `last error: ${lastError}`;
}

const taskStyles: Readonly<Record<OperatorTask['state'], Style>> = {
  running: 'green',
  paused: 'yellow',
  halted: 'red',
  lost: 'dim',
};

function formatTaskRow({ id, agent, state, ageMs, halt, parent, used }: OperatorTask): readonly TableCell[] {
  const more = halt?.message ?? (state === 'lost' ? 'its process is gone' : parent === undefined ? '' : `of ${parent}`);
  return [
    { text: id },
    { text: state, style: taskStyles[state] },
    { text: formatTimeSpan(ageMs) },
    { text: used === undefined ? '' : formatCalls(used.toolCalls, used.maxToolCalls) },
    { text: used === undefined || used.spendCents === 0 ? '' : `$${(used.spendCents / 100).toFixed(2)}` },
    { text: agent },
    { text: more, style: 'dim' },
  ];
}

function formatBudgetRow(budget: StoredBudget): readonly TableCell[] {
  const { scope, of, project, used, limit = Number.POSITIVE_INFINITY } = budget;
  const [what, when] = formatBudget(budget);
  const name = scope === 'global' ? 'global' : [scope, of ?? project].join(' ');
  return [
    { text: name },
    { text: what, style: used >= limit ? 'red' : undefined },
    { text: when },
    { text: of === undefined ? '' : (project ?? ''), style: 'dim' },
  ];
}

/** Pauses, trips and holds in force; a halt needs no row, since it ends with its task. */
function formatOrderRows({ pauses, trips, holds = [] }: Orders, atMs: number): readonly (readonly TableCell[])[] {
  const rows = (word: string, all: string, list: readonly Order[]) =>
    list.map(({ target, reason, atMs: since, untilMs }) => [
      { text: word, style: 'yellow' as const },
      { text: target ?? all },
      {
        text: untilMs === undefined ? `${formatTimeSpan(atMs - since)} ago` : `${formatTimeSpan(untilMs - atMs)} more`,
      },
      { text: reason, style: 'dim' as const },
    ]);
  return [...rows('pause', 'every task', pauses), ...rows('trip', 'every tool', trips), ...rows('hold', '', holds)];
}

const cardStyles = { halt: 'red', ask: 'yellow', notice: undefined } as const;

function formatCardRow({ id, kind, agent = '', task, code, evidence }: Card): readonly TableCell[] {
  // A halt ends with its cause, a notice begins with it; their further lines repeat the counters.
  const cause = kind === 'ask' ? evidence.join('; ') : evidence.at(kind === 'halt' ? -1 : 0);
  return [
    { text: id },
    { text: kind, style: cardStyles[kind] },
    { text: agent },
    { text: task },
    { text: kind === 'ask' ? '' : code }, // The code of a question is that of its refusal.
    { text: cause ?? '', style: 'dim' },
  ];
}

/** Calls of tools: tasks of the gateway have no limit of them, and their model calls are shown as money. */
function formatCalls(calls: number, limit: number): string {
  return limit >= Number.MAX_SAFE_INTEGER ? `${calls} tool calls` : `${formatUse(calls, limit)} calls`;
}
