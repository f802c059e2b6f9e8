/** Refusals that no control spoke: a wait nobody can sit out, a question nobody can put, a bug of ours. */

import { readError } from '../core/classify.ts';
import type { Refusal } from '../core/refusal.ts';
import type { Stop } from '../core/verdict.ts';

/** A wait that is too long to sleep, or a question that cannot be put, is a refusal. */
export function finalStop(stop: Stop): Stop {
  if (stop.kind === 'ask') return { ...stop, kind: 'deny', code: 'rule_unanswered' };
  return stop.kind === 'wait' ? { ...stop, kind: 'deny' } : stop;
}

export function brokenRefusal(name: string, error: unknown): Refusal {
  return {
    code: 'internal_error',
    control: 'guard',
    kind: 'deny',
    counters: {},
    message: `'${name}' was refused because the safety layer could not decide`,
    remediation: 'Ask the user. This is not the fault of the call.',
    explanation: `internal error while deciding on ${name}: ${readError(error).message}`,
    name,
  };
}
