/** Deals that were out when the line was lost: whether they happened is known when it is back. */

import { queuedTransactionsMax } from '../../core/limits.ts';
import type { PendingEntry, Transaction } from '../../ports/store.ts';

/** A deal, or several in one, by the number under which the server notes it. */
export interface Out {
  readonly number: number;
  readonly parts: readonly Transaction[];
  readonly entries: readonly PendingEntry[];
}

export interface Limbo {
  /** What is out now. */
  readonly out: Set<Out>;
  lineLost(): void;
  /** Those of the line before that were carried out. */
  lineBack(done: ReadonlySet<number>): readonly Out[];
  /** The same again, once the views show them. */
  caughtUp(): readonly Out[];
}

export function createLimbo(): Limbo {
  const out = new Set<Out>();
  let limbo: Out[] = [];
  let carried: Out[] = [];
  return {
    out,
    lineLost() {
      limbo.push(...out);
      if (limbo.length > queuedTransactionsMax) limbo = limbo.slice(-queuedTransactionsMax);
    },
    lineBack(done) {
      const happened = limbo.filter((one) => done.has(one.number));
      carried.push(...happened);
      limbo = [];
      return happened;
    },
    caughtUp() {
      const happened = carried;
      carried = [];
      return happened;
    },
  };
}
