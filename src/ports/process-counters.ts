/** The interface of the counters of a process, which a shared store adds to its totals. */

import type { CardAction } from '../core/card.ts';
import type { Entry } from '../core/event.ts';
import type { BreakerCounts, DecisionCounts, MetricLayer, SpendCounts, SpendScope } from './process-counts.ts';
import type { Change, CounterAdd } from './store.ts';

/** The key prefix of the cells with the names that metrics have. */
export const namesPrefix = 'metric-names/';

/** Counts that a transaction carries to the store. */
export interface TakenCounts {
  readonly adds: readonly CounterAdd[];
  /** New names, for the list of names that the store keeps. */
  readonly changes: readonly Change[];
  /** Counts the amounts again after the transaction failed. */
  giveBack(): void;
}

/**
 * The counters of one process on one store. The returned records are incremented in place; the store adds what they
 * grew by to its totals once a second, and when the process ends.
 */
export interface ProcessCounters {
  decisions(layer: MetricLayer): DecisionCounts;
  /** The counts of a breaker name; after 200 names, those of `other`. */
  breaker(name: string): BreakerCounts;
  spend(scope: SpendScope): SpendCounts;
  /** Counts a journal entry of this process: changes of breakers, refusals, halts, internal errors. */
  countEntry(entry: Entry): void;
  /** Counts an answer to a card. */
  countAnswer(answer: CardAction): void;
  /** Takes the growth since the last time, for a transaction that is committed anyway; undefined if there is none. */
  take(): TakenCounts | undefined;
  /** Commits the growth together with other transactions of this tick; does nothing while the store is unavailable. */
  flush(): Promise<void>;
  /** Commits the growth in this tick, if the store can. */
  flushNow(): void;
}
