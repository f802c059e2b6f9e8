/** Traces on their way into a file: nobody waits for them, so those of about the same time are one commit. */

import { journalEntriesMax } from '../../core/limits.ts';
import { machineClock } from '../../platform/machine-clock.ts';
import type { PendingEntry } from '../../ports/store.ts';

export interface Traces {
  add(trace: PendingEntry): void;
  /** All that wait, to be written now: they stay, and come again, until that has come about. */
  due(): readonly PendingEntry[];
  /** So many of them were written. */
  written(count: number): void;
  /** Nothing can be written for now: the oldest of too many are let go. */
  hold(): void;
  readonly size: number;
}

/** How many make a commit of their own, and how long fewer wait for one. */
const tracesPerCommit = 1_000;
const traceWaitMs = 10;

export function createTraces(commit: () => void): Traces {
  let traces: PendingEntry[] = [];
  let forget: (() => void) | undefined;
  const late = () => {
    forget = undefined;
    commit();
  };
  return {
    add(trace) {
      traces.push(trace);
      if (traces.length >= tracesPerCommit) commit();
      else forget ??= machineClock.after(traceWaitMs, late, true);
    },
    due: () => [...traces], // More may come meanwhile.
    written(count) {
      if (count === 0) return;
      traces = traces.slice(count);
      if (traces.length > 0) return;
      forget?.();
      forget = undefined;
    },
    hold() {
      if (traces.length > journalEntriesMax) traces = traces.slice(-journalEntriesMax);
    },
    get size() {
      return traces.length;
    },
  };
}
