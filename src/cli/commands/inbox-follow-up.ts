/** The answers of `switchgear inbox`: approve and decline questions; continue or end a halted, paused or lost run. */

import type { Card } from '../../core/card.ts';
import { describeSubject } from '../../operator/cards.ts';
import { sanitizeText } from '../../operator/format.ts';
import {
  type AnswerEffect,
  answerFromInbox,
  answerSeveral,
  decidedCardsMax,
  effectOfVerb,
  type InboxAnswer,
  makeFollowUp,
} from '../../operator/inbox/answers.ts';
import type { RunFollowUp } from '../../operator/run-follow-up.ts';
import type { CrossProcessStore } from '../../ports/store.ts';
import { exitCodes, type ParsedArgs, type Terminal, usageError } from '../command.ts';
import { identifyOperator } from '../policy/operator-option.ts';

/** A verb of `switchgear inbox`; returns the exit code. */
export type InboxVerb = (store: CrossProcessStore, parsedArgs: ParsedArgs, terminal: Terminal) => Promise<number>;

export const runVerbs: Readonly<Record<RunFollowUp['action'], InboxVerb>> = {
  retry: createVerb('retry'),
  narrow: createVerb('narrow'),
  pause: createVerb('pause'),
  replan: createVerb('replan'),
  dismiss: createVerb('dismiss'),
};

export const runUsage = [
  'inbox retry ID [--limit N]       resume a halted run with the reached limit doubled, or raised to N',
  'inbox narrow ID "REQUEST"        start the run again with a smaller request',
  'inbox pause ID                   keep the run as it is until somebody resumes it',
  'inbox replan ID ["WORDS"]        hand the task back: a run ends; a session or a task of a gateway begins anew',
  'inbox dismiss ID                 close the card: a halted run is deleted, another task stays halted',
];

function createVerb(verb: InboxAnswer['verb']): InboxVerb {
  return async (store, parsedArgs, terminal) => {
    const { positionals, values } = parsedArgs;
    const takesRequest = verb === 'narrow' || verb === 'replan';
    const request = takesRequest ? positionals[2] : undefined;
    if (verb === 'narrow' && !request?.trim())
      throw usageError('missing argument REQUEST: switchgear inbox narrow ID "a smaller request"');
    const answer: InboxAnswer = { verb, request, limit: readLimit(verb, parsedArgs), note: values.get('--note') };
    return answerCards(
      store,
      takesRequest ? positionals.slice(1, 2) : positionals.slice(1),
      answer,
      parsedArgs,
      terminal,
    );
  };
}

function readLimit(verb: InboxAnswer['verb'], { values }: ParsedArgs): number | undefined {
  const text = values.get('--limit');
  if (text === undefined) return undefined;
  if (verb !== 'retry') throw usageError('--limit is the new limit of retry');
  if (/^\d{1,16}$/.test(text)) return Number(text);
  throw usageError(`--limit must be a whole number, got ${JSON.stringify(text)}`);
}

/** Answers one card or several; a card that does not accept the answer stops no other one. */
export async function answerCards(
  store: CrossProcessStore,
  ids: readonly string[],
  answer: InboxAnswer,
  parsedArgs: ParsedArgs,
  terminal: Terminal,
): Promise<number> {
  if (ids.length > decidedCardsMax) throw usageError(`at most ${decidedCardsMax} cards at once, got ${ids.length}`);
  const operator = await identifyOperator(store, parsedArgs, terminal, effectOfVerb(answer.verb));
  const [id = '', ...more] = ids;
  if (more.length === 0) {
    const effect = await answerFromInbox(store, id, answer, operator, { canResume: true });
    return reportAnswer(store, answer, effect, parsedArgs, terminal);
  }
  // Of several runs, none can have the terminal.
  const results = await answerSeveral(store, ids, answer, operator);
  if (parsedArgs.switches.has('--json')) {
    terminal.out(JSON.stringify(results, null, 2));
  } else
    for (const result of results) {
      if ('effect' in result)
        terminal.out(`${sanitizeText(result.effect.card.id)}: ${sanitizeText(result.effect.sentence)}`);
      else terminal.err(`switchgear: ${sanitizeText(result.id)}: ${result.error.message}`);
    }
  return results.every((result) => 'effect' in result) ? exitCodes.ok : exitCodes.error;
}

async function reportAnswer(
  store: CrossProcessStore,
  { verb, request }: InboxAnswer,
  effect: AnswerEffect,
  parsedArgs: ParsedArgs,
  terminal: Terminal,
): Promise<number> {
  const { card, status, run, pausedCard, abandonedRun, released, sentence } = effect;
  const asJson = parsedArgs.switches.has('--json');
  if (asJson) terminal.out(JSON.stringify(card, null, 2));
  const print = asJson ? () => undefined : terminal.out;
  const id = sanitizeText(card.id);
  switch (status) {
    case 'answered':
      print(`${verb === 'decline' ? 'declined' : 'approved'} ${id}: ${sanitizeText(describeQuestion(card))}`);
      if (released > 0) print(sanitizeText(sentence));
      if (abandonedRun !== undefined) {
        const { makeCommandHints } = await import('../chain/runs.ts');
        const { storeOption } = makeCommandHints(parsedArgs, store.clock);
        print(
          `No process runs it now; resume it with: switchgear chain resume ${sanitizeText(abandonedRun)}${storeOption}`,
        );
      }
      return exitCodes.ok;
    case 'forwarded':
      print(`${id}: answered; the waiting process continues`);
      return exitCodes.ok;
    case 'to-resume': {
      const { resumeRun } = await import('../run/resume.ts');
      const followUp = makeFollowUp(verb as RunFollowUp['action'], request);
      return resumeRun(store, run!, followUp, withStoreVariable(parsedArgs, terminal));
    }
    case 'paused':
      if (pausedCard !== undefined) print(`paused; its card is ${sanitizeText(pausedCard.id)}`);
      return exitCodes.ok;
    case 'recorded':
      print(`${id}: ${card.answer} is recorded for the program that ran ${sanitizeText(card.task)}`);
      return exitCodes.ok;
    case 'replanned':
      print(`${id}: handed back for a new plan; the run was deleted`);
      return exitCodes.ok;
    case 'dismissed':
      print(`dismissed ${id}`);
      return exitCodes.ok;
  }
}

/** Names the step of a chain run, or the agent and the call that it asks about. */
function describeQuestion(card: Card): string {
  return card.step === undefined ? (card.evidence[0] ?? card.task) : describeSubject(card);
}

/** The stored options of a run do not name its store, so the resumed run uses the store of this command. */
export function withStoreVariable({ values }: ParsedArgs, terminal: Terminal): Terminal {
  const store = values.get('--store');
  return store === undefined ? terminal : { ...terminal, env: { ...terminal.env, SWITCHGEAR_STORE: store } };
}
