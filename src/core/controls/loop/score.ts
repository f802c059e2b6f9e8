/** What a settled call repeats, and what that weighs. */

import type { LoopSettings } from '../../settings.ts';
import type { ResultMark } from './result-mark.ts';
import type { Evidence, Memory, SeenCall } from './state.ts';

/** How a tool is used, where repeating it is its purpose. */
export type Habit = 'poll' | 'wait' | 'page' | 'move' | 'off';

/** A settled call, as the detectors see it. */
export interface Settled {
  readonly name: string;
  readonly call: number;
  readonly mark: ResultMark;
  /** How alike it is to the likest of the last calls of its tool. */
  readonly likeness: number;
  readonly reached: boolean;
  /** How often its tool may fail before its breaker opens, where that is more than usual. */
  readonly chances: number;
  readonly atMs: number;
}

/** What a call repeats, how often that was seen, and since which of the calls seen. */
export interface Weighed {
  readonly evidence: Evidence;
  readonly points: number;
  readonly times: number;
  readonly first: number;
}

/** An answer this short says little: many different calls have it. */
const answerLengthMin = 50;
/** Calls this much alike ask for nearly the same. */
const sameAsking = 0.5;

export function weigh(memory: Memory, settled: Settled, settings: LoopSettings, habit: Habit | undefined): Weighed {
  const { mark } = settled;
  return mark.ok ? weighSuccess(memory, settled, settings, habit) : weighFailure(memory, settled, settings);
}

function weighFailure(memory: Memory, settled: Settled, settings: LoopSettings): Weighed {
  const { mark, name } = settled;
  if (mark.retryable === true) return news;
  const same = tally(memory.seen, (other) => !other.ok && other.name === name && other.loose === mark.loose);
  if (same.times > 1) return { evidence: 'same_error', points: settings.errorPoints, ...same };
  const failures = tally(memory.seen, (other) => !other.ok && other.name === name);
  return nearly(memory, settled, settings)
    ? { evidence: 'near_error', points: settings.nearErrorPoints, ...failures }
    : { evidence: 'other_error', points: settings.otherErrorPoints, ...failures };
}

function weighSuccess(memory: Memory, settled: Settled, settings: LoopSettings, habit: Habit | undefined): Weighed {
  const { mark, name, call } = settled;
  const { seen } = memory;
  const last = lastSuccess(seen, call);
  if (last?.exact === mark.exact) {
    const spaced = habit === 'poll' && settled.atMs - last.atMs >= 1000 * settings.pollSecs;
    if (spaced || habit === 'wait') return news;
    const same = tally(seen, (other) => other.call === call && other.ok && other.exact === mark.exact);
    return last === seen.at(-1)
      ? { evidence: 'same_call', points: settings.repeatPoints, ...same }
      : { evidence: 'same_cycle', points: settings.cyclePoints, ...same };
  }
  // A count that moved, the next item, a log that grew: much the same answer to the same call is no repeat.
  if (habit === 'page' || habit === 'move' || last?.loose === mark.loose) return news;
  if (settled.likeness >= sameAsking && isKnownAnswer(memory, name, mark)) {
    const same = tally(seen, (other) => other.name === name && other.ok && other.exact === mark.exact);
    return { evidence: 'same_answer', points: settings.sameAnswerPoints, ...same };
  }
  if (nearly(memory, settled, settings)) {
    return { evidence: 'near_call', points: settings.nearCallPoints, times: 2, first: seen.length };
  }
  return news;
}

/** The last success of a call; a plain loop, since every call asks. */
function lastSuccess(seen: readonly SeenCall[], call: number): SeenCall | undefined {
  for (let at = seen.length - 1; at >= 0; at--) {
    const other = seen[at]!;
    if (other.call === call && other.ok) return other;
  }
  return undefined;
}

/** Whether the agent does nearly what it did before, as it says in nearly the same words. */
function nearly({ recurs }: Memory, { likeness }: Settled, settings: LoopSettings): boolean {
  return recurs && (settings.wordsAlone || likeness >= settings.nearThreshold);
}

/** Whether a tool gave this answer twice before; a short one says too little. */
export function isKnownAnswer(memory: Memory | null, name: string, { ok, exact, length }: ResultMark): boolean {
  if (memory === null || !ok || length < answerLengthMin) return false;
  return tally(memory.seen, (other) => other.name === name && other.ok && other.exact === exact).times > 2;
}

const news: Weighed = Object.freeze({ evidence: 'news', points: 0, times: 1, first: 0 });

/** How many of the calls seen are like this one, it included, and where the first of them is. */
function tally(seen: readonly SeenCall[], isSame: (other: SeenCall) => boolean): { times: number; first: number } {
  let times = 1;
  let first = seen.length;
  for (let at = seen.length - 1; at >= 0; at--) {
    if (!isSame(seen[at]!)) continue;
    times++;
    first = at;
  }
  return { times, first };
}
