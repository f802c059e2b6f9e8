/** Someone who can say yes. */

import type { Card } from '../core/card.ts';

export interface Answer {
  readonly approved: boolean;
  /** Who answered. */
  readonly by: string;
  readonly note?: string;
  /** How long a yes holds where a chain asks: for this step, for its run, or for good. Once unless said. */
  readonly for?: 'once' | 'run' | 'always';
}

/** Puts a question to a person. An approver that throws, or that answers nothing in time, has not approved. */
export interface Approver {
  readonly name: string;
  /** Whether anybody can be reached through it now; who does not say so can. */
  isThere?(): boolean;
  ask(card: Card, signal: AbortSignal): Promise<Answer>;
}
