/** Changes what a running call has reserved, while the answer of a model grows. */

import type { Permit } from '../../core/action.ts';
import { applyAll, decideGrowth } from '../../core/decide.ts';
import type { Stop } from '../../core/verdict.ts';
import { appendEntry } from '../journal/journal.ts';
import { isObserving, type Runtime } from '../runtime/runtime.ts';
import { halt } from '../tasks/halt.ts';
import type { LiveCall } from './live-call.ts';

/** The amounts that a call has reserved. */
export interface Reservation {
  readonly micros: number;
  readonly tokens: number;
}

/**
 * Reserves other amounts for a running call. Returns the stop of a budget that has too little left; then nothing
 * changes, and a stop that halts has halted the task, unless the amounts are optional.
 */
export function changeReservation(
  runtime: Runtime,
  call: LiveCall,
  { micros, tokens }: Reservation,
  isOptional = false,
): Stop | undefined {
  const { site, permit } = call;
  const { task, panel, budgetSet } = site;
  if (call.settled) return task?.haltStop;
  const { action } = permit;
  const change = { micros: micros - action.worstMicros, tokens: tokens - action.worstTokens };
  if (change.micros === 0 && change.tokens === 0) return undefined;
  const atMs = runtime.clock.nowMs();
  if ((change.micros > 0 || change.tokens > 0) && !isObserving(runtime)) {
    if (task?.haltStop !== undefined) return task.haltStop;
    const verdict = decideGrowth(panel, { atMs, action, ...change });
    const need = { ...action, worstMicros: Math.max(0, change.micros), worstTokens: Math.max(0, change.tokens) };
    const stop = verdict.kind === 'allow' ? budgetSet?.reserve(need, atMs, true) : verdict;
    if (stop !== undefined) {
      // A budget that granted its part before another one refused gets it back.
      applyAll(panel, { type: 'reservation-changed', atMs, permit, micros: 0, tokens: 0 });
      if (stop.kind === 'halt' && task !== undefined && !isOptional) halt(runtime, task, stop, action.name, atMs);
      return stop;
    }
  }
  const event = { type: 'reservation-changed', permit, ...change } as const;
  applyAll(panel, { ...event, atMs });
  appendEntry(runtime, event, site.place, atMs);
  call.permit = withReservation(permit, micros, tokens, atMs);
  return undefined;
}

/** The stop of a budget that has too little left for other amounts of a running call. Changes nothing. */
export function probeReservation(
  runtime: Runtime,
  { site, permit: { action }, settled }: LiveCall,
  { micros, tokens }: Reservation,
): Stop | undefined {
  const change = { micros: micros - action.worstMicros, tokens: tokens - action.worstTokens };
  if (settled || isObserving(runtime) || (change.micros <= 0 && change.tokens <= 0)) return undefined;
  const verdict = decideGrowth(site.panel, { atMs: runtime.clock.nowMs(), action, ...change, isProbe: true });
  return verdict.kind === 'allow' ? undefined : verdict;
}

function withReservation(permit: Permit, worstMicros: number, worstTokens: number, reservedAtMs: number): Permit {
  return { ...permit, action: { ...permit.action, worstMicros, worstTokens }, reservedAtMs };
}
