/** Explains a refusal in text: cause and advice for the model, cause for the person. Controls declare the texts. */

import type { CardAction } from '../card.ts';
import { findCode } from '../controls/registry.ts';
import type { RefusalContext } from '../declare/refusal-texts.ts';
import type { Refusal } from '../refusal.ts';
import type { Code, Stop } from '../verdict.ts';

/** The subject of a refusal. */
export interface RefusalSubject {
  /** The tool, model or worker. */
  readonly name: string;
  readonly agent: string;
  readonly task?: string;
  readonly atMs: number;
  /** Whether the target is a model. */
  readonly isModel?: boolean;
  /** The last error of the target, as texts show it. */
  readonly lastError?: string | undefined;
}

/** Converts a stop to a refusal. Every number is the effective one. */
export function explain(stop: Stop, subject: RefusalSubject): Refusal {
  const { code, control, kind, counters, retryAtMs } = stop;
  const { name, task, lastError } = subject;
  return {
    code,
    control,
    kind: kind === 'halt' ? kind : 'deny',
    counters,
    ...findCode(code).texts(makeContext(stop, subject)),
    name,
    ...(lastError && { lastError }),
    ...(retryAtMs !== undefined && { retryAtMs }),
    ...(task !== undefined && { task }),
  };
}

function makeContext(
  { kind, control, counters, reason, retryAtMs }: Stop,
  { name, atMs, isModel = false, lastError }: RefusalSubject,
): RefusalContext {
  const { actual = '?', limit = '?' } = counters;
  const soon = retryAtMs === undefined ? undefined : `in ${Math.max(0, Math.ceil((retryAtMs - atMs) / 1000))}s`;
  const reached = `${actual} of ${limit}`;
  return { name, isModel, kind, control, counters, reason, actual, limit, reached, soon, lastError };
}

/** The actions of a person on a halt; the actions of the code stand in the middle. */
export function listCardActions(code: Code): readonly CardAction[] {
  return ['retry_raised', 'pause', ...(findCode(code).actions ?? []), 'replan', 'dismiss'];
}
