/** How a refusal reaches the caller, and the one that no control spoke: a bug of ours. */

import { readError } from '../../core/classify.ts';
import { explain } from '../../core/messages/explain.ts';
import { type Refusal, type Refused, RefusedError, refused } from '../../core/refusal.ts';
import { countError } from '../journal/journal.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { CallSite } from './call-site.ts';

/** The refused value, thrown where the gear or the breaker is asked to. */
export function deliverRefusal(runtime: Runtime, refusal: Refusal, site: CallSite | undefined): Refused {
  if (runtime.throws || site?.breaker?.settings.gracefulDegradation === false) throw new RefusedError(refusal);
  return refused(refusal, site?.agent ?? '', site?.session ?? '');
}

/** What could not be decided is refused, and counted. */
export function refuseOnError(runtime: Runtime, where: string, name: string, error: unknown): Refusal {
  countError(runtime, where, error);
  return undecidedRefusal(name, readError(error).message);
}

/** The refusal of what nobody can decide on. */
export function undecidedRefusal(name: string, reason: string): Refusal {
  const stop = { kind: 'deny', code: 'internal_error', control: 'guard', counters: {} } as const;
  return explain({ ...stop, reason }, { name, agent: '', atMs: 0 });
}
