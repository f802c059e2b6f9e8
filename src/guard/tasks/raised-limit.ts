/** How far a person may raise the limit that a halted task reached. */

import type { CardRaise } from '../../core/card.ts';
import { maxTreeCallsOf } from '../../core/controls/budget/budget.ts';
import { findCode } from '../../core/controls/registry.ts';
import { countMax, raisesMax, secsMax } from '../../core/limits.ts';
import { toSnakeCase } from '../../core/names.ts';
import type { RaisedLimit, TaskSettings } from '../../core/settings.ts';
import type { Stop } from '../../core/verdict.ts';
import type { TaskState } from './task.ts';

type RaisableTask = Pick<TaskState, 'limits' | 'raises' | 'cells'>;

/** The limit that a retry raises, as it is now, and the bounds of its new value; undefined if a retry raises none. */
export function findRaise(
  task: RaisableTask,
  { code, counters }: Stop,
): { readonly name: RaisedLimit; readonly before: number; readonly raise: CardRaise } | undefined {
  // A joint budget belongs to several tasks, so one task cannot raise it.
  const name = counters.scope === undefined ? findCode(code).raises : undefined;
  if (name === undefined) return undefined;
  const before = limitOf(task, name);
  const used = typeof counters.actual === 'number' ? Math.ceil(counters.actual) : before;
  const highest = highestOf(name);
  // One answer of a model can cost more than twice the limit, and stays counted: then the limit is raised just past it.
  const isOvershot = (name === 'maxSpendCents' || name === 'maxTokens') && used >= before * 2;
  const furthest = before * 2 ** Math.max(1, raisesMax - countRaises(task));
  const max = Math.min(isOvershot ? Math.min(used + 1, furthest) : before * 2, highest);
  const min = Math.min(Math.max(used, before) + 1, max);
  return { name, before, raise: { setting: `task.${toSnakeCase(name)}`, suggested: max, min, max } };
}

/** How often the limits of a task were raised. */
export function countRaises({ raises, cells }: RaisableTask): number {
  return Math.max(raises, cells.budget.state.raises ?? 0);
}

/** The limits of a retry: the reached one as the person wants it, within its bounds. */
export function raiseLimits(task: RaisableTask, stop: Stop, wanted: number | undefined): TaskSettings {
  const found = findRaise(task, stop);
  if (found === undefined) return task.limits;
  const { name, raise } = found;
  const isWanted = typeof wanted === 'number' && Number.isFinite(wanted);
  const limit = isWanted ? Math.max(raise.min, Math.min(Math.floor(wanted), raise.max)) : raise.suggested;
  return { ...task.limits, [name]: limit };
}

/** The value of a limit that a task reached. */
function limitOf({ limits, cells }: RaisableTask, limit: RaisedLimit): number {
  const written = limits[limit] ?? (limit === 'maxTreeCalls' ? maxTreeCallsOf(limits) : 1);
  const { raised = {} } = cells.budget.state;
  return Math.max(written, Object.hasOwn(raised, limit) ? raised[limit as keyof typeof raised]! : 0);
}

/** The highest value of a setting. */
function highestOf(limit: RaisedLimit): number {
  if (limit === 'maxTokens') return Number.MAX_SAFE_INTEGER;
  return limit.endsWith('Secs') ? secsMax : countMax;
}
