/** Scores a settled call as a suspicion: which earlier call it resembles, and the points for it. */

import type { LoopSettings } from '../../settings.ts';
import { isInconclusive, type Newness, type SettledCall } from './past-calls.ts';
import type { ResultMark } from './result-mark.ts';
import type { LoopEvidence, LoopMemory, PastCall } from './state.ts';

/** The resemblance of a call: its evidence, its count, and the index of the first of the calls. */
export interface Score {
  readonly evidence: LoopEvidence;
  readonly points: number;
  /** Points that only count for a strong suspicion. */
  readonly weak?: number;
  readonly times: number;
  readonly first: number;
}

/** A shorter answer is inconclusive: many different calls return it. */
const answerLengthMin = 50;
/** Similarity from which two calls request nearly the same. */
const sameRequestThreshold = 0.5;

/** Scores a settled call before it is recorded. */
export function scoreCall(
  memory: LoopMemory,
  settled: SettledCall,
  newness: Newness,
  settings: LoopSettings,
  before: PastCall | undefined,
): Score {
  const { mark } = settled;
  if (newness === 'waited' || (newness === 'nothing' && mark.ok)) return noRepeat;
  // A short answer that comes again is a suspicion, though no certainty.
  if (newness === 'allowed' && (mark.unready === true || !isInconclusive(settled))) return noRepeat;
  return mark.ok
    ? scoreSuccess(memory, settled, newness, settings, before)
    : scoreFailure(memory, settled, newness, settings);
}

function scoreFailure(memory: LoopMemory, settled: SettledCall, newness: Newness, settings: LoopSettings): Score {
  const { mark, name, call } = settled;
  if (mark.retryable === true || mark.unready === true) return noRepeat;
  const same = countAlike(
    memory.pastCalls,
    (past) => !past.ok && past.name === name && past.loose === mark.loose && !isProgress(memory, past, mark),
  );
  if (newness === 'same') {
    const again = countAlike(memory.pastCalls, (past) => past.call === call && !past.ok);
    return { evidence: 'same_failure', points: settings.errorPoints, ...again };
  }
  if (same.times > 1) return { evidence: 'same_error', points: settings.errorPoints, ...same };
  // The same test after an edit, with another failure: the edit did something.
  if (memory.pastCalls.some((past) => past.call === call && !past.ok && isProgress(memory, past, mark)))
    return noRepeat;
  const failures = countAlike(memory.pastCalls, (past) => !past.ok && past.name === name);
  if (isNearRepeat(memory, settled, settings))
    return { evidence: 'near_error', points: settings.nearErrorPoints, ...failures };
  return { evidence: 'other_error', points: settings.otherErrorPoints, ...failures };
}

/** Whether a failure differs from an earlier one, and something was edited in between. */
function isProgress({ editedAt }: LoopMemory, past: PastCall, mark: ResultMark): boolean {
  return past.exact !== mark.exact && past.at < editedAt;
}

function scoreSuccess(
  memory: LoopMemory,
  settled: SettledCall,
  newness: Newness,
  settings: LoopSettings,
  before: PastCall | undefined,
): Score {
  const { mark, name, call, effect } = settled;
  const { pastCalls } = memory;
  if (newness === 'same' || newness === 'allowed') {
    const same = countAlike(pastCalls, (past) => past.call === call && past.ok && past.exact === mark.exact);
    return pastCalls.at(-1)?.call === call
      ? { evidence: 'same_call', points: settings.repeatPoints, ...same }
      : { evidence: 'same_cycle', points: settings.cyclePoints, ...same };
  }
  // The same result as before, and in between only calls of which nobody knows what they did.
  const isKnown = (past: PastCall) =>
    past.call === call && past.ok && past.exact === mark.exact && past.at >= memory.editedAt;
  if (before !== undefined && effect !== 'change' && pastCalls.some(isKnown))
    return { ...noRepeat, evidence: 'same_cycle', weak: settings.cyclePoints };
  // A change is told by its input: its constant answer says nothing. A changed count or a longer log is news.
  if (effect === 'change' || effect === 'command' || effect === 'nothing' || before !== undefined) return noRepeat;
  if (settled.likeness >= sameRequestThreshold && isKnownAnswer(memory, name, mark)) {
    const same = countAlike(pastCalls, (past) => past.name === name && past.ok && past.exact === mark.exact);
    return { evidence: 'same_answer', points: settings.sameAnswerPoints, ...same };
  }
  if (isNearRepeat(memory, settled, settings))
    return { evidence: 'near_call', points: settings.nearCallPoints, times: 2, first: pastCalls.length };
  return noRepeat;
}

/** Whether the call and the text are nearly the same as before. */
function isNearRepeat({ recurs }: LoopMemory, { likeness }: SettledCall, settings: LoopSettings): boolean {
  return recurs && (settings.wordsAlone || likeness >= settings.nearThreshold);
}

/** Whether a tool returned this answer twice before; short answers are inconclusive. */
export function isKnownAnswer(memory: LoopMemory | null, name: string, { ok, exact, length }: ResultMark): boolean {
  if (memory === null || !ok || length < answerLengthMin) return false;
  return countAlike(memory.pastCalls, (past) => past.name === name && past.ok && past.exact === exact).times > 2;
}

const noRepeat: Score = Object.freeze({ evidence: 'news', points: 0, times: 1, first: 0 });

/** How many remembered calls are like this one, itself included, and the index of the first. */
function countAlike(
  pastCalls: readonly PastCall[],
  isSame: (past: PastCall) => boolean,
): { times: number; first: number } {
  let times = 1;
  let first = pastCalls.length;
  for (let at = pastCalls.length - 1; at >= 0; at--) {
    if (!isSame(pastCalls[at]!)) continue;
    times++;
    first = at;
  }
  return { times, first };
}
