/**
 * Tells repeated reports of one call from several calls with one id: some servers number calls anew in each turn. Each
 * source counts its own rounds, so that the second call of the stream and of the session files is the same call.
 */

import { createRecentMap } from '../../core/bounded.ts';
import { countedIdsMax } from '../../core/limits.ts';
import { fingerprint } from '../../guard/internal.ts';
import type { ToolResultEvent, ToolUseEvent } from '../reading/agent-event.ts';
import { type EventSource, sourceOf } from '../reading/event-source.ts';

/** The latest call with an id. */
interface Round {
  readonly round: number;
  readonly message: string | undefined;
  readonly call: number;
  /** The latest call with the id that has a result; calls before it have one, or lost it. */
  readonly answered: number;
  /** Whether the call was reported again after its result. */
  readonly isRepeated: boolean;
}

export interface CallRounds {
  /** A key that is the same for all reports of one call. */
  keyOfCall(event: ToolUseEvent): string;
  /** The key of the call that a result belongs to: the oldest pending one with the id, else the latest one. */
  keyOfResult(event: ToolResultEvent, isPending: (key: string) => boolean): string;
}

export function trackCallRounds(): CallRounds {
  const rounds = {
    stream: createRecentMap<Round>(countedIdsMax),
    files: createRecentMap<Round>(countedIdsMax),
    unknown: createRecentMap<Round>(countedIdsMax),
  };
  return {
    keyOfCall(event) {
      const { id, name, input, message } = event;
      const source = sourceOf(event);
      const last = rounds[source].get(id);
      const call = fingerprint(name, input);
      if (last === undefined || isAnotherCall[source](last, message, call)) {
        const round = (last?.round ?? 0) + 1;
        rounds[source].set(id, { round, message, call, answered: last?.answered ?? 0, isRepeated: false });
        return makeKey(id, round);
      }
      if (isAnswered(last) && !last.isRepeated) rounds[source].set(id, { ...last, isRepeated: true });
      return makeKey(id, last.round);
    },
    keyOfResult(event, isPending) {
      const { id } = event;
      const source = sourceOf(event);
      const last = rounds[source].get(id);
      if (last === undefined) return makeKey(id, 1);
      if (isAnswered(last)) return makeKey(id, last.round);
      let answered = last.answered + 1;
      while (answered < last.round && !isPending(makeKey(id, answered))) answered++;
      rounds[source].set(id, { ...last, answered });
      return makeKey(id, answered);
    },
  };
}

function isAnswered({ round, answered }: Round): boolean {
  return answered === round;
}

type CallTest = (last: Round, message: string | undefined, call: number) => boolean;

/** Whether an event with a known id is another call than the latest one, by source. */
const isAnotherCall: Readonly<Record<EventSource, CallTest>> = {
  stream: (last, message, call) => isAnswered(last) || call !== last.call || message !== last.message,
  // A session file contains a message again after each change, with the calls that it had before.
  files: (last, message) => isAnswered(last) && (message === undefined || message !== last.message),
  // The events of two sources may be mixed: one more report of the same call is expected, not two.
  unknown: (last, message, call) =>
    last.isRepeated || call !== last.call || (message !== undefined && (last.message ?? message) !== message),
};

function makeKey(id: string, round: number): string {
  return round === 1 ? id : `${id}#${round}`;
}
