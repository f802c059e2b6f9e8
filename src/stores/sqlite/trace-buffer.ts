/** Collects traces for up to 10 ms, so that many of them share one commit. */

import { journalEntriesMax } from '../../core/limits.ts';
import { machineClock } from '../../platform/machine-clock.ts';
import type { PendingEntry } from '../../ports/store.ts';

/** The traces that are not written yet. */
export interface TraceBuffer {
  /** Adds a trace; commits at 1,000 traces or after 10 ms. */
  add(trace: PendingEntry): void;
  /** Returns a copy of all waiting traces; they stay until `removeWritten`. */
  waiting(): readonly PendingEntry[];
  /** Removes the first traces after they were written. */
  removeWritten(count: number): void;
  /** Drops the oldest traces over the limit while nothing can be written. */
  trim(): void;
  readonly size: number;
}

/** The number of traces that commit at once, and how long fewer traces wait. */
const tracesPerCommit = 1_000;
const traceWaitMs = 10;

/** Creates an empty buffer; `commit` has to write the waiting traces. */
export function createTraceBuffer(commit: () => void): TraceBuffer {
  let traces: PendingEntry[] = [];
  let cancelFlush: (() => void) | undefined;
  const flushLate = () => {
    cancelFlush = undefined;
    commit();
  };
  return {
    add(trace) {
      traces.push(trace);
      if (traces.length >= tracesPerCommit) commit();
      else cancelFlush ??= machineClock.after(traceWaitMs, flushLate, true);
    },
    waiting: () => [...traces], // A copy, because traces may be added while these are written.
    removeWritten(count) {
      if (count === 0) return;
      traces = traces.slice(count);
      if (traces.length > 0) return;
      cancelFlush?.();
      cancelFlush = undefined;
    },
    trim() {
      if (traces.length > journalEntriesMax) traces = traces.slice(-journalEntriesMax);
    },
    get size() {
      return traces.length;
    },
  };
}
