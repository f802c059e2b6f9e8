/** Scores a settled call: which earlier call it repeats, and the points for it. */

import type { LoopSettings } from '../../settings.ts';
import type { ResultMark } from './result-mark.ts';
import type { LoopEvidence, LoopMemory, PastCall } from './state.ts';

/** How a tool is used that is meant to be repeated. */
export type Habit = 'poll' | 'wait' | 'page' | 'move' | 'off';

/** A settled call, as the detectors read it. */
export interface SettledCall {
  readonly name: string;
  readonly call: number;
  readonly mark: ResultMark;
  /** The highest similarity to a recent call of the same tool. */
  readonly likeness: number;
  readonly reached: boolean;
  /** Failures of the tool before its breaker opens, if more than the default. */
  readonly chances: number;
  readonly atMs: number;
}

/** The repetition of a call: its evidence, its count, and the first of the repeated calls. */
export interface Score {
  readonly evidence: LoopEvidence;
  readonly points: number;
  readonly times: number;
  readonly first: number;
  /** Whether the agent waited before it made the same call again, as one does that polls. */
  readonly spaced?: true;
}

/** A shorter answer is inconclusive: many different calls return it. */
const answerLengthMin = 50;
/** Similarity from which two calls request nearly the same. */
const sameRequestThreshold = 0.5;
/** The most points of a same call after a wait: the turns of a window never reach a hint with it. */
const spacedPointsMax = 1;

/** Scores a settled call. */
export function scoreCall(
  memory: LoopMemory,
  settled: SettledCall,
  settings: LoopSettings,
  habit: Habit | undefined,
): Score {
  const { mark } = settled;
  return mark.ok ? scoreSuccess(memory, settled, settings, habit) : scoreFailure(memory, settled, settings);
}

function scoreFailure(memory: LoopMemory, settled: SettledCall, settings: LoopSettings): Score {
  const { mark, name } = settled;
  if (mark.retryable === true) return noRepeat;
  const same = countAlike(memory.seen, (past) => !past.ok && past.name === name && past.loose === mark.loose);
  if (same.times > 1) return { evidence: 'same_error', points: settings.errorPoints, ...same };
  const failures = countAlike(memory.seen, (past) => !past.ok && past.name === name);
  return isNearRepeat(memory, settled, settings)
    ? { evidence: 'near_error', points: settings.nearErrorPoints, ...failures }
    : { evidence: 'other_error', points: settings.otherErrorPoints, ...failures };
}

function scoreSuccess(
  memory: LoopMemory,
  settled: SettledCall,
  settings: LoopSettings,
  habit: Habit | undefined,
): Score {
  const { mark, name, call } = settled;
  const { seen: pastCalls } = memory;
  const last = findLastSuccess(pastCalls, call);
  const reached = last?.reached === false ? findLastSuccess(pastCalls, call, true) : last;
  const spaced = reached !== undefined && isSpaced(pastCalls, reached, settled.atMs, settings, habit);
  if (last?.exact === mark.exact) {
    if ((spaced && habit === 'poll') || habit === 'wait') return noRepeat;
    const same = countAlike(pastCalls, (past) => past.call === call && past.ok && past.exact === mark.exact);
    const score: Score =
      last === pastCalls.at(-1)
        ? { evidence: 'same_call', points: settings.repeatPoints, ...same }
        : { evidence: 'same_cycle', points: settings.cyclePoints, ...same };
    return spaced ? lowerScore(score) : score;
  }
  // A changed count, the next item, a longer log: a similar answer to the same call is no repeat.
  if (habit === 'page' || habit === 'move' || last?.loose === mark.loose) return noRepeat;
  if (settled.likeness >= sameRequestThreshold && isKnownAnswer(memory, name, mark)) {
    const same = countAlike(pastCalls, (past) => past.name === name && past.ok && past.exact === mark.exact);
    return { evidence: 'same_answer', points: settings.sameAnswerPoints, ...same };
  }
  if (isNearRepeat(memory, settled, settings)) {
    const near: Score = { evidence: 'near_call', points: settings.nearCallPoints, times: 2, first: pastCalls.length };
    return spaced ? lowerScore(near) : near;
  }
  return noRepeat;
}

/**
 * Whether `pollSecs` passed before the same call came again. A tool that polls by its habit may be called among
 * others; for any other tool one of the steps since the last call must have lasted that long, so that a cycle of quick
 * calls stays a cycle.
 */
export function isSpaced(
  pastCalls: readonly PastCall[],
  last: PastCall,
  atMs: number,
  { pollSecs }: LoopSettings,
  habit: Habit | undefined,
): boolean {
  const pauseMs = 1000 * pollSecs;
  if (atMs - last.atMs < pauseMs) return false;
  if (habit === 'poll') return true;
  let nextMs = atMs;
  for (let at = pastCalls.length - 1; at >= 0; at--) {
    const past = pastCalls[at]!;
    if (nextMs - past.atMs >= pauseMs) return true;
    if (past === last) return false;
    nextMs = past.atMs;
  }
  return false;
}

function lowerScore(score: Score): Score {
  return { ...score, points: Math.min(spacedPointsMax, score.points), spaced: true };
}

/** The last success of a call; a plain loop, since it runs on every call. */
function findLastSuccess(pastCalls: readonly PastCall[], call: number, reached = false): PastCall | undefined {
  for (let at = pastCalls.length - 1; at >= 0; at--) {
    const past = pastCalls[at]!;
    if (past.call === call && past.ok && (past.reached || !reached)) return past;
  }
  return undefined;
}

/** Whether the call and the text are nearly the same as before. */
function isNearRepeat({ recurs }: LoopMemory, { likeness }: SettledCall, settings: LoopSettings): boolean {
  return recurs && (settings.wordsAlone || likeness >= settings.nearThreshold);
}

/** Whether a tool returned this answer twice before; short answers are inconclusive. */
export function isKnownAnswer(memory: LoopMemory | null, name: string, { ok, exact, length }: ResultMark): boolean {
  if (memory === null || !ok || length < answerLengthMin) return false;
  return countAlike(memory.seen, (past) => past.name === name && past.ok && past.exact === exact).times > 2;
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
