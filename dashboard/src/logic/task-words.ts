/** The words of tasks: their state, their usage against limits, and the effect of an order. */

import type { OperatorTask } from '../../../src/operator/board/answers.ts';
import type { TasksAnswer } from './board-answers.ts';

/** The look of each state. */
export const tasksLook = {
  running: { tone: 'good', icon: 'dot' },
  paused: { tone: 'warn', icon: 'pause' },
  halted: { tone: 'bad', icon: 'stop' },
  lost: { tone: 'plain', icon: 'question' },
} as const;

/** Whether the clocks of a task stand still without an order to pause: it waits for the answer of a person. */
export function isWaiting({ id, state }: Pick<OperatorTask, 'id' | 'state'>, pauses: TasksAnswer['pauses']): boolean {
  const isOrdered = pauses.some(({ target }) => target === null || target === id || id.startsWith(`${target}/`));
  return state === 'paused' && !isOrdered;
}

/** One usage against its limit. */
export interface UsageGauge {
  readonly name: string;
  readonly used: number;
  readonly limit?: number;
  readonly unit?: 'cents' | 'ms';
}

/** A limit above this is off. */
const limitsMax = 9_007_199_254_740_991;

/** The usages of a task in the order of the columns; undefined where the store does not know one. */
export function listUsages({ used }: Pick<OperatorTask, 'used'>): readonly (UsageGauge | undefined)[] {
  if (used === undefined) return [undefined, undefined, undefined, undefined, undefined];
  const { toolCalls, maxToolCalls, spendCents, maxSpendCents, tokens, maxTokens } = used;
  const { durationMs, maxDurationSecs, idleMs, maxIdleSecs } = used;
  return [
    { name: 'Calls', used: toolCalls, ...(maxToolCalls < limitsMax && { limit: maxToolCalls }) },
    { name: 'Spend', used: spendCents, limit: maxSpendCents, unit: 'cents' },
    { name: 'Tokens', used: tokens, ...(maxTokens !== undefined && { limit: maxTokens }) },
    durationMs === undefined ? undefined : timeGauge('Duration', durationMs, maxDurationSecs),
    idleMs === undefined ? undefined : timeGauge('Idle', idleMs, maxIdleSecs),
  ];
}

function timeGauge(name: string, used: number, limitSecs: number | undefined): UsageGauge {
  return { name, used, unit: 'ms', ...(limitSecs !== undefined && { limit: limitSecs * 1_000 }) };
}

/** The answer to an order. */
export interface TaskEffect {
  readonly effect:
    | { readonly status: 'ordered'; readonly acknowledged: readonly string[]; readonly silent: readonly string[] }
    | { readonly status: 'ended'; readonly ended: number; readonly surviving: readonly number[] };
  readonly task?: OperatorTask;
}

/** What the store says after an order. */
export function describeTaskEffect(
  id: string,
  order: 'halt' | 'pause' | 'resume',
  { effect, task }: TaskEffect,
): string {
  if (effect.status === 'ended') {
    const left = effect.surviving.length === 0 ? '' : ` These still run: ${effect.surviving.join(', ')}.`;
    return `${id} was lost; ${effect.ended} of its processes were ended.${left}`;
  }
  const state = task?.state ?? (order === 'halt' ? 'over' : 'gone');
  if (effect.acknowledged.length > 0) return `${id} is now ${state}.`;
  return effect.silent.length > 0
    ? `The order stands, but the process of ${id} has not acknowledged it yet; it is ${state}.`
    : `The order stands. ${id} is ${state}.`;
}
