/** The commands `switchgear inbox retry|narrow|pause|replan|dismiss`: continue or end a halted, paused or lost run. */

import { effectOfVerb, makeFollowUp } from '../../operator/answers.ts';
import { sanitizeText } from '../../operator/format.ts';
import { followUpOnRun, type RunFollowUp } from '../../operator/run-follow-up.ts';
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
  'inbox retry ID                   resume a halted run with the reached limit doubled',
  'inbox narrow ID "REQUEST"        start the run again with a smaller request',
  'inbox pause ID                   keep the run as it is until somebody resumes it',
  'inbox replan ID ["WORDS"]        hand the task back for a new plan: the run ends',
  'inbox dismiss ID                 close the card and delete the run',
];

function createVerb(verb: RunFollowUp['action']): InboxVerb {
  return async (store, parsedArgs, terminal) => {
    const request = parsedArgs.positionals[2];
    if (verb === 'narrow' && !request?.trim())
      throw usageError('missing argument REQUEST: switchgear inbox narrow ID "a smaller request"');
    const followUp = makeFollowUp(verb, request);
    const asJson = parsedArgs.switches.has('--json');
    const operator = await identifyOperator(store, parsedArgs, terminal, effectOfVerb(verb));
    const result = await followUpOnRun(store, parsedArgs.positionals[1]!, followUp, operator);
    if (asJson) terminal.out(JSON.stringify(result.card, null, 2));
    const print = asJson ? () => undefined : terminal.out;
    const id = sanitizeText(result.card.id);
    switch (result.status) {
      case 'forwarded':
        print(`${id}: answered; the waiting process continues`);
        return exitCodes.ok;
      case 'to-resume': {
        const { resumeRun } = await import('../run/resume.ts');
        return resumeRun(store, result.run, followUp, withStoreVariable(parsedArgs, terminal));
      }
      case 'paused':
        if (result.pausedCard !== undefined) print(`paused; its card is ${sanitizeText(result.pausedCard.id)}`);
        return exitCodes.ok;
      case 'recorded':
        print(`${id}: ${result.card.answer} is recorded for the program that ran ${sanitizeText(result.card.task)}`);
        return exitCodes.ok;
      case 'replanned':
        print(`${id}: handed back for a new plan; the run was deleted`);
        return exitCodes.ok;
      case 'dismissed':
        print(`dismissed ${id}`);
        return exitCodes.ok;
    }
  };
}

/** The stored options of a run do not name its store, so the resumed run uses the store of this command. */
function withStoreVariable({ values }: ParsedArgs, terminal: Terminal): Terminal {
  const store = values.get('--store');
  return store === undefined ? terminal : { ...terminal, env: { ...terminal.env, SWITCHGEAR_STORE: store } };
}
