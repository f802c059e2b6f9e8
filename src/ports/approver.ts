/** The interface of approvers: the way to ask a person for an approval. */

import type { QuestionCard } from '../core/card.ts';

/** The answer of a person to a card. */
export interface Answer {
  readonly approved: boolean;
  /** The name of the person who answered. */
  readonly by: string;
  readonly note?: string;
  /**
   * How long an approval of a chain step holds: for this step, for its run, or always.
   *
   * @default 'once'
   */
  readonly for?: 'once' | 'run' | 'always';
  /**
   * The arguments to call the tool with in place of its own: the approval is for these, and all rules judge them. A
   * card that offers `approve_edited` takes them; of any other the call is refused.
   *
   * @default none: the arguments of the call
   */
  readonly args?: readonly unknown[];
  /**
   * Whether the arguments were edited with the answer to the card, and are sealed in the store.
   *
   * @default false
   */
  readonly isEdited?: boolean;
}

/** Asks a person for an approval. An approver that throws, or does not answer in time, has not approved. */
export interface Approver {
  readonly name: string;
  /** Whether a person can be reached now; an approver without this method always can. */
  isAvailable?(): boolean;
  /**
   * Resolves with the answer of a person. `card.input` shows the arguments of the call, also as the last line of
   * `card.evidence`. The signal aborts when no answer is needed any more.
   */
  ask(card: QuestionCard, signal: AbortSignal): Promise<Answer>;
}
