/** The action that an agent proposes, its outcome, its cost, and its permit. */

import type { WorldEffect } from './controls/loop/effect.ts';
import type { EditMarks } from './controls/loop/past-calls.ts';

/** The kind of an action. */
export type ActionKind = 'tool' | 'model' | 'delegation' | 'step';

/**
 * One tool call, model call, delegation or chain step; one attempt.
 * An action holds features of the arguments, never the arguments, so that it can be written to the journal.
 */
export interface Action {
  /** The host's call id, or a number from the gear. */
  readonly id: string | number;
  readonly kind: ActionKind;
  /** The tool, model, worker or ability. */
  readonly name: string;
  readonly agent: string;
  readonly session: string;
  /** The task of the action; absent outside any task. */
  readonly task?: string;
  /** Equal for equal name and arguments; 0 = not computed. */
  readonly fingerprint: number;
  /** The fingerprint without volatile fields (request ids, times); absent if there are none. */
  readonly call?: number;
  /** What the call does to the world; absent: it may change something. */
  readonly effect?: WorldEffect;
  /** Whether it ends with an error if it finds nothing, and whether its command waits first. */
  readonly searches?: true;
  readonly waits?: true;
  /** Marks of a place in a file with its content before an edit and after. */
  readonly edit?: EditMarks;
  /** Whether the host asked a model since the last call: the time before the call is then no wait. */
  readonly afterModel?: true;
  /** Numbers that controls declared as features of the arguments, by name: equal for equal values. */
  readonly features?: Readonly<Record<string, number>>;
  /** Failures of the tool before its breaker opens, if more than the default. */
  readonly chances?: number;
  /** Upper bounds of the cost, reserved before the action runs. */
  readonly worstMicros: number;
  readonly worstTokens: number;
  /** How long the action may run before its task counts as idle. */
  readonly patienceMs: number;
  /** The model turn of the action, if the host distinguishes turns. */
  readonly turnId?: string;
  /** Rules whose condition holds for this action; frequency rules are judged later, by their counts. */
  readonly hits?: readonly RuleHit[];
  /** Whether frequency rules have counted the action elsewhere, and must not count it again. */
  readonly isCounted?: boolean;
  /** The person who approved the action, in the round after a question. */
  readonly approvedBy?: string;
  /** The rules and controls that the approval is for; others ask again. Absent: the approval is for all of them. */
  readonly approvedFor?: { readonly rules: readonly string[]; readonly controls?: readonly string[] };
}

/** A rule whose condition holds, and the observed value. */
export interface RuleHit {
  readonly rule: string;
  /** The default reason: a text with the observed value. */
  readonly seen: string;
}

/**
 * How an allowed action ended. Neutral is neither success nor failure: cancelled, ignored, denied elsewhere, given
 * back.
 */
export type Outcome =
  | { readonly kind: 'success' }
  | {
      readonly kind: 'failure';
      /** The class of the failure, e.g. `NetworkError`. */
      readonly error: string;
      /** Equal for errors with the same text after numbers, ids and paths are blanked; 0 = not computed. */
      readonly errorFingerprint: number;
      /** The end of the wait that the callee requested (Retry-After). */
      readonly retryAtMs?: number;
    }
  | {
      readonly kind: 'neutral';
      readonly why: 'ignored' | 'unauthorized' | 'denied' | 'cancelled' | 'given-back' | 'lease-expired';
    };

/** The shared outcome of a success. */
export const success: Outcome = /* @__PURE__ */ Object.freeze({ kind: 'success' });
/** The shared outcome of a cancelled action. */
export const cancelled: Outcome = /* @__PURE__ */ Object.freeze({ kind: 'neutral', why: 'cancelled' });
/** The shared outcome of an unused permit. */
export const givenBack: Outcome = /* @__PURE__ */ Object.freeze({ kind: 'neutral', why: 'given-back' });

/** The actual cost of an action. */
export interface Cost {
  readonly micros: number;
  readonly tokens: number;
  /** The price of the model is unknown: the money is what the dearest model of its family costs. */
  readonly guessed?: true;
  /** The host did not report the tokens: they are counted from characters. */
  readonly estimated?: true;
}

/**
 * The permit of an admission, returned at settlement.
 * A permit is a plain value: another process can store and settle it.
 */
export interface Permit {
  readonly action: Action;
  readonly atMs: number;
  /** The generation of the breaker at admission; an outcome of an earlier generation is late. */
  readonly generation: number;
  /** Whether the permit holds a half-open probe. */
  readonly probe: boolean;
  /** When its amounts were last reserved anew. @default atMs */
  readonly reservedAtMs?: number;
}
