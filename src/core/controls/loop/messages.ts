/** Describes a loop in text: the repetition, its count, and its duration. */

import type { Counters } from '../../verdict.ts';
import type { LoopEvidence } from './state.ts';

type RepeatEvidence = Exclude<LoopEvidence, 'news' | 'same_cycle'>;

const moveOnAdvice = 'Doing the same again will not change that: try something else, or ask the user how to go on.';

/** The advice for the model: a poller waits, any other agent tries something else. */
export function adviseOnRepeat({ poll_secs: pollSecs, habit }: Counters): string {
  if (pollSecs === undefined) return moveOnAdvice;
  if (habit === 'poll') return `You ask too often: ask again after ${pollSecs} s, and do something else until then.`;
  return `${moveOnAdvice} If you wait for it to change, ask again after ${pollSecs} s.`;
}

/** The setting that changes when this repetition counts, for a person. */
export function nameSetting({ name, evidence, habit, poll_secs: pollSecs }: Counters): string {
  switch (evidence as RepeatEvidence | 'same_cycle') {
    case 'same_words':
      return 'words_points and halt_points of [loop] change that';
    case 'same_error':
    case 'other_error':
    case 'near_error':
      return 'failed_repeats and halt_points of [loop] change that';
    case 'same_answer':
    case 'near_call':
      return `if it goes through pages: [loop.tools] ${quoteKey(String(name))} = "page"`;
    case 'same_call':
    case 'same_cycle':
      if (habit === 'poll') return `it may ask again every ${pollSecs} s: poll_secs of [loop]`;
      return `if it polls: [loop.tools] ${quoteKey(String(name))} = "poll"`;
  }
}

/** A name as a key of a policy file. */
function quoteKey(name: string): string {
  return /^[\w-]+$/.test(name) ? name : JSON.stringify(name);
}

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
