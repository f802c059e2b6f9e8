/** Resolves the settings of one breaker and of one task: general settings first, the most specific last. */

import type { SectionFields } from '../declare/setting.ts';
import { isOptional } from '../declare/setting-overrides.ts';
import { isMatch } from '../glob.ts';
import { toSnakeCase } from '../names.ts';
import type { BreakerSettings, Settings, TaskSettings } from '../settings.ts';
import { breakerFields } from './breaker/fields.ts';
import { taskFields } from './sections.ts';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** The tool and agent of a breaker. */
export interface BreakerQuery {
  readonly tool: string;
  readonly agent?: string | undefined;
  /** Settings from code, as `checkBreaker` returns them. */
  readonly overrides?: Partial<BreakerSettings> | undefined;
}

/**
 * The settings of one tool's breaker: `circuit_breaker`, then the agent's, then `same_error_tools`, then the tool's
 * names from the least specific to the exact one, then the code's. `tool_x` is another name of the tool `x`.
 */
export function resolveBreaker(settings: Settings, { tool, agent, overrides }: BreakerQuery): BreakerSettings {
  const result: Mutable<BreakerSettings> = { ...settings.circuitBreaker };
  const add = (section: Partial<BreakerSettings> | undefined) => overlay(breakerFields, result, section);
  add(agent === undefined ? undefined : readOwn(settings.agents, agent)?.circuitBreaker);
  if (settings.sameErrorTools.some((pattern) => isMatch(pattern, tool))) result.sameErrorOnly = true;
  for (const pattern in settings.tools) {
    if (pattern !== tool && pattern.includes('*') && isMatch(pattern, tool)) add(settings.tools[pattern]);
  }
  add(readOwn(settings.tools, `tool_${tool}`));
  add(readOwn(settings.tools, tool));
  add(overrides);
  // A wait above the default maximum raises the maximum.
  if (result.recoveryMaxSecs < result.recoveryTimeoutSecs) result.recoveryMaxSecs = result.recoveryTimeoutSecs;
  return result;
}

/** The limits of one task: the policy's, then its agent's, then its own. */
export function resolveTask(settings: Settings, agent?: string, limits?: Partial<TaskSettings>): TaskSettings {
  const result: Mutable<TaskSettings> = { ...settings.task };
  overlay(taskFields, result, agent === undefined ? undefined : readOwn(settings.agents, agent)?.task);
  overlay(taskFields, result, limits);
  return result;
}

/** Overlays settings. Undefined switches an optional setting off and is ignored for a required one. */
function overlay<T extends object>(fields: SectionFields, onto: T, overrides: Partial<T> | undefined): void {
  for (const key in overrides) {
    const value = overrides[key];
    if (value !== undefined || isOptional(fields[toSnakeCase(key)])) onto[key] = value as T[typeof key];
  }
}

function readOwn<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
