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
  /** The task that a halt ends, by id, or `root`. @default the acting task */
  readonly ends?: string;
  /** The ids of the rules that fired, for an approval to name. */
  readonly rules?: readonly string[];
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

const rank = { allow: 0, wait: 1, ask: 2, deny: 3, halt: 4 } as const;

/** Returns the stricter verdict; of equal verdicts the first, with the later retry time. */
export function stricter(first: Verdict, second: Verdict): Verdict {
  if (first.kind === 'allow') return second;
  if (second.kind === 'allow') return first;
  if (rank[first.kind] !== rank[second.kind]) return rank[first.kind] > rank[second.kind] ? first : second;
  const later = Math.max(first.retryAtMs ?? 0, second.retryAtMs ?? 0);
  return later > (first.retryAtMs ?? 0) ? { ...first, retryAtMs: later } : first;
}
