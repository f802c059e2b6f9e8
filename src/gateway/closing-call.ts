/** The closing answer of a task whose money is used up: one, without tools, paid by a reserve of its limit. */

import { microsPerCent } from '../core/controls/budget/budget.ts';
import { unlimited } from '../core/declare/setting.ts';
import { nameLengthMax } from '../core/limits.ts';
import type { Refusal } from '../core/refusal.ts';
import type { TaskSettings } from '../core/settings.ts';
import { applyAndCheck, type PricedUsage, priceUsage, type Runtime, type TaskState } from '../guard/internal.ts';
import type { CallMeter } from './call-meter.ts';
import { clampOutput, writeMember } from './clamp-output.ts';
import { closingTokensMin } from './limits.ts';
import type { ModelCall } from './model-call.ts';

/** The limits of a task without the reserve for its closing answer. */
export function withoutReserve(runtime: Runtime, limits: Partial<TaskSettings>): Partial<TaskSettings> {
  const { closingReserveCents = 0 } = runtime.settings.gateway;
  const { maxSpendCents = runtime.settings.task.maxSpendCents } = limits;
  if (closingReserveCents === 0 || maxSpendCents >= unlimited) return limits;
  return { ...limits, maxSpendCents: Math.max(0, maxSpendCents - closingReserveCents) };
}

const closed = new WeakSet<TaskState>();

/**
 * The body of the closing call of a task, and how long its answer may be; `text` if the reserve is too small for a
 * call, so that the gateway answers itself. Undefined if the task has no closing answer, or had it.
 */
export function takeClosing(
  runtime: Runtime,
  { task, facts, shape, plain }: ModelCall,
  meter: CallMeter,
  { counters, code, kind }: Refusal,
): { readonly body: Buffer; readonly tokens: number } | 'text' | undefined {
  const { closingReserveCents = 0 } = runtime.settings.gateway;
  const isLimit = kind === 'halt' && code === 'token_spend_limit' && counters.scope === undefined;
  // A request without tools is a side request of the client.
  if (closingReserveCents === 0 || !isLimit || !facts.hasTools || closed.has(task)) return undefined;
  closed.add(task);
  const empty = meter.price(0).micros;
  const perToken = (meter.price(1_000).micros - empty) / 1_000;
  const left = closingReserveCents * microsPerCent - empty;
  const tokens = Math.min(meter.longestOutput, Math.floor(left / Math.max(perToken, 1e-6)));
  if (tokens < Math.max(closingTokensMin, facts.minOutput ?? 0)) return 'text';
  const limited = clampOutput(plain.toString(), facts, tokens);
  const { noTools } = shape;
  const body = limited && writeMember(limited, noTools.path, JSON.stringify(noTools.value));
  return body === undefined ? 'text' : { body: Buffer.from(body), tokens };
}

/** Counts the closing call of a task that has been halted. */
export function chargeClosing(runtime: Runtime, task: TaskState, usage: PricedUsage): void {
  const atMs = runtime.clock.nowMs();
  const model = (usage.model ?? '').slice(0, nameLengthMax);
  const cost = priceUsage(runtime, usage, { task: task.id, session: task.session, agent: task.agent }, atMs);
  applyAndCheck(runtime, task, { type: 'usage-observed', model, cost, basis: model }, atMs);
}
