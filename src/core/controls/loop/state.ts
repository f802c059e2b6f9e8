/** The state of the loop control for one task: small, bounded, plain JSON. */

import type { RefusedCall } from './refused-call.ts';

/** What a turn repeats, or `news`. */
export type LoopEvidence =
  | 'news'
  /** The same call with the same result, at once or in a longer cycle. */
  | 'same_call'
  | 'same_cycle'
  /** The same call that fails again, with nothing changed in between. */
  | 'same_failure'
  /** A thing that is asked for again and again before it is ready. */
  | 'unready'
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
  readonly unready: boolean;
  /** False for a refusal: the tool was not reached. */
  readonly reached: boolean;
  /** Failures of the tool before its breaker opens, if more than the default. */
  readonly chances: number;
  readonly atMs: number;
  /** The longest wait before or during the call: time in which the model was not asked. */
  readonly pauseMs: number;
  /** Its number among the settled calls of the task, and the world in which it was made. */
  readonly at: number;
  readonly world: number;
  /** How often it happened, with nothing new in between; and how long the agent has waited for a change. */
  readonly times: number;
  readonly waitedMs: number;
  /** Whether its answer is too short to say much, and nobody knows what its tool does. */
  readonly inconclusive: boolean;
  readonly numbers?: readonly number[];
  readonly says?: string;
}

/** A repetition: how often, in how many calls, and for how long. */
export interface Repeated {
  readonly evidence: LoopEvidence;
  readonly name: string;
  readonly times: number;
  readonly of: number;
  readonly secs: number;
  readonly says?: string;
}

/** The result of one model turn. */
export interface Turn extends Repeated {
  points: number;
  readonly weak?: number;
  readonly failed: boolean;
}

/** A state that an edit has made, and the world that began with it. */
interface EditedPlace {
  readonly state: number;
  readonly world: number;
}

/** The past calls and turns of a task; created at the first call or text that could be repeated. */
export interface LoopMemory {
  pastCalls: PastCall[];
  turns: Turn[];
  /** Settled calls, and the number of the last one that brought something new. */
  settled: number;
  newsAt: number;
  /** Changes with a new input so far, and the first world that is like the present one. */
  world: number;
  worldFrom: number;
  /** The number of the last call that may have changed something, and of the last one that is known to have done so. */
  changedAt: number;
  /** The last world that began with anything but an edit. */
  commandWorld: number;
  editedAt: number;
  edits: EditedPlace[];
  /** Turns in a row that only repeat calls, and those of them whose repeats are certain. */
  repeating: number;
  repeats: number;
  /** Whether the current turn is among those repeats. */
  isRepeat: boolean;
  /** When the last call or answer of a model ended, the time lost since, and earlier times between calls. */
  idleFromMs: number;
  pauseMs: number;
  gaps: number[];
  /** Whether the current turn is in the list of turns. */
  placed: boolean;
  /** Whether a result arrived since the last proposal: the next call starts a new turn. */
  answered: boolean;
  /** Whether the text of this turn is a repeat, whether there is one, and whether it waits for a call. */
  recurs: boolean;
  spoke: boolean;
  waiting: boolean;
  /** Repeated texts in a row without a call; the last texts as bits, set for a repeated text and for an apology. */
  texts: number;
  recurring: number;
  apologies: number;
  /** An observed call that was made once more than it may be; 0 = none. */
  again: number;
}

/** The state of the loop control for one task. */
export interface LoopState {
  /** Alike outputs in a row, minus one; and the smallest similarity among them. */
  alike: number;
  likeness: number;
  /** How often the last output came since a call brought something new, with others in between. */
  times: number;
  /** The calls since the last output. */
  between: number;
  refused: RefusedCall[];
  memory: LoopMemory | null;
}

/** Creates the initial state. */
export function initialLoop(): LoopState {
  return { alike: 0, likeness: 1, times: 1, between: 0, refused: [], memory: null };
}

/** A stored state; a new one in place of a state of another version, which has other fields. */
export function restoreLoop(stored: LoopState): LoopState {
  const { memory, times } = stored;
  const isCurrent = typeof times === 'number' && (memory === null || typeof memory.commandWorld === 'number');
  return isCurrent ? stored : initialLoop();
}

/** Returns the memory of a state, and creates it if absent. */
export function ensureMemory(state: LoopState, atMs: number): LoopMemory {
  state.memory ??= {
    pastCalls: [],
    turns: [],
    settled: 0,
    newsAt: 0,
    world: 0,
    worldFrom: 0,
    changedAt: 0,
    commandWorld: 0,
    editedAt: 0,
    edits: [],
    repeating: 0,
    repeats: 0,
    isRepeat: false,
    idleFromMs: atMs,
    pauseMs: 0,
    gaps: [],
    placed: false,
    answered: true,
    recurs: false,
    spoke: false,
    waiting: false,
    texts: 0,
    recurring: 0,
    apologies: 0,
    again: 0,
  };
  return state.memory;
}
