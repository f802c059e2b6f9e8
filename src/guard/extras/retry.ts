/** Retries a function with doubling waits. A refusal is never retried. */

import { classifyError, noLists, readError } from '../../core/classify.ts';
import { retryAttemptsMax } from '../../core/limits.ts';
import { isRefused, refusalOf } from '../../core/refusal.ts';
import type { RetryOptions } from '../call-options.ts';
import { delayMs } from '../route/recovery.ts';
import { retryChecks } from '../route/target.ts';
import { sleepUntil } from '../route/waiting.ts';
import { frameOf } from '../runtime/async-context.ts';
import { type Checks, fn, signal as isSignal, options } from '../runtime/option-checks.ts';
import type { Runtime } from '../runtime/runtime.ts';

const checks: Checks = { ...retryChecks, signal: isSignal };

/**
 * Calls the function again after waits of the gear's clock. A refusal is returned at once, and an error that is the
 * caller's fault is not worth a retry, unless `when` says so. An abort during a wait rejects with its reason.
 */
export async function retry<T>(
  runtime: Runtime,
  run: () => T | Promise<T>,
  retryOptions: RetryOptions = {},
): Promise<T> {
  fn('the function to retry', run);
  options('retry options', retryOptions, checks);
  const { when, signal, retries: wanted = 3, baseSecs = 1, maxWaitSecs = 30, jitter = 'full' } = retryOptions;
  const plan = {
    retries: Math.min(wanted, retryAttemptsMax),
    baseMs: 1000 * baseSecs,
    maxWaitMs: 1000 * maxWaitSecs,
    jitter,
  };
  const task = frameOf(runtime)?.task;
  for (let attempt = 0; ; attempt++) {
    try {
      return await run(); // A refused value is a result. The guard inside the function counts each attempt.
    } catch (error) {
      if (attempt >= plan.retries || refusalOf(error) !== undefined || isRefused(error) || signal?.aborted) throw error;
      if (when === undefined ? !isTransient(error) : (await when(error)) === false) throw error;
      const waitMs = delayMs(plan, attempt, readError(error).retryAfterMs);
      if (waitMs === undefined) throw error;
      await sleepUntil(runtime, { task }, runtime.clock.nowMs() + waitMs, signal);
      if (runtime.isDisposed || task?.haltStop !== undefined) throw error;
    }
  }
}

/** Whether an error may pass by itself: the caller is not at fault, and nobody cancelled or denied the work. */
function isTransient(error: unknown): boolean {
  const outcome = classifyError(error, { ...noLists, ignoreErrors: ['InvalidArguments', 'FileNotFound'] }, 0, () => 0);
  return outcome.kind === 'failure';
}
