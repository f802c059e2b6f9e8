/** What a card says about its task when it is opened: the agent, the time, and the counters with their limits. */

import type { Card, CardCounter } from '../../core/card.ts';
import { listSettingsOf } from '../../core/controls/registry.ts';
import { resolveTask } from '../../core/controls/resolve-settings.ts';
import { formatPath, toCamelCase } from '../../core/names.ts';
import type { Settings, TaskSettings } from '../../core/settings.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { boundControlsOf, type TaskState } from './task.ts';

/** The agent of a card, its time and its counters: those of its task, and that of a halt by another control. */
export function describeCardTask(
  runtime: Runtime,
  task: TaskState | undefined,
  atMs: number,
  stop?: Pick<Card, 'kind' | 'code' | 'counters'>,
): Pick<Card, 'agent' | 'openedWallMs' | 'counts'> {
  const reached = stop?.kind === 'halt' ? describeReached(runtime, stop) : [];
  const counts = task === undefined ? reached : [...reached, ...listCounters(runtime, task, atMs)];
  return {
    agent: task?.agent ?? runtime.agent,
    openedWallMs: runtime.clock.wallMs(),
    ...(counts.length > 0 && { counts }),
  };
}

function listCounters(runtime: Runtime, task: TaskState, atMs: number): readonly CardCounter[] {
  const gauges = boundControlsOf(runtime, task).flatMap(
    ({ control, cell, cellOwner }) => (cellOwner === 'self' && control.gauges?.(cell.state, atMs)) || [],
  );
  return gauges.flatMap(({ name, actual, limit }) => {
    const key = `max_${name}`;
    if (!(toCamelCase(key) in task.limits)) return [];
    const used = Math.round(actual * 100) / 100;
    return [{ name, used, limit, setting: `task.${key}`, source: findSource(runtime, task, key) }];
  });
}

/** The origin of a limit of a task: its policy, or the program or person that gave it another one. */
function findSource({ settings, originOf }: Runtime, { agent, limits, givenLimits, raises }: TaskState, key: string) {
  const name = toCamelCase(key) as keyof TaskSettings;
  const ofPolicy = resolveTask(settings, agent)[name];
  if (givenLimits?.[name] !== undefined && limits[name] !== ofPolicy)
    return raises > 0 ? 'raised by an answer' : 'given to the task';
  return originOf?.(formatPath(['agents', agent, 'task', key])) ?? originOf?.(`task.${key}`) ?? 'default';
}

/** The counter of a halt whose limit is a setting of a control, such as `loop.repeats`, and not of the task. */
function describeReached({ settings, originOf }: Runtime, { code, counters }: Pick<Card, 'code' | 'counters'>) {
  const { actual, limit } = counters;
  if (typeof actual !== 'number' || typeof limit !== 'number') return [];
  const setting = listSettingsOf(code).find(
    (path) => !path.startsWith('task.') && readSetting(settings, path) === limit,
  );
  if (setting === undefined) return [];
  return [{ name: code, used: actual, limit, setting, source: originOf?.(setting) ?? 'default' }];
}

/** The value of a setting by its path in a policy. */
function readSetting(settings: Settings, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => {
    return typeof value === 'object' && value !== null ? Reflect.get(value, toCamelCase(key)) : undefined;
  }, settings);
}
