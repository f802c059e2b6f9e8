/** `switchgear inbox retry|narrow|pause|dismiss`: what a person wants of a run that was halted, paused or lost. */

import { userName } from '../../approvers/user-name.ts';
import { answerStoredCard } from '../../chains/run/approval/answer-card.ts';
import type { Card, CardAction } from '../../core/card.ts';
import { SwitchgearError } from '../../core/error.ts';
import { reasonLengthMax } from '../../core/limits.ts';
import { cardsOf, oneOf } from '../../operator/cards.ts';
import { forgetRun, isAlive, type RunRecord, runsIn, turnRun } from '../../supervisor/run-record.ts';
import { exitCodes, type ParsedArgs, type Terminal, usageError } from '../command.ts';
import type { Wish } from '../run/halt-prompt.ts';
import { goOnWith } from '../run/resume.ts';
import { pauseRun } from '../run/run-pause.ts';
import { type CrossProcessStore, type StoreAddress, storeWriteError } from '../store-option.ts';
import { sanitizeText } from '../terminal-table.ts';

type Verb = (
  store: CrossProcessStore,
  parsedArgs: ParsedArgs,
  terminal: Terminal,
  address: StoreAddress,
) => Promise<number>;

const actionOf = { retry: 'retry_raised', narrow: 'narrow_scope', pause: 'pause', dismiss: 'dismiss' } as const;

export const runVerbs: Readonly<Record<keyof typeof actionOf, Verb>> = {
  retry: (store, parsedArgs, terminal, address) => decide(store, parsedArgs, terminal, address, { act: 'retry' }),
  narrow(store, parsedArgs, terminal, address) {
    const prompt = parsedArgs.positionals[2]?.trim();
    if (!prompt) throw usageError('say what it should do instead: switchgear inbox narrow ID "a smaller request"');
    return decide(store, parsedArgs, terminal, address, { act: 'narrow', prompt });
  },
  pause: (store, parsedArgs, terminal, address) => decide(store, parsedArgs, terminal, address, { act: 'pause' }),
  dismiss: (store, parsedArgs, terminal, address) => decide(store, parsedArgs, terminal, address, { act: 'dismiss' }),
};

export const runUsage = [
  'inbox retry ID                   have a halted run go on, with the limit that it reached doubled',
  'inbox narrow ID "REQUEST"        have it start anew with a smaller request',
  'inbox pause ID                   leave it is, until somebody has it go on',
  'inbox dismiss ID                 close the card, and forget the run',
];

async function decide(
  store: CrossProcessStore,
  { positionals, values, switches }: ParsedArgs,
  terminal: Terminal,
  address: StoreAddress,
  wish: Exclude<Wish, { readonly act: 'leave' }>,
): Promise<number> {
  const card = oneOf(await cardsOf(store), positionals[1]!, 'card');
  const run = (await runsIn(store)).find((each) => each.card === card.id);
  const isWaitedFor = run?.state === 'waiting' && isAlive(run.owner);
  if (run === undefined && (wish.act === 'retry' || wish.act === 'narrow')) {
    throw new SwitchgearError(
      'not_kept',
      `nothing is kept of what ${sanitizeText(card.id)} is about: start it again by hand`,
    );
  }
  // The process that waits reads the new request there, once it sees the answer.
  if (isWaitedFor && wish.act === 'narrow') await turnRun(store, run.task, 'waiting', { prompt: wish.prompt });
  const by = (values.get('--by') ?? userName()).slice(0, reasonLengthMax);
  const turned = await answer(store, card, actionOf[wish.act], by, address);
  await store.shared.settled();
  if (switches.has('--json')) terminal.out(JSON.stringify(turned, null, 2));
  const say = switches.has('--json') ? () => undefined : terminal.out;
  if (isWaitedFor) {
    say(`${sanitizeText(card.id)}: told to the process that waits for it`);
    return exitCodes.ok;
  }
  switch (wish.act) {
    case 'retry':
    case 'narrow':
      return goOnWith(store, run!, wish, terminal);
    case 'pause': {
      if (run !== undefined) say(`paused; its card is ${sanitizeText(pauseAgain(store, run, card).id)}`);
      return exitCodes.ok;
    }
    case 'dismiss':
      if (run !== undefined) forgetRun(store, run.task);
      say(`dismissed ${sanitizeText(card.id)}`);
      return exitCodes.ok;
  }
}

function pauseAgain(store: CrossProcessStore, run: RunRecord, { actions }: Card): Card {
  return pauseRun(store, run, { retry: actions.includes('retry_raised'), narrow: actions.includes('narrow_scope') });
}

async function answer(
  store: CrossProcessStore,
  card: Card,
  action: CardAction,
  by: string,
  address: StoreAddress,
): Promise<Card | undefined> {
  const id = sanitizeText(card.id);
  const { status, card: turned } = await answerStoredCard(store, card.id, action, by);
  if (status === 'taken') return turned;
  if (status === 'unavailable') throw storeWriteError(address, 'it is away');
  const { answer: before, by: who = 'somebody', actions = [] } = turned ?? {};
  throw new SwitchgearError(
    'not_answered',
    before === undefined
      ? `${id} can be answered with ${actions.join(', ') || 'nothing any more'}, not with ${action}`
      : `${id} was answered already: ${before} by ${sanitizeText(who)}`,
  );
}
