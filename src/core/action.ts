/** What an agent proposes, and how it ended. */

export type ActionKind = 'tool' | 'model' | 'delegation' | 'step';

/**
 * One tool call, model call, delegation or chain step; one attempt.
 * It holds features of the arguments, never the arguments: what is here may be written to the journal.
 */
export interface Action {
  /** The host's call id, or a number of our own. */
  readonly id: string | number;
  readonly kind: ActionKind;
  /** The tool, model, worker or ability. */
  readonly name: string;
  readonly agent: string;
  readonly session: string;
  /** The task it belongs to; absent outside any task. */
  readonly task?: string;
  /** Equal for equal name and arguments; 0 where nobody looked. */
  readonly fingerprint: number;
  /** The same without fields that change from call to call (request ids, times); absent where it has none. */
  readonly call?: number;
  /** How often it may fail before its breaker opens, where that is more than usual. */
  readonly chances?: number;
  /** Upper bounds of what it may cost, reserved before it runs. */
  readonly worstMicros: number;
  readonly worstTokens: number;
  /** How long it may be out before its task counts as idle. */
  readonly patienceMs: number;
  /** The model turn it came in, where the host tells turns apart. */
  readonly turnId?: string;
  /** Ids of rules whose condition on this action holds; frequency is judged later, on counts. */
  readonly hits?: readonly RuleHit[];
  /** Who approved it, in the round after a question. */
  readonly approvedBy?: string;
}

/** A rule that looked at an action, and what it saw. */
export interface RuleHit {
  readonly rule: string;
  /** The default reason, in words, with the value seen. */
  readonly seen: string;
}

/** How an allowed action ended. Neutral is neither: cancelled, ignored, denied by somebody else, given back. */
export type Outcome =
  | { readonly kind: 'success' }
  | {
      readonly kind: 'failure';
      /** The class of the failure, e.g. `NetworkError`. */
      readonly error: string;
      /** Equal for failures that read the same once numbers, ids and paths are blanked; 0 where nobody looked. */
      readonly errorFingerprint: number;
      /** When the callee asked to be left alone until (Retry-After). */
      readonly retryAtMs?: number;
    }
  | { readonly kind: 'neutral'; readonly why: 'ignored' | 'denied' | 'cancelled' | 'given-back' | 'lease-expired' };

export const success: Outcome = /* @__PURE__ */ Object.freeze({ kind: 'success' });
export const cancelled: Outcome = /* @__PURE__ */ Object.freeze({ kind: 'neutral', why: 'cancelled' });
export const givenBack: Outcome = /* @__PURE__ */ Object.freeze({ kind: 'neutral', why: 'given-back' });

/** What an action cost in the end. */
export interface Cost {
  readonly micros: number;
  readonly tokens: number;
}

/**
 * What an admission hands out and a settlement gives back.
 * A plain value: it can be stored and settled by another process.
 */
export interface Permit {
  readonly action: Action;
  readonly atMs: number;
  /** The generation of the breaker that admitted it; a result of an earlier one is late. */
  readonly generation: number;
  /** Whether it holds a half-open probe. */
  readonly probe: boolean;
}
