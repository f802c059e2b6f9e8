/** A decision that is not allow, as it is told: the full one for code, and the five keys for a model. */

import type { Code, Counters } from './verdict.ts';

export interface Refusal {
  readonly code: Code;
  /** The control that refused. */
  readonly control: string;
  /** `halt` ends the task; `deny` refuses one action. */
  readonly kind: 'deny' | 'halt';
  readonly counters: Counters;
  /** What happened, for the model. */
  readonly message: string;
  /** What to do instead, for the model. */
  readonly remediation: string;
  /** What happened, for a person. */
  readonly explanation: string;
  /** The tool, model or worker that was refused, if it was about one. */
  readonly name: string;
  readonly retryAtMs?: number;
  readonly task?: string;
}

/**
 * What a refused call gives back instead of its result: exactly five own keys, made to be handed to the model as it is.
 * The fifth is the code itself, as a flag: `circuit_open: true`, `tool_call_limit: true`, …
 */
export type Refused = {
  readonly error: string;
  readonly agent_name: string;
  readonly session_id: string;
  readonly remediation: string;
} & { readonly [code in Code]?: true };

const refusals = new WeakMap<object, Refusal>();

export function refused(refusal: Refusal, agent: string, session: string): Refused {
  const value = {
    error: refusal.message,
    [refusal.code]: true,
    agent_name: agent,
    session_id: session,
    remediation: refusal.remediation,
  } as Refused;
  refusals.set(value, refusal);
  return value;
}

/** Whether a value is a refusal of ours; a tool's own result of the same shape is not. */
export function isRefused(value: unknown): value is Refused {
  return refusals.has(value as object);
}

/** The full refusal behind a refused value or a `RefusedError`. */
export function refusalOf(value: unknown): Refusal | undefined {
  return value instanceof RefusedError ? value.refusal : refusals.get(value as object);
}

/** Thrown instead of returned where the caller asked for it. It carries a stack only on request. */
export class RefusedError extends Error {
  readonly refusal: Refusal;
  readonly code: Code;

  constructor(refusal: Refusal, withStack = false) {
    const limit = Error.stackTraceLimit;
    if (!withStack) Error.stackTraceLimit = 0;
    const isOpen = refusal.code === 'circuit_open';
    super(isOpen ? `Error: CircuitBreakerOpen (System Paused): ${refusal.message}` : refusal.message);
    Error.stackTraceLimit = limit;
    this.name = isOpen ? 'CircuitBreakerOpen' : 'RefusedError';
    this.refusal = refusal;
    this.code = refusal.code;
  }
}
