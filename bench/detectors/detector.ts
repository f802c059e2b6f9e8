/** What a detector is: it sees the events of a run one by one and says when it would end it. */

import type { Counters } from '../../src/core/verdict.ts';
import type { Run, RunEvent } from './runs.ts';

/** What it did to one run. */
export interface Watch {
  /** True once the run is ended; it is then shown nothing more. */
  see(event: RunEvent, index: number): boolean;
  /** Whether the model got a hint, a person a card that holds nothing, and a call would have been refused. */
  readonly nudged?: boolean;
  readonly carded?: boolean;
  readonly denied?: boolean;
  /** Why it ended the run. */
  readonly code?: string;
  readonly counters?: Counters;
}

export interface Detector {
  readonly name: string;
  /** Whether it is ours: it hints and opens cards, too. */
  readonly isPolicy?: boolean;
  watch(run: Run): Watch;
}
