/** `switchgear inbox retry|narrow|pause|dismiss`: what a person wants of a run that was halted, paused or lost. */

import { userName } from '../../approvers/user-name.ts';
import { answerStoredCard } from '../../chains/run/approval/stored-card.ts';
import type { Card, CardAction } from '../../core/card.ts';
import { SwitchgearError } from '../../core/error.ts';
import { reasonLengthMax } from '../../core/limits.ts';
import { findByIdPrefix, readCards } from '../../operator/cards.ts';
import { sanitizeText } from '../../operator/format.ts';
import type { CrossProcessStore } from '../../ports/store.ts';
import { deleteRun, isAlive, type RunRecord, readRuns, transitionRun } from '../../supervisor/run-record.ts';
import { exitCodes, type ParsedArgs, type Terminal, usageError } from '../command.ts';
import type { FollowUp } from '../run/halt-prompt.ts';
import { resumeRun } from '../run/resume.ts';
import { pauseRun } from '../run/run-pause.ts';
import { type StoreAddress, storeWriteError } from '../store-option.ts';

type InboxVerb = (
  store: CrossProcessStore,
  parsedArgs: ParsedArgs,
  terminal: Terminal,
  address: StoreAddress,
) => Promise<number>;

const cardActions = { retry: 'retry_raised', narrow: 'narrow_scope', pause: 'pause', dismiss: 'dismiss' } as const;

export const runVerbs: Readonly<Record<keyof typeof cardActions, InboxVerb>> = {
  retry: (store, parsedArgs, terminal, address) =>
    followUpOnRun(store, parsedArgs, terminal, address, { action: 'retry' }),
  narrow(store, parsedArgs, terminal, address) {
    const prompt = parsedArgs.positionals[2]?.trim();
    if (!prompt) throw usageError('say what it should do instead: switchgear inbox narrow ID "a smaller request"');
    return followUpOnRun(store, parsedArgs, terminal, address, { action: 'narrow', prompt });
  },
  pause: (store, parsedArgs, terminal, address) =>
    followUpOnRun(store, parsedArgs, terminal, address, { action: 'pause' }),
  dismiss: (store, parsedArgs, terminal, address) =>
    followUpOnRun(store, parsedArgs, terminal, address, { action: 'dismiss' }),
};

export const runUsage = [
  'inbox retry ID                   have a halted run go on, with the limit that it reached doubled',
  'inbox narrow ID "REQUEST"        have it start anew with a smaller request',
  'inbox pause ID                   leave it is, until somebody has it go on',
  'inbox dismiss ID                 close the card, and forget the run',
];

async function followUpOnRun(
  store: CrossProcessStore,
  { positionals, values, switches }: ParsedArgs,
  terminal: Terminal,
  address: StoreAddress,
  followUp: Exclude<FollowUp, { readonly action: 'none' }>,
): Promise<number> {
  const card = findByIdPrefix(await readCards(store), positionals[1]!, 'card');
  const run = (await readRuns(store)).find((each) => each.card === card.id);
  const isAwaited = run?.state === 'waiting' && isAlive(run.owner);
  if (run === undefined && (followUp.action === 'retry' || followUp.action === 'narrow')) {
    throw new SwitchgearError(
      'not_kept',
      `nothing is kept of what ${sanitizeText(card.id)} is about: start it again by hand`,
    );
  }
  // The process that waits reads the new request there, once it sees the answer.
  if (isAwaited && followUp.action === 'narrow')
    await transitionRun(store, run.task, 'waiting', { prompt: followUp.prompt });
  const by = (values.get('--by') ?? userName()).slice(0, reasonLengthMax);
  const answeredCard = await answerRunCard(store, card, cardActions[followUp.action], by, address);
  await store.shared.settled();
  if (switches.has('--json')) terminal.out(JSON.stringify(answeredCard, null, 2));
  const print = switches.has('--json') ? () => undefined : terminal.out;
  if (isAwaited) {
    print(`${sanitizeText(card.id)}: told to the process that waits for it`);
    return exitCodes.ok;
  }
  switch (followUp.action) {
    case 'retry':
    case 'narrow':
      return resumeRun(store, run!, followUp, terminal);
    case 'pause': {
      if (run !== undefined) print(`paused; its card is ${sanitizeText(pauseWithCard(store, run, card).id)}`);
      return exitCodes.ok;
    }
    case 'dismiss':
      if (run !== undefined) deleteRun(store, run.task);
      print(`dismissed ${sanitizeText(card.id)}`);
      return exitCodes.ok;
  }
}

function pauseWithCard(store: CrossProcessStore, run: RunRecord, { actions }: Card): Card {
  return pauseRun(store, run, { retry: actions.includes('retry_raised'), narrow: actions.includes('narrow_scope') });
}

async function answerRunCard(
  store: CrossProcessStore,
  card: Card,
  action: CardAction,
  by: string,
  address: StoreAddress,
): Promise<Card | undefined> {
  const id = sanitizeText(card.id);
  const { status, card: answeredCard } = await answerStoredCard(store, card.id, action, by);
  if (status === 'taken') return answeredCard;
  if (status === 'unavailable') throw storeWriteError(address, 'it is away');
  const { answer: earlierAnswer, by: answeredBy = 'somebody', actions = [] } = answeredCard ?? {};
  throw new SwitchgearError(
    'not_answered',
    earlierAnswer === undefined
      ? `${id} can be answered with ${actions.join(', ') || 'nothing any more'}, not with ${action}`
      : `${id} was answered already: ${earlierAnswer} by ${sanitizeText(answeredBy)}`,
  );
}
