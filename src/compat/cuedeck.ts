/** The reference breaker of CueDeck: a threshold, a recovery time in seconds, one probe, and two kinds of error. */

import { RefusedError } from '../core/refusal.ts';
import type { SwitchgearOptions } from '../guard/api.ts';
import { createSwitchgear } from '../guard/create-switchgear.ts';
import { errorMessage } from '../guard/internal.ts';

/** The operation ran and failed; `cause` is the error it threw. A rejected call throws a `RefusedError` instead. */
export class OperationFailed extends Error {
  constructor(cause: unknown) {
    super(`the operation failed: ${errorMessage(cause)}`, { cause });
    this.name = 'OperationFailed';
  }
}

/** A breaker around one operation. */
export interface OperationBreaker {
  readonly state: 'CLOSED' | 'OPEN' | 'HALF_OPEN';
  /** Failures in a row. */
  readonly failures: number;
  /** Runs an operation outside any lock. Its return value passes unchanged, a promise as a promise. */
  call<T>(operation: () => T): T;
  reset(): void;
}

/**
 * Creates a breaker for any operation, with the error lists of CueDeck.
 * @example
 * import { createCircuitBreaker } from 'switchgear/compat';
 *
 * const breaker = createCircuitBreaker(5, 30);
 * const response = await breaker.call(() => fetch('https://example.com'));
 */
export function createCircuitBreaker(
  threshold: number,
  timeoutSeconds: number,
  options: Pick<SwitchgearOptions, 'clock' | 'log'> & { readonly name?: string } = {},
): OperationBreaker {
  const { name = 'operation', ...more } = options;
  const breakerPolicy = {
    failure_threshold: threshold,
    recovery_timeout_secs: timeoutSeconds,
    timeout_secs: 'none',
  } as const;
  // The environment does not override settings made in code.
  const gear = createSwitchgear({ ...more, env: {}, policy: { preset: 'cuedeck', circuit_breaker: breakerPolicy } });
  const handle = gear.breaker(name);
  return {
    get state() {
      return handle.state;
    },
    get failures() {
      return handle.stats.consecutiveFailures;
    },
    call<T>(operation: () => T): T {
      const admission = gear.admit(name, []);
      // Thrown synchronously to every caller: before the call it is unknown whether the operation returns a promise.
      if (admission.refused !== undefined) throw new RefusedError(admission.refusal);
      const { settle } = admission;
      const fail = (error: unknown): never => {
        settle({ error });
        throw new OperationFailed(error);
      };
      let result: T;
      try {
        result = operation();
      } catch (error) {
        return fail(error);
      }
      const end = (value: unknown) => {
        settle({ value });
        return value;
      };
      return (result instanceof Promise ? result.then(end, fail) : end(result)) as T;
    },
    reset: () => handle.reset(),
  };
}
