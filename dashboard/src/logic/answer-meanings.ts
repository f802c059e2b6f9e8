/** What each button of a card does, for how much and for how long, before somebody presses it. */

import type { CardAction } from '../../../src/core/card.ts';
import type { PageCard } from './inbox-model.ts';

/** The scope and the duration of an answer to a card, in a sentence. */
export function describeAnswer(card: PageCard, action: CardAction): string {
  const { kind, step, details } = card;
  const isChain = step !== undefined;
  const isRun = details?.isAwaited !== undefined;
  switch (action) {
    case 'approve':
      return isChain ? 'This step runs, once, with these arguments.' : 'This call runs, once, with these arguments.';
    case 'approve_run':
      return 'Also every later step of this run that the same rules ask about.';
    case 'approve_always':
      return 'This step in every run of this chain, until somebody revokes it.';
    case 'approve_edited':
      return 'This call runs, once, with the arguments that you write.';
    case 'decline':
      return isChain
        ? 'The step does not run, and the run ends; your note is its reason.'
        : 'The call does not run; the agent reads your note.';
    case 'retry_raised':
      return isRun || kind !== 'halt'
        ? 'The agent goes on. A new limit is for this task alone, and a task can be continued three times.'
        : 'The program may try again. A new limit is for this task alone.';
    case 'narrow_scope':
      return 'The agent starts again with a smaller request that you write.';
    case 'replan':
      return 'The task ends, and its caller makes a new plan from your words.';
    case 'pause':
      return 'Nothing of the task runs, and its clocks stand still, until somebody resumes it.';
    case 'dismiss':
      if (kind === 'halt') return isRun ? 'The run ends here.' : 'The task stays ended, and the card is closed.';
      return 'The card is closed, and nothing else changes.';
  }
}

/** What “Not now” does. */
export const snoozeMeaning =
  'Hides the card for a time that you choose. Nothing is decided, and the agent keeps waiting.';
