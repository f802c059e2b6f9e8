/** Tries again after 1, 2, 4 seconds. A refusal is never retried: it is an answer. */

import { retryAttemptsMax } from '../core/limits.ts';
import { isRefused, refusalOf } from '../core/refusal.ts';
import type { Clock } from '../ports/clock.ts';
import * as check from './arguments.ts';
import type { RetryOptions } from './front-door.ts';

const optionNames = ['retries', 'baseSecs', 'signal', 'when'];

export async function retry<T>(clock: Clock, run: () => T | Promise<T>, options: RetryOptions): Promise<T> {
  check.fn('the function to retry', run);
  check.options('retry options', options, optionNames);
  const retries = Math.min(check.whole('retries', options.retries ?? 3, 0), retryAttemptsMax);
  const { when, signal } = options;
  const baseMs = check.amount('baseSecs', options.baseSecs ?? 1) * 1000;
  if (when !== undefined) check.fn('when', when);
  if (signal !== undefined) check.methods('signal', signal, ['addEventListener', 'removeEventListener']);
  for (let attempt = 0; ; attempt++) {
    try {
      return await run(); // A refused value comes back as it is: whoever runs counts each attempt by its own guard.
    } catch (error) {
      const final = attempt >= retries || refusalOf(error) !== undefined || isRefused(error) || signal?.aborted;
      if (final || when?.(error) === false) throw error;
      await wait(clock, baseMs * 2 ** attempt, signal);
      if (signal?.aborted) throw error;
    }
  }
}

function wait(clock: Clock, delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(delayMs, done, true);
    signal?.addEventListener('abort', done, { once: true });
  });
}
