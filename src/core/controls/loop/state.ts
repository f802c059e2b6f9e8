/** What the loop control remembers of a task: small, bounded, plain. */

import type { RefusedCall } from './refused-call.ts';

/** What a turn repeats, or that it brought news. */
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
  /** False for a refusal of ours: the tool was not reached. */
  readonly reached: boolean;
  /** How often its tool may fail before its breaker opens, where that is more than usual. */
  readonly chances: number;
  readonly atMs: number;
}

/** What is repeated: how often that was seen, in how many calls, and for how long. */
export interface Repeated {
  readonly evidence: LoopEvidence;
  readonly name: string;
  readonly times: number;
  readonly of: number;
  readonly secs: number;
}

/** What one model turn brought. */
export interface Turn extends Repeated {
  points: number;
  readonly failed: boolean;
}

/** Kept from the first call or text that could be repeated. */
export interface LoopMemory {
  seen: PastCall[];
  turns: Turn[];
  /** Whether the turn at hand has its place among the turns. */
  placed: boolean;
  /** Whether a result came since the last call was proposed: the next call is a new turn. */
  answered: boolean;
  /** Whether the words of this turn were written before, whether it has any, and whether they wait for a call. */
  recurs: boolean;
  spoke: boolean;
  waiting: boolean;
  /** Texts in a row without a call that were written before. */
  texts: number;
  /** A failing call that a watched agent made once more than it may; 0 = none. */
  failingAgain: number;
}

export interface LoopState {
  /** Outputs in a row that were alike, less one; and the smallest likeness among them. */
  alike: number;
  likeness: number;
  /** What calls did since the last output. */
  between: number;
  refused: RefusedCall[];
  memory: LoopMemory | null;
}

export function initialLoop(): LoopState {
  return { alike: 0, likeness: 1, between: 0, refused: [], memory: null };
}

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
