/** Delivers refusals to callers, and loop hints to results that a model reads. */

import { readError } from '../../core/classify.ts';
import { explain } from '../../core/messages/explain.ts';
import { copyRefused, type Refusal, type Refused, RefusedError, refused } from '../../core/refusal.ts';
import { countError } from '../journal/journal.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { CallSite } from './call-site.ts';

/**
 * Adds the pending hint of the task to a result. If the result cannot carry it, the result stays unchanged and the
 * hint waits.
 */
export function attachHint({ task, target }: CallSite, value: unknown): unknown {
  const note = task?.loopHint;
  // Do not change the output of a model.
  if (task === undefined || note === undefined || target.kind !== 'tool') return value;
  try {
    const noted = add(value, note);
    if (noted !== value) task.loopHint = undefined;
    return noted;
  } catch {
    return value; // The value cannot be inspected.
  }
}

/**
 * Matches texts that must stay unchanged, because code may parse or compare them: data, and single words or lists of
 * words.
 */
const data = /^\s*(["[{<]|-?\d|---|true\b|false\b|null\b|\S*[^\S\n]*(\n|$))/;

function add(value: unknown, note: string): unknown {
  if (typeof value === 'string') return data.test(value) ? value : `${value}\n\n[switchgear] ${note}`;
  const content = typeof value === 'object' && value !== null && 'content' in value ? value.content : undefined;
  if (!Array.isArray(content) || content.some((part) => typeof part?.type !== 'string')) return value;
  return { ...(value as object), content: [...content, { type: 'text', text: `[switchgear] ${note}` }] };
}

/** Returns the refused value, or throws it if the gear or the breaker settings say so. */
export function deliverRefusal(runtime: Runtime, refusal: Refusal, site: CallSite | undefined): Refused {
  if (runtime.throws || site?.breaker?.settings.gracefulDegradation === false) throw new RefusedError(refusal);
  const { agent, session } = site ?? runtime;
  return refused(refusal, agent, session);
}

/**
 * Makes a refused value awaitable as well, for a caller that may expect a promise: it has the methods of one, which are
 * not enumerable, and awaiting it results in a refused value without them.
 */
export function makeAwaitable(value: Refused): Refused {
  const copy = copyRefused(value);
  const methods: Pick<Promise<Refused>, 'then' | 'catch' | 'finally'> = {
    // biome-ignore lint/suspicious/noThenProperty: the value must be awaitable.
    then: (...callbacks) => Promise.resolve(copy).then(...callbacks),
    catch: (callback) => Promise.resolve(copy).catch(callback),
    finally: (callback) => Promise.resolve(copy).finally(callback),
  };
  for (const [name, method] of Object.entries(methods)) Object.defineProperty(value, name, { value: method });
  return value;
}

/** Refuses a call after an internal error, and counts the error. */
export function refuseOnError(runtime: Runtime, where: string, name: string, error: unknown): Refusal {
  countError(runtime, where, error);
  return undecidedRefusal(name, readError(error).message);
}

/** The refusal of a call that could not be decided. */
export function undecidedRefusal(name: string, reason: string): Refusal {
  const stop = { kind: 'deny', code: 'internal_error', control: 'guard', counters: {} } as const;
  return explain({ ...stop, reason }, { name, agent: '', atMs: 0 });
}
