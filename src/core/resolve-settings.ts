/** Resolves the settings of one breaker and of one task: general settings first, the most specific last. */

import { isMatch } from './glob.ts';
import { isOptionalSetting } from './setting-overrides.ts';
import type { BreakerSettings, Settings, TaskSettings } from './settings.ts';

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
  overlay(result, agent === undefined ? undefined : readOwn(settings.agents, agent)?.circuitBreaker);
  if (settings.sameErrorTools.some((pattern) => isMatch(pattern, tool))) result.sameErrorOnly = true;
  for (const pattern in settings.tools) {
    if (pattern !== tool && pattern.includes('*') && isMatch(pattern, tool)) overlay(result, settings.tools[pattern]);
  }
  overlay(result, readOwn(settings.tools, `tool_${tool}`));
  overlay(result, readOwn(settings.tools, tool));
  overlay(result, overrides);
  // A wait above the default maximum raises the maximum.
  if (result.recoveryMaxSecs < result.recoveryTimeoutSecs) result.recoveryMaxSecs = result.recoveryTimeoutSecs;
  return result;
}

/** The limits of one task: the policy's, then its agent's, then its own. */
export function resolveTask(settings: Settings, agent?: string, limits?: Partial<TaskSettings>): TaskSettings {
  const result: Mutable<TaskSettings> = { ...settings.task };
  overlay(result, agent === undefined ? undefined : readOwn(settings.agents, agent)?.task);
  overlay(result, limits);
  return result;
}

/** Overlays settings. Undefined switches an optional setting off and is ignored for a required one. */
function overlay<T extends object>(onto: T, overrides: Partial<T> | undefined): void {
  for (const key in overrides) {
    const value = overrides[key];
    if (value !== undefined || isOptionalSetting(key)) onto[key] = value as T[typeof key];
  }
}

function readOwn<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
