/** Describes a loop in text: what was seen, and what the model or a person may do. */

import type { Counters } from '../../verdict.ts';
import type { LoopEvidence } from './state.ts';

type RepeatEvidence = Exclude<LoopEvidence, 'news'>;

const moveOnAdvice = 'Doing the same again will not change that: try something else, or ask the user how to go on.';
const waitAdvice =
  'Wait first, then ask: put the wait into the call itself, or do something else until then. ' +
  'If it never becomes ready, find out why, or ask the user how to go on.';

/** The advice for the model: an agent that waits for something waits first, any other tries something else. */
export function adviseOnRepeat({ evidence }: Counters): string {
  return evidence === 'unready' ? waitAdvice : moveOnAdvice;
}

/** The setting that changes when this repetition counts, for a person. */
export function nameSetting({ name, evidence }: Counters): string {
  switch (evidence as RepeatEvidence) {
    case 'same_call':
    case 'same_cycle':
    case 'unready':
      return `if it is meant to be repeated: [loop.tools] ${quoteKey(String(name))} = "poll"`;
    case 'same_failure':
      return 'repeats of [loop] changes that';
    case 'same_words':
    case 'same_error':
    case 'other_error':
    case 'near_error':
    case 'same_answer':
    case 'near_call':
      return 'a suspicion: nothing was refused';
  }
}

/** A name as a key of a policy file. */
function quoteKey(name: string): string {
  return /^[\w-]+$/.test(name) ? name : JSON.stringify(name);
}

/** Describes the repetition: what was seen, in the words of the person who would see it. */
export function describeRepeat({ name, evidence, times, of, says, stale, turns }: Counters): string {
  const often = `${times} times`;
  const error = says === undefined ? '' : ` with '${says}'`;
  switch (evidence as RepeatEvidence) {
    case 'same_call':
    case 'same_cycle':
      if (turns !== undefined) return `'${name}' was called ${often} with the same result${window(times, of)}`;
      if (evidence === 'same_call')
        return `the same call of '${name}' returned the same ${often}, with nothing new in between`;
      return `the last ${times} turns only repeated earlier calls and their results, the last one of '${name}'`;
    case 'same_failure':
      if (turns !== undefined) return `the same call of '${name}' failed ${often}${error}${window(times, of)}`;
      return `the same call of '${name}' failed ${often}${error}, with no change in between`;
    case 'unready':
      return `'${name}' was asked ${often} for something that is not ready${error}`;
    case 'same_words':
      return turns === undefined
        ? `${times} of the last texts were nearly the same apology`
        : `the same words came again ${often}, without a call`;
    case 'same_error':
      return `'${name}' returned the same error ${often}${error}${window(times, of)}`;
    case 'other_error':
      return `${stale} of the last ${turns} turns failed or repeated something, last a call of '${name}'${error}`;
    case 'near_error':
      return `'${name}' failed again in nearly the same call${error}`;
    case 'same_answer':
      return `'${name}' gave the same answer to nearly the same call ${often}`;
    case 'near_call':
      return `'${name}' was called again in nearly the same way, with nearly the same words`;
  }
}

function window(times: unknown, of: unknown): string {
  return Number(of) > Number(times) ? ` in the last ${of} calls` : ' in a row';
}
