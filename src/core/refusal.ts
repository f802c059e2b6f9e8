/** The refusal of an action: the full one for code, and its five keys for a model. */

import type { Code, Counters } from './verdict.ts';

/** The full refusal, for code. */
export interface Refusal {
  readonly code: Code;
  /** The control that refused. */
  readonly control: string;
  /** `halt` ends the task; `deny` refuses one action. */
  readonly kind: 'deny' | 'halt';
  readonly counters: Counters;
  /** The cause, for the model. */
  readonly message: string;
  /** The advice, for the model. */
  readonly remediation: string;
  /** The cause, for a person. */
  readonly explanation: string;
  /** The refused tool, model or worker, if any. */
  readonly name: string;
  /** The last error of a target that keeps failing, cut and without secrets; only in the process that saw the error. */
  readonly lastError?: string;
  /** When the call may pass, in the time of the gear's clock, which is that of `snapshot().atMs`; not a date. */
  readonly retryAtMs?: number;
  readonly task?: string;
}

/**
 * The result of a refused call: exactly five own keys, made to be passed to the model unchanged.
 * The fifth is the code itself, as a flag: `circuit_open: true`, `tool_call_limit: true`, …
 */
export type Refused = {
  readonly error: string;
  readonly agent_name: string;
  readonly session_id: string;
  readonly remediation: string;
} & { readonly [code in Code]?: true };

const refusals = new WeakMap<object, Refusal>();

/** Creates the value that a refused call returns. */
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

/** Makes another refused value of the same refusal. */
export function copyRefused(value: Refused): Refused {
  const copy = { ...value };
  refusals.set(copy, refusals.get(value)!);
  return copy;
}

/** Whether a value is a refusal of Switchgear; a tool's result of the same shape is not. */
export function isRefused(value: unknown): value is Refused {
  return refusals.has(value as object);
}

/** Returns the full refusal of a refused value or a `RefusedError`. */
export function refusalOf(value: unknown): Refusal | undefined {
  return value instanceof RefusedError ? value.refusal : refusals.get(value as object);
}

/** Thrown instead of returned if the caller requested it. It has a stack only on request. */
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
