/** Retries a function with doubling waits. A refusal is never retried. */

import { retryAttemptsMax } from '../../core/limits.ts';
import { isRefused, refusalOf } from '../../core/refusal.ts';
import { wait } from '../../platform/system-clock.ts';
import type { RetryOptions } from '../call-options.ts';
import { amount, type Checks, fn, signal as isSignal, options, whole } from '../runtime/option-checks.ts';
import type { Runtime } from '../runtime/runtime.ts';

const checks: Checks = {
  retries: (what, value) => whole(what, value, 0),
  baseSecs: amount,
  signal: isSignal,
  when: fn,
};

/** Calls the function again after 1, 2, 4 seconds of the gear's clock; a refusal is returned at once. */
export async function retry<T>(
  { clock }: Runtime,
  run: () => T | Promise<T>,
  retryOptions: RetryOptions = {},
): Promise<T> {
  fn('the function to retry', run);
  options('retry options', retryOptions, checks);
  const { when, signal, retries: wanted = 3, baseSecs = 1 } = retryOptions;
  const retries = Math.min(wanted, retryAttemptsMax);
  for (let attempt = 0; ; attempt++) {
    try {
      return await run(); // A refused value is a result. The guard inside the function counts each attempt.
    } catch (error) {
      const final = attempt >= retries || refusalOf(error) !== undefined || isRefused(error) || signal?.aborted;
      if (final || (when !== undefined && (await when(error)) === false)) throw error;
      await wait(clock, 1000 * baseSecs * 2 ** attempt, signal);
      if (signal?.aborted) throw error;
    }
  }
}
