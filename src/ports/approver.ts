/** Someone who can say yes. */

import type { Card } from '../core/card.ts';

export interface Answer {
  readonly approved: boolean;
  /** Who answered. */
  readonly by: string;
  readonly note?: string;
}

/** Puts a question to a person. An approver that throws, or that answers nothing in time, has not approved. */
export interface Approver {
  readonly name: string;
  ask(card: Card, signal: AbortSignal): Promise<Answer>;
}
