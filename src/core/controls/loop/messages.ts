/** Describes a loop in text: the repetition, its count, and its duration. */

import type { Counters } from '../../verdict.ts';
import type { LoopEvidence } from './state.ts';

type RepeatEvidence = Exclude<LoopEvidence, 'news' | 'same_cycle'>;

/** The advice for the model. */
export const moveOnAdvice =
  'Doing the same again will not change that: try something else, or ask the user how to go on.';

const phrases: Readonly<Record<RepeatEvidence, string>> = {
  same_call: 'returned the same result to the same call',
  same_error: 'returned the same error',
  other_error: 'failed',
  same_answer: 'gave the same answer to nearly the same call',
  near_call: 'was called in nearly the same way',
  near_error: 'failed in nearly the same call',
  same_words: 'the same words came again',
};

/** Describes the repetition, with its numbers. */
export function describeRepeat({ name, evidence, times, of, secs, stale, turns }: Counters): string {
  const phrase = phrases[evidence as RepeatEvidence] ?? phrases.same_call;
  const often = `${times} times`;
  // If other turns add to the score, the repetition of the last turn is only a part of it.
  const rest = Number(stale) > Number(times) + 1 ? `; ${stale} of the last ${turns} turns brought nothing new` : '';
  if (evidence === 'same_words') return `${phrase} ${often}${rest}`;
  const window = Number(of) > Number(times) ? ` in the last ${of} calls` : ' in a row';
  return `'${name}' ${phrase} ${often}${window}${Number(secs) >= 1 ? ` (for ${secs} s)` : ''}${rest}`;
}
