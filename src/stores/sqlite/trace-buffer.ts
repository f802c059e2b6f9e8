/** Traces on their way into a file: nobody waits for them, so those of about the same time are one commit. */

import { journalEntriesMax } from '../../core/limits.ts';
import { machineClock } from '../../platform/machine-clock.ts';
import type { PendingEntry } from '../../ports/store.ts';

export interface TraceBuffer {
  add(trace: PendingEntry): void;
  /** All that wait, to be written now: they stay, and come again, until that has come about. */
  waiting(): readonly PendingEntry[];
  /** So many of them were written. */
  removeWritten(count: number): void;
  /** Nothing can be written for now: the oldest of too many are let go. */
  trim(): void;
  readonly size: number;
}

/** How many make a commit of their own, and how long fewer wait for one. */
const tracesPerCommit = 1_000;
const traceWaitMs = 10;

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
    waiting: () => [...traces], // More may come meanwhile.
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
