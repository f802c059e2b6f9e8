/** Asks how a halted run continues, at the terminal and in the inbox; the first answer counts. */

import { createInterface } from 'node:readline';
import type { CardAction } from '../../core/card.ts';
import { answerPollMs } from '../../core/limits.ts';
import type { HaltChoices, RunFollowUp } from '../../operator/run-follow-up.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Store } from '../../ports/store.ts';
import type { Screen } from './screen.ts';

/** A decision about a halted run; `none` if there was no answer. */
export type FollowUp = RunFollowUp | { readonly action: 'none' };

export interface HaltAnswer {
  readonly followUp: FollowUp;
  /** The place of the answer; an answer at the terminal still has to be written to the card. */
  readonly answeredAt: 'terminal' | 'inbox' | 'nowhere';
}

const followUpActions: { readonly [action in CardAction]?: RunFollowUp['action'] } = {
  retry_raised: 'retry',
  narrow_scope: 'narrow',
  pause: 'pause',
  replan: 'replan',
  dismiss: 'dismiss',
};

export interface HaltPromptOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly screen: Screen;
  readonly card: string | undefined;
  readonly choices: HaltChoices;
  /** Whether a person can be asked at the terminal. */
  readonly atTerminal: boolean;
  /** How long to wait for an answer in the inbox without a terminal. */
  readonly waitMs: number;
  /** The new prompt after `narrow` in the inbox. */
  readonly readPrompt: () => string | undefined;
}

export async function askHowToContinue(options: HaltPromptOptions): Promise<HaltAnswer> {
  const { atTerminal, waitMs, clock, card } = options;
  if (!atTerminal && (waitMs === 0 || card === undefined))
    return { followUp: { action: 'none' }, answeredAt: 'nowhere' };
  const stop = new AbortController();
  try {
    return await Promise.race([
      ...(card === undefined ? [] : [waitForInboxAnswer(options, card, stop.signal)]),
      ...(atTerminal ? [askAtTerminal(options, stop.signal)] : []),
      ...(atTerminal ? [] : [waitForTimeout(clock, waitMs, stop.signal)]),
    ]);
  } finally {
    stop.abort();
  }
}

function waitForInboxAnswer(
  { store, clock, readPrompt }: HaltPromptOptions,
  card: string,
  stop: AbortSignal,
): Promise<HaltAnswer> {
  return new Promise((resolve) => {
    let cancelPoll = () => {};
    const checkAnswer = (): boolean => {
      store.shared?.refresh();
      const { state, answer } = store.card(card) ?? {};
      const action = state === 'answered' || state === 'used' ? followUpActions[answer!] : undefined;
      if (action === undefined) return false;
      resolve({
        answeredAt: 'inbox',
        followUp: action === 'narrow' || action === 'replan' ? { action, prompt: readPrompt() ?? '' } : { action },
      });
      return true;
    };
    // Hints may be late or missing, so the card is also polled once a second.
    const poll = () => {
      if (!checkAnswer()) cancelPoll = clock.after(answerPollMs, poll, true);
    };
    const unwatch = store.shared?.watch((hint) => {
      if (hint.type === 'cell-changed' && hint.key === `card/${card}`) checkAnswer();
    });
    const end = () => {
      cancelPoll();
      unwatch?.();
    };
    stop.addEventListener('abort', end, { once: true });
    poll();
  });
}

function waitForTimeout(clock: Clock, waitMs: number, stop: AbortSignal): Promise<HaltAnswer> {
  return new Promise((resolve) => {
    const cancel = clock.after(waitMs, () => resolve({ followUp: { action: 'none' }, answeredAt: 'nowhere' }), true);
    stop.addEventListener('abort', cancel, { once: true });
  });
}

async function askAtTerminal({ screen, choices }: HaltPromptOptions, stop: AbortSignal): Promise<HaltAnswer> {
  const optionTexts = [
    ...(choices.retry ? ['r retry with the limit doubled'] : []),
    ...(choices.narrow ? ['n narrow the request'] : []),
    'p pause',
    'b hand back for a new plan',
    'd dismiss',
  ];
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  stop.addEventListener('abort', () => lines.close(), { once: true });
  const askLine = (question: string) =>
    new Promise<string | undefined>((resolve) => {
      lines.once('close', () => resolve(undefined));
      lines.question(question, (reply) => resolve(reply.trim()));
    });
  try {
    for (;;) {
      const reply = await askLine(`Continue how? ${optionTexts.join(' · ')}: `);
      // The end of the input is not an answer: the card stays open.
      if (reply === undefined) return { followUp: { action: 'none' }, answeredAt: 'nowhere' };
      const letter = reply.toLowerCase().slice(0, 1);
      if (letter === 'r' && choices.retry) return { followUp: { action: 'retry' }, answeredAt: 'terminal' };
      if (letter === 'p') return { followUp: { action: 'pause' }, answeredAt: 'terminal' };
      if (letter === 'b') return { followUp: { action: 'replan' }, answeredAt: 'terminal' };
      if (letter === 'd') return { followUp: { action: 'dismiss' }, answeredAt: 'terminal' };
      if (letter === 'n' && choices.narrow) {
        const prompt = await askLine('The new request: ');
        if (prompt) return { followUp: { action: 'narrow', prompt }, answeredAt: 'terminal' };
      } else screen.printLine(`Please type one letter: ${optionTexts.map((each) => each[0]).join(', ')}.`);
    }
  } finally {
    lines.close();
  }
}
