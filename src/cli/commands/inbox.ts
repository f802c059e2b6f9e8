/** The command `switchgear inbox`: lists, shows and answers cards. */

import { readFileSync } from 'node:fs';
import type { StandingApproval } from '../../chains/run/approval/standing-approvals.ts';
import { type CardAction, type CardRaise, parseEditedArgs, type QuestionCard } from '../../core/card.ts';
import { listSettingsOf } from '../../core/controls/registry.ts';
import { SwitchgearError } from '../../core/error.ts';
import { listedInputMax } from '../../core/limits.ts';
import { formatCents, formatUse } from '../../core/quote.ts';
import { approvalLifetimes, effectOfVerb, questionActionOf } from '../../operator/answers.ts';
import {
  answerQuestion,
  describeCardState,
  describeSubject,
  findAbandonedRun,
  findByIdPrefix,
  isInState,
  isOpen,
  loadQuestion,
  readCards,
  sortByKind,
} from '../../operator/cards.ts';
import { formatCount, formatTimeSpan, sanitizeText } from '../../operator/format.ts';
import { createCardHistoryReader } from '../../operator/inbox/card-history.ts';
import {
  type CardView,
  type CounterView,
  foldCards,
  sortByUrgency,
  viewCards,
} from '../../operator/inbox/card-view.ts';
import { readStandingApprovals, revokeStandingApproval } from '../../operator/standing.ts';
import type { CrossProcessStore } from '../../ports/store.ts';
import {
  type Command,
  exitCodes,
  type ParsedArgs,
  readArgs,
  type Terminal,
  usageError,
  verbError,
} from '../command.ts';
import { identifyOperator } from '../policy/operator-option.ts';
import { findStoreAddress, storeExists, withStore } from '../store-option.ts';
import { createPaint, formatTable } from '../terminal-table.ts';
import { type InboxVerb, runUsage, runVerbs } from './inbox-follow-up.ts';

export const command: Command = {
  usage: [
    'inbox list [--all|--snoozed]     list open questions, halts and notices; also closed ones; only snoozed ones',
    'inbox show ID                    show one card in full; a prefix of the id is enough',
    'inbox approve ID [--for F]       approve: F is once (the default), run or always; --edit FILE: other arguments',
    'inbox decline ID                 decline; --by TEXT is a note beside the user, also with approve',
    'inbox standing [--drop ID]       list standing approvals, or withdraw one',
    ...runUsage,
  ],
  async run(args, terminal) {
    const parsedArgs = readArgs(
      args,
      ['--json', '--all', '--snoozed'],
      args[0] === 'narrow' || args[0] === 'replan' ? 3 : 2,
      ['--store', '--for', '--edit', '--by', '--drop'],
    );
    const verbs: Readonly<Record<string, InboxVerb>> = { list, show, approve, decline, standing, ...runVerbs };
    const [verbName = 'list', id] = parsedArgs.positionals;
    const verb = Object.hasOwn(verbs, verbName) ? verbs[verbName] : undefined;
    if (verb === undefined) throw verbError('inbox', Object.keys(verbs), verbName);
    const needsCard = verb === show || verb === approve || verb === decline || Object.hasOwn(runVerbs, verbName);
    if (needsCard && !id) throw usageError(`missing argument ID: switchgear inbox ${verbName} ID`);
    if (!needsCard && id !== undefined)
      throw usageError(`too many arguments: inbox ${verbName} takes none, got ${JSON.stringify(id)}`);
    const address = findStoreAddress(parsedArgs, terminal);
    if (storeExists(address))
      return withStore(address, (store) => verb(store, parsedArgs, terminal), { onLoss: terminal.err });
    if (needsCard || parsedArgs.values.has('--drop')) {
      throw new SwitchgearError(
        'not_found',
        `the store ${address.name} does not exist yet: nothing has used it, or --store names another one`,
      );
    }
    terminal.out(parsedArgs.switches.has('--json') ? '[]' : 'No open cards: the store does not exist yet.');
    return exitCodes.ok;
  },
};

async function list(store: CrossProcessStore, { switches }: ParsedArgs, terminal: Terminal): Promise<number> {
  const atMs = store.clock.nowMs();
  const history = await createCardHistoryReader(store)();
  const state = switches.has('--all') ? 'all' : switches.has('--snoozed') ? 'snoozed' : 'open';
  const all = await readCards(store);
  const cards = sortByKind(sortByUrgency(all, history)).filter((card) => isInState(card, state, atMs));
  const snoozed = state === 'open' ? all.filter((card) => isInState(card, 'snoozed', atMs)).length : 0;
  if (switches.has('--json')) {
    const questions = await Promise.all(cards.map((card) => loadQuestion(store, card)));
    terminal.out(JSON.stringify(questions, null, 2));
    return exitCodes.ok;
  }
  if (cards.length === 0) terminal.out(state === 'snoozed' ? 'No snoozed cards.' : 'No open cards.');
  else {
    const shown = await viewCards(store, history, foldCards(cards, atMs));
    const rows = shown.map((card) => [
      { text: card.id },
      { text: describeKind(card), style: card.kind === 'ask' ? ('yellow' as const) : undefined },
      { text: card.agent ?? '' },
      { text: describeSubject(card) },
      describeCardState(card, atMs),
      { text: describeWaiting(card), style: 'dim' as const },
      { text: describeReason(card), style: 'dim' as const },
    ]);
    const paint = createPaint(terminal);
    const firstNotice = shown.findIndex(({ kind }) => kind === 'notice');
    for (const [at, line] of formatTable(rows, paint).entries()) {
      // Notices come last: nobody waits for an answer to them.
      if (at === firstNotice) terminal.out(paint(noticesTitle, 'dim'));
      terminal.out(line);
      const input = formatListedInput(shown[at]!);
      if (input !== undefined) terminal.out(`    ${sanitizeText(input)}`);
    }
  }
  if (snoozed > 0) terminal.out(`${formatCount(snoozed, 'snoozed card')}: switchgear inbox list --snoozed`);
  return exitCodes.ok;
}

function describeKind({ kind, count }: CardView): string {
  return count > 1 ? `${kind} ×${count}` : kind;
}

function describeWaiting({ waitingMs }: CardView): string {
  return waitingMs === undefined ? '' : `for ${formatTimeSpan(waitingMs)}`;
}

const noticesTitle = 'Notices, which need no answer (switchgear inbox dismiss ID closes one):';

/** The last sentence of a card before its input. */
function describeReason({ evidence, input, code }: QuestionCard): string {
  return (input ? evidence.at(-2) : evidence.at(-1)) ?? code;
}

/** The input of a question in a list, shortened. */
function formatListedInput({ id, evidence, input }: QuestionCard): string | undefined {
  const line = input ? evidence.at(-1) : undefined;
  if (line === undefined || line.length <= listedInputMax) return line;
  const left = line.length - listedInputMax;
  return `${line.slice(0, listedInputMax)}… (${left} characters more: switchgear inbox show ${id})`;
}

async function show(
  store: CrossProcessStore,
  { positionals, switches }: ParsedArgs,
  terminal: Terminal,
): Promise<number> {
  const atMs = store.clock.nowMs();
  const storedCard = findByIdPrefix(await readCards(store), positionals[1]!, 'card', (card) => isOpen(card, atMs));
  if (switches.has('--json')) {
    terminal.out(JSON.stringify(await loadQuestion(store, storedCard), null, 2));
    return exitCodes.ok;
  }
  const history = await createCardHistoryReader(store)();
  const view = await viewCards(store, history, [{ card: storedCard, equals: [] }]);
  const card = view[0]!;
  const settings = listSettingsOf(card.code);
  const rows = [
    ['card', card.id],
    ...(card.agent === undefined ? [] : [['agent', card.agent]]),
    ['about', describeSubject(card)],
    ...(card.openedWallMs === undefined ? [] : [['opened', describeOpened(card, card.openedWallMs)]]),
    ...(card.kind === 'ask' ? [] : [['code', card.code]]), // The code of a question is that of its refusal.
    ['state', describeCardState(card, atMs).text],
    ...card.evidence.map((line) => ['', line]),
    ...(card.step?.rules ?? []).map((rule) => ['rule', rule]),
    ...(isOpen(card, atMs) ? [['answers', card.actions.join(', ')]] : []),
    ...card.details.counters.map((counter) => [counter.name.replaceAll('_', ' '), describeCounter(counter)]),
    ...(isOpen(card, atMs) && card.raise ? [['retry', describeRaise(card.raise)]] : []),
    ...(card.kind === 'halt' && settings.length > 0 ? [['changed by', settings.join(', ')]] : []),
    ...card.details.lastEvents.map(({ wallMs, type, words }, at) => [
      at === 0 ? 'last events' : '',
      `${new Date(wallMs).toTimeString().slice(0, 8)} ${type} ${words}`,
    ]),
  ].map(([name = '', text = '']) => [{ text: name, style: 'dim' as const }, { text }]);
  for (const line of formatTable(rows, createPaint(terminal))) terminal.out(line);
  return exitCodes.ok;
}

function describeOpened({ waitingMs }: CardView, openedWallMs: number): string {
  const time = new Date(openedWallMs).toISOString().slice(0, 19).replace('T', ' ');
  return waitingMs === undefined ? time : `${time}, ${formatTimeSpan(waitingMs)} ago`;
}

/** A counter beside its limit, with the setting and its origin: `51 of 50 (task.max_tool_calls, default)`. */
function describeCounter({ used, limit, unit, setting, source }: CounterView): string {
  const use = unit === 'cents' ? `${formatCents(used)} of ${formatCents(limit)}` : formatUse(used, limit);
  const origin = [setting, source].filter(Boolean).join(', ');
  return origin === '' ? use : `${use} (${origin})`;
}

function describeRaise({ setting, suggested, min, max }: CardRaise): string {
  return `${setting} to ${suggested}, or with --limit from ${min} to ${max}`;
}

const approve: InboxVerb = (store, parsedArgs, terminal) => {
  const lifetime = parsedArgs.values.get('--for') ?? 'once';
  const known = approvalLifetimes.find((each) => each === lifetime);
  if (known === undefined) throw usageError(`--for must be once, run or always, got ${JSON.stringify(lifetime)}`);
  const path = parsedArgs.values.get('--edit');
  if (path === undefined) return answerCard(store, parsedArgs, terminal, questionActionOf(known));
  // An edit is for one call: no approval for longer may grow out of it.
  if (parsedArgs.values.has('--for')) throw usageError('--edit approves one call: it cannot be combined with --for');
  return answerCard(store, parsedArgs, terminal, 'approve_edited', readEditedArgs(path));
};

/** Reads a file with edited arguments, which must be JSON. */
function readEditedArgs(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw usageError(`--edit cannot read ${JSON.stringify(path)}: ${(error as Error).message}`);
  }
  parseEditedArgs(text);
  return text;
}

const decline: InboxVerb = (store, parsedArgs, terminal) => answerCard(store, parsedArgs, terminal, 'decline');

async function answerCard(
  store: CrossProcessStore,
  parsedArgs: ParsedArgs,
  terminal: Terminal,
  answer: CardAction,
  editedArgs?: string,
): Promise<number> {
  const effect = effectOfVerb(answer === 'decline' ? 'decline' : 'approve');
  const operator = await identifyOperator(store, parsedArgs, terminal, effect);
  const card = await answerQuestion(store, parsedArgs.positionals[1]!, answer, operator, editedArgs);
  if (parsedArgs.switches.has('--json')) {
    terminal.out(JSON.stringify(card, null, 2));
    return exitCodes.ok;
  }
  const done = answer === 'decline' ? 'declined' : 'approved';
  terminal.out(`${done} ${sanitizeText(card.id)}: ${sanitizeText(describeSubject(card))}`);
  const run = await findAbandonedRun(store, card);
  if (run !== undefined) {
    const { makeCommandHints } = await import('../chain/runs.ts');
    const { storeOption } = makeCommandHints(parsedArgs, store.clock);
    terminal.out(
      `No process runs it now; resume it with: switchgear chain resume ${sanitizeText(run.id)}${storeOption}`,
    );
  }
  return exitCodes.ok;
}

async function standing(store: CrossProcessStore, parsedArgs: ParsedArgs, terminal: Terminal): Promise<number> {
  const { values, switches } = parsedArgs;
  const all = await readStandingApprovals(store);
  const wanted = values.get('--drop');
  if (wanted !== undefined) {
    const { id } = findByIdPrefix(all, wanted, 'standing approval');
    const operator = await identifyOperator(store, parsedArgs, terminal, 'tighten');
    const approval = await revokeStandingApproval(store, id, operator);
    terminal.out(
      switches.has('--json')
        ? JSON.stringify(approval, null, 2)
        : `dropped ${approval.id}: ${sanitizeText(approval.chain)} asks again`,
    );
  } else if (switches.has('--json')) terminal.out(JSON.stringify(all, null, 2));
  else if (all.length === 0) terminal.out('No standing approvals.');
  else for (const line of formatTable(all.map(formatStandingRow), createPaint(terminal))) terminal.out(line);
  return exitCodes.ok;
}

function formatStandingRow({ id, chain, step, file, rules, by, givenWallMs }: StandingApproval) {
  return [
    { text: id },
    { text: step === '' ? chain : `${chain}: step ${step}` },
    { text: `by ${by}` },
    { text: new Date(givenWallMs).toISOString().slice(0, 16).replace('T', ' ') },
    { text: [...rules, ...(file === undefined ? [] : [`in ${file}`])].join('; '), style: 'dim' as const },
  ];
}
