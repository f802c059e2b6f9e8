/** Delivers refusals to callers, and loop hints to results that a model reads. */

import { readError } from '../../core/classify.ts';
import { explain } from '../../core/messages/explain.ts';
import { type Refusal, type Refused, RefusedError, refused } from '../../core/refusal.ts';
import { countError } from '../journal/journal.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { CallSite } from './call-site.ts';

/** The value, with the note that its task holds; one that cannot carry it stays as it is, and the note waits. */
export function attachHint({ task, target }: CallSite, value: unknown): unknown {
  const note = task?.loopHint;
  if (task === undefined || note === undefined || target.kind !== 'tool') return value; // A model's words are its own.
  try {
    const noted = add(value, note);
    if (noted !== value) task.loopHint = undefined;
    return noted;
  } catch {
    return value; // A value that does not want to be looked at.
  }
}

/** Data as text stays untouched, and so does a single word or a list of them: somebody may parse or compare it. */
const data = /^\s*(["[{<]|-?\d|---|true\b|false\b|null\b|\S*[^\S\n]*(\n|$))/;

function add(value: unknown, note: string): unknown {
  if (typeof value === 'string') return data.test(value) ? value : `${value}\n\n[switchgear] ${note}`;
  const content = typeof value === 'object' && value !== null && 'content' in value ? value.content : undefined;
  if (!Array.isArray(content) || content.some((part) => typeof part?.type !== 'string')) return value;
  return { ...(value as object), content: [...content, { type: 'text', text: `[switchgear] ${note}` }] };
}

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
