/** The verdict of a control on an action, ordered by strictness: allow < wait < ask < deny < halt. */

import type { Code } from './controls/registry.ts';

export type { Code };

/** The numbers behind a verdict, e.g. `{ actual: 51, limit: 50 }`. */
export type Counters = Readonly<Record<string, number | string>>;

/** The verdict that lets an action pass. */
export interface Allow {
  readonly kind: 'allow';
}

/** A verdict that is not allow. */
export interface Stop {
  readonly kind: 'wait' | 'ask' | 'deny' | 'halt';
  readonly code: Code;
  /** The control that returned the verdict. */
  readonly control: string;
  readonly counters: Counters;
  /** The reason in words, if a rule, an operator or a joint budget gives one. */
  readonly reason?: string;
  /** When the same action may pass: the end of a wait, or a hint with a deny. */
  readonly retryAtMs?: number;
  /** Whether the stop is a wait for the store's reply, which writes no entry. */
  readonly pending?: true;
  /** Whether the refusal is a wait that nobody could make: it is no denial. */
  readonly waited?: true;
  /** The task that a halt ends, by id, or `root`. @default the acting task */
  readonly ends?: string;
  /** The ids of the rules that fired, for an approval to name. */
  readonly rules?: readonly string[];
  /** The limit that an approval raises, with an `ask` at a limit. */
  readonly raise?: LimitRaise;
}

/** A reached limit that a person may raise. */
export interface LimitRaise {
  /** The setting of the limit: one of a task, or `maxCalls` of a tool. */
  readonly setting: string;
  /** The limit as it was reached. */
  readonly before: number;
  /** The limit after an approval. */
  readonly limit: number;
  /** The tool whose limit it is, if it is that of one tool. */
  readonly tool?: string;
  /** The stop that holds without an approval. */
  readonly otherwise: Stop;
}

/** The verdict of a control on an action. */
export type Verdict = Allow | Stop;

/** The verdict of one control, with its name. */
export interface Vote {
  readonly control: string;
  readonly verdict: Verdict;
}

/** The strictest verdict, with every vote. */
export interface Decision {
  readonly verdict: Verdict;
  readonly votes: readonly Vote[];
}

/** The shared allow, without data. */
export const allow: Allow = Object.freeze({ kind: 'allow' });

/** Creates the halt of a task whose count exceeds its limit. */
export function haltOverLimit(control: string, code: Code, actual: number | string, limit: number): Stop {
  return { kind: 'halt', code, control, counters: { actual, limit } };
}

/** A stop at a limit as a question whether the limit may be doubled. */
export function askToRaise(otherwise: Stop, setting: string, before: number, tool?: string): Stop {
  const raise = { setting, before, limit: before * 2, ...(tool !== undefined && { tool }), otherwise };
  return { ...otherwise, kind: 'ask', raise };
}

const rank = { allow: 0, wait: 1, ask: 2, deny: 3, halt: 4 } as const;

/**
 * Returns the stricter verdict; of equal verdicts the first, with the later retry time. A question about a limit comes
 * before one about the call, which may not run at all.
 */
export function stricter(first: Verdict, second: Verdict): Verdict {
  if (first.kind === 'allow') return second;
  if (second.kind === 'allow') return first;
  if (rank[first.kind] !== rank[second.kind]) return rank[first.kind] > rank[second.kind] ? first : second;
  if (second.raise !== undefined && first.raise === undefined) return second;
  const later = Math.max(first.retryAtMs ?? 0, second.retryAtMs ?? 0);
  return later > (first.retryAtMs ?? 0) ? { ...first, retryAtMs: later } : first;
}
