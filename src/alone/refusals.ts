/** The refusals of a breaker: values first, errors and rejected promises on demand, one for a whole open period. */

import type { Counters } from '../core/verdict.ts';
import type { BreakerRefusal, CircuitOpenError } from './breaker-face.ts';

/** The refusal of an open period, with what is made of it on demand. */
export interface Cached {
  readonly generation: number;
  readonly refusal: BreakerRefusal;
  /** Until when it stands without another look at the state. */
  readonly untilMs: number;
  error?: CircuitOpenError;
  promise?: Promise<never>;
}

/** A refusal, for whoever asks. */
export function refusalFor(
  name: string,
  { code, retryAtMs, counters }: { code: string; retryAtMs: number | undefined; counters: Counters },
): BreakerRefusal {
  return Object.freeze({
    refused: true,
    code: code as BreakerRefusal['code'],
    name,
    ...(retryAtMs === undefined ? {} : { retryAtMs }),
    message:
      code === 'circuit_open'
        ? `Error: CircuitBreakerOpen (System Paused). '${name}' keeps failing`
        : `'${name}' runs as many calls at once as it may (${counters.limit})`,
  });
}
