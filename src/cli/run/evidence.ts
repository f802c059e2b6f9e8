/** Counts the last calls of an agent for the report of a halt at the terminal; stores nothing. */

import type { AgentEvent } from '../../agents/index.ts';
import { createRecentMap } from '../../core/bounded.ts';
import { countedCallsMax, countedIdsMax, progressLengthMax } from '../../core/limits.ts';
import { describeInput } from './render-events.ts';
import { formatSingleLine } from './screen.ts';

export interface CallEvidence {
  feed(event: AgentEvent): void;
  /** Sentences about the calls; empty if there were none. */
  describe(): readonly string[];
}

export function createCallEvidence(): CallEvidence {
  const callCounts = new Map<string, number>();
  const seenIds = createRecentMap<true>(countedIdsMax);
  let lastCall: string | undefined;
  return {
    feed(event) {
      // The stream and the session file both report a call.
      if (event.type !== 'tool_use' || seenIds.get(event.id) === true) return;
      seenIds.set(event.id, true);
      lastCall = `${event.name} ${describeInput(event.input)}`.slice(0, 4 * progressLengthMax);
      const callCount = (callCounts.get(lastCall) ?? 0) + 1;
      callCounts.delete(lastCall);
      callCounts.set(lastCall, callCount);
      if (callCounts.size > countedCallsMax) callCounts.delete(callCounts.keys().next().value!);
    },
    describe() {
      if (lastCall === undefined) return [];
      const [mostFrequentCall, callCount] = [...callCounts].reduce((mostFrequent, candidate) =>
        candidate[1] > mostFrequent[1] ? candidate : mostFrequent,
      );
      const lastCallCount = callCounts.get(lastCall) ?? 1;
      const format = (call: string) => formatSingleLine(call, progressLengthMax);
      const sentences = [
        `the last call was: ${format(lastCall)}${lastCallCount > 1 ? ` (seen ${lastCallCount} times)` : ''}`,
      ];
      if (mostFrequentCall !== lastCall && callCount > 1)
        sentences.push(`seen most often: ${format(mostFrequentCall)} (${callCount} times)`);
      return sentences;
    },
  };
}
