/** What happened to a story on one surface: when a hint came, a question, a refusal, a halt. */

import type { Switchgear } from '../../src/guard/api.ts';
import type { PresetName } from '../../src/policy/index.ts';
import type { Approver } from '../../src/ports/approver.ts';
import type { Story } from './story.ts';

/** The numbers are model turns, counted from 1 over the whole story, in which something happened first. */
export interface Played {
  readonly hintedAt?: number;
  readonly askedAt?: number;
  readonly refusedAt?: number;
  readonly haltedAt?: number;
  /** The code of the halt, else that of the first refusal. */
  readonly code?: string;
  /** The first words that a model or a person got. */
  readonly words?: string;
  /** The cards that a person found in the inbox. */
  readonly cards: number;
}

export interface PlayOptions {
  /** How long the model needs for each answer. */
  readonly turnSecs: number;
  /** The preset of the policy. @default 'coding' */
  readonly preset?: PresetName;
}

/** Plays a story on one surface. */
export type Player = (story: Story, options: PlayOptions) => Promise<Played>;

type Moment = 'hintedAt' | 'askedAt' | 'refusedAt' | 'haltedAt';

/** Notes what happens first, at the turn that the story is in. */
export class Recorder {
  /** The last turn whose answer has ended. */
  turn = 0;
  readonly #cards = new Set<string>();
  readonly #moments: Partial<Record<Moment, number>> = {};
  #refusedBy: string | undefined;
  #haltedBy: string | undefined;
  #words: string | undefined;

  hint(text: string): void {
    this.#note('hintedAt', text);
  }

  ask(text: string): void {
    this.#note('askedAt', text);
  }

  refuse(text: string, code: string | undefined): void {
    this.#note('refusedAt', text);
    this.#refusedBy ??= code;
  }

  halt(text: string, code: string | undefined): void {
    this.#note('haltedAt', text);
    this.#haltedBy ??= code;
  }

  #note(moment: Moment, text: string): void {
    this.#moments[moment] ??= this.turn;
    this.#words ??= text;
  }

  get isHalted(): boolean {
    return this.#moments.haltedAt !== undefined;
  }

  /** Counts the cards of a gear; `onQuestion` gets the id of each question that a person could answer now. */
  watchCards(gear: Switchgear, onQuestion?: (id: string) => void): void {
    gear.on('card-changed', ({ card: { id, kind, state, evidence } }) => {
      const isNew = !this.#cards.has(id);
      this.#cards.add(id);
      if (!isNew || kind !== 'ask' || state !== 'open') return;
      this.ask(evidence.join(' '));
      onQuestion?.(id);
    });
  }

  get played(): Played {
    const code = this.#haltedBy ?? this.#refusedBy;
    const words = this.#words;
    const told = { ...(code !== undefined && { code }), ...(words !== undefined && { words }) };
    return { ...this.#moments, ...told, cards: this.#cards.size };
  }
}

/** A person who is asked, and says no. */
export const decliningApprover: Approver = {
  name: 'daily',
  ask: async () => ({ approved: false, by: 'daily' }),
};
