/** What to do with a halted run: asked at the terminal, and answered there or in the inbox, whichever comes first. */

import { createInterface } from 'node:readline';
import type { CardAction } from '../../core/card.ts';
import { answerPollMs } from '../../core/limits.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Store } from '../../ports/store.ts';
import type { Choices } from './halt-report.ts';
import type { Screen } from './screen.ts';

/** What was decided. `leave`: nobody said anything. */
export type Wish =
  | { readonly act: 'leave' }
  | { readonly act: 'retry' | 'pause' | 'dismiss' }
  | { readonly act: 'narrow'; readonly prompt: string };

export interface Answered {
  readonly wish: Wish;
  /** Where it was answered: at the terminal the card is still to be turned. */
  readonly at: 'terminal' | 'inbox' | 'nowhere';
}

const wishOf: { readonly [action in CardAction]?: Exclude<Wish['act'], 'leave'> } = {
  retry_raised: 'retry',
  narrow_scope: 'narrow',
  pause: 'pause',
  dismiss: 'dismiss',
};

export interface QuestionOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly screen: Screen;
  readonly card: string | undefined;
  readonly can: Choices;
  /** Whether somebody sits at the terminal. */
  readonly atTerminal: boolean;
  /** How long the inbox is waited for where nobody does. */
  readonly waitMs: number;
  /** The new prompt, where somebody narrowed the work in the inbox. */
  readonly promptKept: () => string | undefined;
}

export async function whatNext(options: QuestionOptions): Promise<Answered> {
  const { atTerminal, waitMs, clock, card } = options;
  if (!atTerminal && (waitMs === 0 || card === undefined)) return { wish: { act: 'leave' }, at: 'nowhere' };
  const over = new AbortController();
  try {
    return await Promise.race([
      ...(card === undefined ? [] : [inInbox(options, card, over.signal)]),
      ...(atTerminal ? [atTheTerminal(options, over.signal)] : []),
      ...(atTerminal ? [] : [later(clock, waitMs, over.signal)]),
    ]);
  } finally {
    over.abort();
  }
}

function inInbox({ store, clock, promptKept }: QuestionOptions, card: string, over: AbortSignal): Promise<Answered> {
  return new Promise((resolve) => {
    let forget = () => {};
    over.addEventListener('abort', () => forget(), { once: true });
    const look = () => {
      store.shared?.refresh();
      const { state, answer } = store.card(card) ?? {};
      const act = state === 'answered' || state === 'used' ? wishOf[answer!] : undefined;
      if (act === undefined) forget = clock.after(answerPollMs, look, true);
      else resolve({ at: 'inbox', wish: act === 'narrow' ? { act, prompt: promptKept() ?? '' } : { act } });
    };
    look();
  });
}

function later(clock: Clock, waitMs: number, over: AbortSignal): Promise<Answered> {
  return new Promise((resolve) => {
    const cancel = clock.after(waitMs, () => resolve({ wish: { act: 'leave' }, at: 'nowhere' }), true);
    over.addEventListener('abort', cancel, { once: true });
  });
}

async function atTheTerminal({ screen, can }: QuestionOptions, over: AbortSignal): Promise<Answered> {
  const offered = [
    ...(can.retry ? ['r retry with the limit doubled'] : []),
    ...(can.narrow ? ['n narrow the request'] : []),
    'p pause',
    'd dismiss',
  ];
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  over.addEventListener('abort', () => lines.close(), { once: true });
  const ask = (question: string) =>
    new Promise<string | undefined>((resolve) => {
      lines.once('close', () => resolve(undefined));
      lines.question(question, (reply) => resolve(reply.trim()));
    });
  try {
    for (;;) {
      const reply = await ask(`What now? ${offered.join(' · ')}: `);
      // The end of the input is nobody's answer: the card stays open.
      if (reply === undefined) return { wish: { act: 'leave' }, at: 'nowhere' };
      const letter = reply.toLowerCase().slice(0, 1);
      if (letter === 'r' && can.retry) return { wish: { act: 'retry' }, at: 'terminal' };
      if (letter === 'p') return { wish: { act: 'pause' }, at: 'terminal' };
      if (letter === 'd') return { wish: { act: 'dismiss' }, at: 'terminal' };
      if (letter === 'n' && can.narrow) {
        const prompt = await ask('The new request: ');
        if (prompt) return { wish: { act: 'narrow', prompt }, at: 'terminal' };
      } else screen.say(`Please say one letter: ${offered.map((each) => each[0]).join(', ')}.`);
    }
  } finally {
    lines.close();
  }
}
