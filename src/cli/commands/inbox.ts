/** `switchgear inbox`: who waits for an answer and what was halted, and how one says yes or no. */

import { userName } from '../../approvers/user-name.ts';
import {
  dropStandingApproval,
  listStandingApprovals,
  type StandingApproval,
} from '../../chains/run/approval/standing-approvals.ts';
import { answerStoredCard, formatArgs } from '../../chains/run/approval/stored-card.ts';
import { isOwnerGone } from '../../chains/run/ownership.ts';
import { createParamRestorer } from '../../chains/run/parameter-redaction.ts';
import type { RunState } from '../../chains/run/state/run-state.ts';
import { readStepArgs } from '../../chains/run/storage/outputs.ts';
import { loadRun } from '../../chains/run/storage/runs.ts';
import type { Card, CardAction } from '../../core/card.ts';
import { SwitchgearError } from '../../core/error.ts';
import { reasonLengthMax } from '../../core/limits.ts';
import {
  describeCardState,
  describeSubject,
  findByIdPrefix,
  isOpen,
  readCards,
  sortCards,
} from '../../operator/cards.ts';
import { formatTimeSpan, sanitizeText } from '../../operator/format.ts';
import type { CrossProcessStore } from '../../ports/store.ts';
import { makeCommandHints } from '../chain/runs.ts';
import { type Command, exitCodes, type ParsedArgs, readArgs, type Terminal, usageError } from '../command.ts';
import { findStoreAddress, type StoreAddress, storeExists, storeWriteError, withStore } from '../store-option.ts';
import { createPaint, formatTable } from '../terminal-table.ts';
import { runUsage, runVerbs } from './inbox-follow-up.ts';

const approvalActions: Readonly<Record<string, CardAction>> = {
  once: 'approve',
  run: 'approve_run',
  always: 'approve_always',
};

type InboxVerb = (
  store: CrossProcessStore,
  parsedArgs: ParsedArgs,
  terminal: Terminal,
  address: StoreAddress,
) => Promise<number>;

const verbs: Readonly<Record<string, InboxVerb>> = { list, show, approve, decline, standing, ...runVerbs };

export const command: Command = {
  usage: [
    'inbox list [--all]               show who waits for an answer, and what was halted',
    'inbox show ID                    show one card in full; a few letters of an id are enough',
    'inbox approve ID [--for F]       say yes: F is once (unless said), run or always',
    'inbox decline ID                 say no; --by NAME says who, also with approve',
    'inbox standing [--drop ID]       show what was approved for good, or take one back',
    ...runUsage,
  ],
  async run(args, terminal) {
    const parsedArgs = readArgs(args, ['--json', '--all'], args[0] === 'narrow' ? 3 : 2, [
      '--store',
      '--for',
      '--by',
      '--drop',
    ]);
    const [verbName = 'list', id] = parsedArgs.positionals;
    const verb = Object.hasOwn(verbs, verbName) ? verbs[verbName] : undefined;
    if (verb === undefined) throw usageError(`inbox ${verbName} is not known: use ${Object.keys(verbs).join(', ')}`);
    const needsCard = verb === show || verb === approve || verb === decline || Object.hasOwn(runVerbs, verbName);
    if (needsCard && !id) throw usageError(`say which card: switchgear inbox ${verbName} ID`);
    if (!needsCard && id !== undefined) throw usageError(`inbox ${verbName} takes no ${JSON.stringify(id)}`);
    const address = findStoreAddress(parsedArgs, terminal);
    if (storeExists(address)) return withStore(address, (store) => verb(store, parsedArgs, terminal, address));
    if (needsCard || parsedArgs.values.has('--drop')) {
      throw new SwitchgearError('not_found', `nobody has used the store ${address.name} yet`);
    }
    terminal.out(
      parsedArgs.switches.has('--json') ? '[]' : 'Nobody waits for an answer: nobody has used this store yet.',
    );
    return exitCodes.ok;
  },
};

async function list(store: CrossProcessStore, { switches }: ParsedArgs, terminal: Terminal): Promise<number> {
  const atMs = store.clock.nowMs();
  const all = sortCards(await readCards(store));
  const cards = switches.has('--all') ? all : all.filter((card) => isOpen(card, atMs));
  if (switches.has('--json')) terminal.out(JSON.stringify(cards, null, 2));
  else if (cards.length === 0) terminal.out('Nobody waits for an answer.');
  else {
    const shown = await Promise.all(cards.map(async (card) => (await loadCardAndRun(store, card)).card));
    const rows = shown.map((card) => [
      { text: card.id },
      { text: card.kind, style: card.kind === 'ask' ? ('yellow' as const) : undefined },
      { text: describeSubject(card) },
      describeCardState(card, atMs),
      { text: card.evidence.at(-1) ?? card.code, style: 'dim' as const },
    ]);
    for (const line of formatTable(rows, createPaint(terminal))) terminal.out(line);
  }
  return exitCodes.ok;
}

async function show(
  store: CrossProcessStore,
  { positionals, switches }: ParsedArgs,
  terminal: Terminal,
): Promise<number> {
  const storedCard = findByIdPrefix(await readCards(store), positionals[1]!, 'card');
  if (switches.has('--json')) {
    terminal.out(JSON.stringify(storedCard, null, 2));
    return exitCodes.ok;
  }
  const { card, run } = await loadCardAndRun(store, storedCard);
  const line = run && formatArgs(await readStepArgs(store, run, card.step?.id ?? ''));
  const atMs = store.clock.nowMs();
  const rows = [
    ['card', card.id],
    ['about', describeSubject(card)],
    ...(card.kind === 'ask' ? [] : [['code', card.code]]), // Of a question it says what a no would be.
    ['state', describeCardState(card, atMs).text],
    ...card.evidence.map((line) => ['', line]),
    ...(line === undefined ? [] : [['', line]]),
    ...(card.step?.rules ?? []).map((rule) => ['rule', rule]),
    ...(isOpen(card, atMs) ? [['answers', card.actions.join(', ')]] : []),
  ].map(([name = '', text = '']) => [{ text: name, style: 'dim' as const }, { text }]);
  for (const line of formatTable(rows, createPaint(terminal))) terminal.out(line);
  return exitCodes.ok;
}

/** A card as a person may see it who sees the run: the card does not hold what its rules were filled with. */
async function loadCardAndRun(
  store: CrossProcessStore,
  card: Card,
): Promise<{ readonly card: Card; readonly run?: RunState }> {
  const run = card.step && (await loadRun(store, card.step.run).catch((): undefined => undefined));
  return run === undefined ? { card } : { card: createParamRestorer(run.chain, run.params)(card), run };
}

function approve(
  store: CrossProcessStore,
  parsedArgs: ParsedArgs,
  terminal: Terminal,
  address: StoreAddress,
): Promise<number> {
  const lifetime = parsedArgs.values.get('--for') ?? 'once';
  const answer = Object.hasOwn(approvalActions, lifetime) ? approvalActions[lifetime] : undefined;
  if (answer === undefined) throw usageError(`--for must be once, run or always, got ${JSON.stringify(lifetime)}`);
  return answerApproval(store, parsedArgs, terminal, address, answer);
}

function decline(
  store: CrossProcessStore,
  parsedArgs: ParsedArgs,
  terminal: Terminal,
  address: StoreAddress,
): Promise<number> {
  return answerApproval(store, parsedArgs, terminal, address, 'decline');
}

async function answerApproval(
  store: CrossProcessStore,
  parsedArgs: ParsedArgs,
  terminal: Terminal,
  address: StoreAddress,
  answer: CardAction,
): Promise<number> {
  const { positionals, values, switches } = parsedArgs;
  const atMs = store.clock.nowMs();
  const card = findByIdPrefix(await readCards(store), positionals[1]!, 'card', (candidate) => isOpen(candidate, atMs));
  const by = (values.get('--by') ?? userName()).slice(0, reasonLengthMax);
  const objection = findObjection(card, answer, atMs);
  if (objection !== undefined) throw new SwitchgearError('not_answered', objection);
  const { status, card: answeredCard } = await answerStoredCard(store, card.id, answer, by);
  if (status === 'unavailable') throw storeWriteError(address, 'it is away');
  if (status !== 'taken' || answeredCard === undefined) {
    const late = answeredCard && findObjection(answeredCard, answer, store.clock.nowMs());
    throw new SwitchgearError('not_answered', late ?? `the card ${sanitizeText(card.id)} is gone`);
  }
  await store.shared.settled();
  if (switches.has('--json')) terminal.out(JSON.stringify(answeredCard, null, 2));
  else {
    const done = answer === 'decline' ? 'declined' : 'approved';
    terminal.out(`${done} ${sanitizeText(card.id)}: ${sanitizeText(describeSubject(card))}`);
    const next = await describeNextStep(store, parsedArgs, answeredCard);
    if (next !== undefined) terminal.out(next);
  }
  return exitCodes.ok;
}

/** Why a card takes no such answer, or undefined. */
function findObjection(card: Card, answer: CardAction, atMs: number): string | undefined {
  const id = sanitizeText(card.id);
  if (card.answer !== undefined)
    return `${id} was answered already: ${card.answer} by ${sanitizeText(card.by ?? 'somebody')}`;
  if (!isOpen(card, atMs)) {
    const ago = card.expiresAtMs === undefined ? '' : `, ${formatTimeSpan(atMs - card.expiresAtMs)} ago`;
    return `${id} has expired${ago}: whoever asked did not go on`;
  }
  if (card.actions.includes(answer)) return undefined;
  if (card.kind !== 'ask') return `${id} asks nothing: it tells that ${sanitizeText(card.evidence[0] ?? card.code)}`;
  return `${id} can be answered with ${card.actions.join(', ')}, not with ${answer}`;
}

/** What to type next where nobody waits for the answer any more. */
async function describeNextStep(
  store: CrossProcessStore,
  parsedArgs: ParsedArgs,
  { step }: Card,
): Promise<string | undefined> {
  if (step === undefined) return undefined;
  const run = await loadRun(store, step.run).catch((): undefined => undefined);
  if (run?.status !== 'waiting') return undefined;
  const isAbandoned = run.owner === undefined || isOwnerGone(run.owner, store.clock.nowMs());
  const { storeOption } = makeCommandHints(parsedArgs, store.clock);
  return isAbandoned
    ? `Nobody runs it now; go on with: switchgear chain resume ${sanitizeText(run.id)}${storeOption}`
    : undefined;
}

async function standing(
  store: CrossProcessStore,
  { values, switches }: ParsedArgs,
  terminal: Terminal,
): Promise<number> {
  const all = await listStandingApprovals(store);
  const wanted = values.get('--drop');
  if (wanted !== undefined) {
    const approval = findByIdPrefix(all, wanted, 'standing approval');
    await dropStandingApproval(store, approval, (values.get('--by') ?? userName()).slice(0, reasonLengthMax));
    await store.shared.settled();
    terminal.out(
      switches.has('--json')
        ? JSON.stringify(approval, null, 2)
        : `dropped ${approval.id}: ${sanitizeText(approval.chain)} asks again`,
    );
  } else if (switches.has('--json')) terminal.out(JSON.stringify(all, null, 2));
  else if (all.length === 0) terminal.out('Nothing was approved for good.');
  else for (const line of formatTable(all.map(formatStandingRow), createPaint(terminal))) terminal.out(line);
  return exitCodes.ok;
}

function formatStandingRow({ id, chain, rules, by, givenWallMs }: StandingApproval) {
  return [
    { text: id },
    { text: chain },
    { text: `by ${by}` },
    { text: new Date(givenWallMs).toISOString().slice(0, 16).replace('T', ' ') },
    { text: rules.join('; '), style: 'dim' as const },
  ];
}
