/** The command `switchgear inbox`: lists, shows and answers cards. */

import { readFileSync } from 'node:fs';
import type { StandingApproval } from '../../chains/run/approval/standing-approval.ts';
import { type CardRaise, parseEditedArgs, type QuestionCard } from '../../core/card.ts';
import { listSettingsOf } from '../../core/controls/registry.ts';
import { SwitchgearError } from '../../core/error.ts';
import { listedInputMax } from '../../core/limits.ts';
import { formatCents, formatTimeSpan, formatUse } from '../../core/quote.ts';
import {
  describeCardState,
  describeSubject,
  findByIdPrefix,
  formatAction,
  isInState,
  isOpen,
  loadQuestion,
  readCards,
  sortByKind,
} from '../../operator/cards.ts';
import { formatCount, sanitizeText } from '../../operator/format.ts';
import { approvalLifetimes, decidedCardsMax } from '../../operator/inbox/answers.ts';
import { createCardHistoryReader } from '../../operator/inbox/card-history.ts';
import {
  type CardView,
  type CounterView,
  foldCards,
  readAwaitedCards,
  sortByUrgency,
  viewCards,
} from '../../operator/inbox/card-view.ts';
import { snoozeCard, snoozeEffect, snoozeMaxSecs, snoozeMinSecs } from '../../operator/inbox/snooze.ts';
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
import { parseDurationSecs } from '../option-values.ts';
import { identifyOperator } from '../policy/operator-option.ts';
import { findStoreAddress, storeExists, withStore } from '../store-option.ts';
import { createPaint, formatTable } from '../terminal-table.ts';
import { answerCards, type InboxVerb, runUsage, runVerbs } from './inbox-follow-up.ts';

/** The most arguments of verbs that do not take several ids. */
const maxPositionals: Readonly<Record<string, number>> = { list: 2, show: 2, standing: 2, narrow: 3, replan: 3 };

export const command: Command = {
  usage: [
    'inbox list [--all|--snoozed]     list open questions, halts and notices; also closed ones; only snoozed ones',
    'inbox show ID                    show one card in full; a prefix of the id is enough; answers take several IDs',
    'inbox approve ID [--for F]       approve: F is once (the default), run or always; --edit FILE: other arguments',
    'inbox decline ID [--note T]      decline; T reaches the agent; --by TEXT is a note beside the user',
    'inbox snooze ID --for 1h         hide a card for a time; nothing is decided; a question is back before it expires',
    'inbox standing [--drop ID]       list standing approvals, or withdraw one',
    ...runUsage,
  ],
  async run(args, terminal) {
    const positionalsMax = maxPositionals[args[0] ?? ''] ?? decidedCardsMax + 1;
    const options = ['--store', '--for', '--edit', '--by', '--note', '--limit', '--drop'];
    const parsedArgs = readArgs(args, ['--json', '--all', '--snoozed'], positionalsMax, options);
    const verbs: Readonly<Record<string, InboxVerb>> = { list, show, approve, decline, standing, snooze, ...runVerbs };
    const [verbName = 'list', id] = parsedArgs.positionals;
    const verb = Object.hasOwn(verbs, verbName) ? verbs[verbName] : undefined;
    if (verb === undefined) throw verbError('inbox', Object.keys(verbs), verbName);
    const needsCard = [show, approve, decline, snooze].includes(verb) || Object.hasOwn(runVerbs, verbName);
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
    const shown = await viewCards(store, history, foldCards(cards, atMs, await readAwaitedCards(store)));
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

function describeWaiting({ waitingMs, kind }: CardView): string {
  if (waitingMs === undefined) return '';
  return kind === 'notice' ? `${formatTimeSpan(waitingMs)} ago` : `waits ${formatTimeSpan(waitingMs)}`;
}

const noticesTitle = 'Notices, which need no answer (switchgear inbox dismiss ID closes one):';

/** The first sentence of a notice; the last one of another card before its input. */
function describeReason({ evidence, input, code, kind }: QuestionCard): string {
  if (kind === 'notice') return evidence[0] ?? code;
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
    ...(isOpen(card, atMs) ? [['answers', card.actions.map(formatAction).join(', ')]] : []),
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
  const ids = parsedArgs.positionals.slice(1);
  const note = parsedArgs.values.get('--note');
  if (path === undefined)
    return answerCards(store, ids, { verb: 'approve', lifetime: known, note }, parsedArgs, terminal);
  // An edit is for one call: no approval for longer may grow out of it.
  if (parsedArgs.values.has('--for')) throw usageError('--edit approves one call: it cannot be combined with --for');
  if (ids.length > 1) throw usageError('--edit approves one call: it takes one ID');
  return answerCards(store, ids, { verb: 'approve', editedArgs: readEditedArgs(path), note }, parsedArgs, terminal);
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

const decline: InboxVerb = (store, parsedArgs, terminal) => {
  const answer = { verb: 'decline', note: parsedArgs.values.get('--note') } as const;
  return answerCards(store, parsedArgs.positionals.slice(1), answer, parsedArgs, terminal);
};

const snooze: InboxVerb = async (store, parsedArgs, terminal) => {
  const secs = parseDurationSecs(parsedArgs.values, '--for', snoozeMinSecs);
  if (secs === undefined) throw usageError('missing option --for: switchgear inbox snooze ID --for 1h');
  if (secs > snoozeMaxSecs) throw usageError(`--for must be at most ${snoozeMaxSecs / 86_400}d`);
  const operator = await identifyOperator(store, parsedArgs, terminal, snoozeEffect);
  for (const id of parsedArgs.positionals.slice(1)) {
    const card = await snoozeCard(store, id, secs, operator);
    if (parsedArgs.switches.has('--json')) terminal.out(JSON.stringify(card, null, 2));
    else {
      const hiddenMs = Math.min(secs * 1000, (card.snoozedUntilMs ?? 0) - store.clock.nowMs());
      const isShorter = hiddenMs < secs * 1000 - 1000;
      const span = `${formatTimeSpan(isShorter ? hiddenMs : secs * 1000)}${isShorter ? ', because it expires' : ''}`;
      terminal.out(`${sanitizeText(card.id)}: hidden for ${span}; nothing is decided`);
    }
  }
  return exitCodes.ok;
};

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
