/** Suspicions: what makes the model get a hint, and a person a card. A suspicion refuses nothing and ends nothing. */

import type { LoopSettings } from '../../settings.ts';
import type { Counters } from '../../verdict.ts';
import { type Habit, isImpatient } from './past-calls.ts';
import type { LoopMemory, PastCall } from './state.ts';
import { mayActOnLastTurn, sumPoints, weigh } from './turns.ts';

/** A hint for the model; `strong` is 1 if a person should know. */
export interface LoopHint {
  readonly counters: Counters;
}

/** Texts and calls that are looked at, and how many of them make a suspicion. */
const textsMin = 5;
const turnsMin = 5;
const shortAnswerMax = 50;

/** Returns the suspicion about a task, or undefined. */
export function findSuspicion(
  memory: LoopMemory,
  settings: LoopSettings,
  findHabit: (name: string) => Habit | undefined,
): LoopHint | undefined {
  const last = memory.pastCalls.at(-1);
  const points = sumPoints(memory);
  if (countBits(memory.apologies) >= textsMin)
    return { counters: { name: '', evidence: 'same_words', times: textsMin, points, strong: 1 } };
  if (last !== undefined && isImpatient(memory, findHabit(last.name))) {
    const { name, times, says } = last;
    return { counters: { name, evidence: 'unready', times, points, ...(says && { says }) } };
  }
  if (!mayActOnLastTurn(memory, settings)) return undefined;
  const weight = memory.turns.reduce((sum, turn) => sum + weigh(turn), 0);
  const strong = weight >= settings.cardPoints || keepsFailing(memory) || keepsSaying(memory);
  const isPlain = points >= settings.notePoints && memory.turns.at(-1)!.points > 0;
  if (!isPlain && !strong) return undefined;
  const { name, evidence, times, of, says } = memory.turns.at(-1)!;
  const stale = memory.turns.filter((turn) => turn.points > 0).length;
  const facts = { name, evidence, times, of, stale, turns: memory.turns.length, points };
  return { counters: { ...facts, ...(says && { says }), ...(strong && { strong: 1 }) } };
}

/** Five of the last six calls failed, and the last turn repeats something. */
function keepsFailing({ pastCalls, turns }: LoopMemory): boolean {
  if (turns.length < turnsMin || turns.at(-1)!.evidence === 'other_error') return false;
  const isHopeless = ({ ok, reached, retryable, unready, waitedMs }: PastCall) =>
    !ok && reached && !retryable && !unready && waitedMs === 0;
  return pastCalls.slice(-6).filter(isHopeless).length >= 5;
}

/** Most of the last texts nearly repeat earlier ones, and most of the last answers are short. */
function keepsSaying({ pastCalls, turns, recurring }: LoopMemory): boolean {
  const short = pastCalls.slice(-8).filter(({ length }) => length < shortAnswerMax).length;
  return turns.length >= turnsMin && countBits(recurring) >= textsMin && short >= textsMin;
}

function countBits(bits: number): number {
  let count = 0;
  for (let rest = bits; rest > 0; rest >>= 1) count += rest & 1;
  return count;
}
