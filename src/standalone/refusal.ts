/** The refusals of a breaker: values, with errors and rejected promises made on demand, once per open period. */

import { fingerprintLengthMax } from '../core/limits.ts';
import type { Stop } from '../core/verdict.ts';
import { type BreakerRefusal, CircuitOpenError } from './api.ts';
import type { ResolvedOptions } from './options.ts';

/** The refusal of an open period, with the error and the promise made from it on demand. */
export interface CachedRefusal {
  readonly refusal: BreakerRefusal;
  /** Until when the refusal is valid without another look at the state. */
  readonly untilMs: number;
  error: CircuitOpenError | undefined;
  promise: Promise<never> | undefined;
}

/** Creates a refusal. With `isStanding` the refusal is valid until its retry time, whatever happens. */
export function makeRefusal(name: string, { code, retryAtMs, counters }: Stop, isStanding: boolean): CachedRefusal {
  const refusal: BreakerRefusal = Object.freeze({
    refused: true,
    code: code as BreakerRefusal['code'],
    name,
    ...(retryAtMs !== undefined && { retryAtMs }),
    message:
      code === 'circuit_open'
        ? `Error: CircuitBreakerOpen (System Paused). '${name}' keeps failing`
        : `'${name}' is at its limit of concurrent calls (${counters.limit})`,
  });
  const untilMs = isStanding ? (retryAtMs ?? Number.POSITIVE_INFINITY) : 0;
  return { refusal, untilMs, error: undefined, promise: undefined };
}

/** Refuses a call in the style of the options. */
export function deliverBreakerRefusal(cached: CachedRefusal, { refusalStyle: refuses }: ResolvedOptions): unknown {
  if (refuses === 'return') return cached.refusal;
  cached.error ??= new CircuitOpenError(cached.refusal);
  if (refuses === 'throw') throw cached.error;
  if (cached.promise === undefined) {
    cached.promise = Promise.reject(cached.error);
    // Every refused caller shares the promise: a refusal that nobody awaits must not crash the process.
    cached.promise.catch(() => {});
  }
  return cached.promise;
}

/**
 * Hashes the name and message of an error, with quoted parts, numbers, paths and ids blanked. Never returns 0, which
 * means "no fingerprint".
 */
export function fingerprintError(name: string, message: string): number {
  const parts = /(["'`]).{0,200}?\1|[\w.\\/-]+/gs;
  const text = message.slice(0, fingerprintLengthMax).replace(parts, (part) => (/["'`\d\\/]/.test(part) ? '#' : part));
  let hash = 0;
  for (const letter of name + text) hash = Math.imul(hash ^ letter.codePointAt(0)!, 0x01000193);
  return hash || 1;
}
