/** What a detector is: it sees the events of a run one by one and says when it would end it. */

import type { Run, RunEvent } from './runs.ts';

/** What it did to one run. */
export interface Watch {
  /** True once the run is ended; it is then shown nothing more. */
  see(event: RunEvent, index: number): boolean;
  /** Runs told, and calls refused, on the way. */
  readonly nudged?: boolean;
  readonly denied?: boolean;
  /** Why it ended the run, by code. */
  readonly code?: string;
}

export interface Detector {
  readonly name: string;
  watch(run: Run): Watch;
}
