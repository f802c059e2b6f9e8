/** The state of the loop control for one task: small, bounded, plain JSON. */

import type { RefusedCall } from './refused-call.ts';

/** The repetition of a turn, or `news`. */
export type LoopEvidence =
  | 'news'
  /** The same call with the same result, at once or in a longer cycle. */
  | 'same_call'
  | 'same_cycle'
  /** The same error again, of the same call or of others. */
  | 'same_error'
  /** Another failure. */
  | 'other_error'
  /** The same answer to other calls. */
  | 'same_answer'
  /** Nearly the same words and call, with another result or another failure. */
  | 'near_call'
  | 'near_error'
  /** The same words, and no call at all. */
  | 'same_words';

/** One settled call. */
export interface PastCall {
  readonly name: string;
  readonly call: number;
  readonly ok: boolean;
  readonly exact: number;
  readonly loose: number;
  readonly length: number;
  readonly retryable: boolean;
  /** False for a refusal: the tool was not reached. */
  readonly reached: boolean;
  /** Failures of the tool before its breaker opens, if more than the default. */
  readonly chances: number;
  readonly atMs: number;
}

/** A repetition: how often, in how many calls, and for how long. */
export interface Repeated {
  readonly evidence: LoopEvidence;
  readonly name: string;
  readonly times: number;
  readonly of: number;
  readonly secs: number;
}

/** The result of one model turn. */
export interface Turn extends Repeated {
  points: number;
  readonly failed: boolean;
}

/** The past calls and turns of a task; created at the first call or text that could be repeated. */
export interface LoopMemory {
  seen: PastCall[];
  turns: Turn[];
  /** Whether the current turn is in the list of turns. */
  placed: boolean;
  /** Whether a result arrived since the last proposal: the next call starts a new turn. */
  answered: boolean;
  /** Whether the text of this turn is a repeat, whether there is one, and whether it waits for a call. */
  recurs: boolean;
  spoke: boolean;
  waiting: boolean;
  /** Repeated texts in a row without a call. */
  texts: number;
  /** An observed failing call that exceeded its limit; 0 = none. */
  failingAgain: number;
}

/** The state of the loop control for one task. */
export interface LoopState {
  /** Alike outputs in a row, minus one; and the smallest similarity among them. */
  alike: number;
  likeness: number;
  /** The calls since the last output. */
  between: number;
  refused: RefusedCall[];
  memory: LoopMemory | null;
}

/** Creates the initial state. */
export function initialLoop(): LoopState {
  return { alike: 0, likeness: 1, between: 0, refused: [], memory: null };
}

/** Returns the memory of a state, and creates it if absent. */
export function ensureMemory(state: LoopState): LoopMemory {
  state.memory ??= {
    seen: [],
    turns: [],
    placed: false,
    answered: true,
    recurs: false,
    spoke: false,
    waiting: false,
    texts: 0,
    failingAgain: 0,
  };
  return state.memory;
}
