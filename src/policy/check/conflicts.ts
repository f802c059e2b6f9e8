/** Finds settings that are valid alone but together leave a limit that can never be reached. */

import { resolveBreaker, resolveTask } from '../../core/controls/resolve-settings.ts';
import { comparedPatternsMax, windowCallsMax } from '../../core/limits.ts';
import { formatPath } from '../../core/names.ts';
import type { BreakerSettings, Settings } from '../../core/settings.ts';

/** A conflict: the names of the settings, and the sentence about it. */
export interface Conflict {
  readonly names: readonly string[];
  readonly problem: string;
}

/**
 * Lists every conflict of the general settings, and of each agent and tool for which `isWritten` finds a part of it.
 */
export function findConflicts(settings: Settings, isWritten: (path: string) => boolean): readonly Conflict[] {
  const conflicts: Conflict[] = [];
  const add = (sectionPath: readonly string[], names: readonly string[], problem: string) => {
    const paths = names.map((name) => formatPath([...sectionPath, name]));
    // An inherited conflict is reported at its source only.
    if (sectionPath.length === 1 || paths.some(isWritten)) conflicts.push({ names, problem: `${paths[0]} ${problem}` });
  };
  const checkBreakerPair = (sectionPath: readonly string[], tool: string, agent?: string) => {
    const { trip, failureThreshold, windowCalls, rateWindow, minimumCalls } = resolveBreaker(settings, { tool, agent });
    if (trip === 'count_window' && failureThreshold > windowCalls) {
      const problem = `is ${failureThreshold}, but the window holds ${windowCalls} calls: it could never trip`;
      add(sectionPath, ['failure_threshold', 'window_calls', 'trip'], problem);
    }
    if (rateWindow === 'calls' && minimumCalls > windowCalls) {
      const problem = `is ${minimumCalls}, but the window holds ${windowCalls} calls: no rate could trip`;
      add(sectionPath, ['minimum_calls', 'window_calls', 'rate_window'], problem);
    }
  };
  const checkTaskPair = (sectionPath: readonly string[], agent?: string) => {
    if (settings.prices.onUnknownPrice !== 'token_cap_only' || resolveTask(settings, agent).maxTokens !== undefined)
      return;
    add(
      sectionPath,
      ['max_tokens', 'on_unknown_price'],
      'must be set where prices.on_unknown_price is "token_cap_only"',
    );
  };
  checkBreakerPair(['circuit_breaker'], '');
  checkTaskPair(['task']);
  for (const agent of Object.keys(settings.agents)) {
    checkBreakerPair(['agents', agent, 'circuit_breaker'], '', agent);
    checkTaskPair(['agents', agent, 'task'], agent);
  }
  const tools = Object.keys(settings.tools);
  if (tools.length <= comparedPatternsMax) for (const tool of tools) checkBreakerPair(['tools', tool], tool);
  else if (hasPossibleConflict(settings)) {
    const needed = 'every window_calls must hold every failure_threshold and minimum_calls';
    const problem = `tools has ${tools.length} names: with more than ${comparedPatternsMax}, ${needed}`;
    conflicts.push({ names: ['tools'], problem });
  }
  return conflicts;
}

/** Whether any two values of tools, agents and the general settings could conflict. One pass, whatever the patterns. */
function hasPossibleConflict({ circuitBreaker, agents, tools }: Settings): boolean {
  const overrides: readonly Partial<BreakerSettings>[] = [
    circuitBreaker,
    ...Object.values(agents).map((agent) => agent.circuitBreaker ?? {}),
    ...Object.values(tools),
  ];
  const highest = (name: 'failureThreshold' | 'minimumCalls') =>
    overrides.reduce((most, { [name]: count = 0 }) => Math.max(most, count), 0);
  const least = overrides.reduce((fewest, { windowCalls = fewest }) => Math.min(fewest, windowCalls), windowCallsMax);
  const isCounted = overrides.some(({ trip }) => trip === 'count_window');
  const isRated = overrides.some(({ rateWindow }) => rateWindow === 'calls');
  return (isCounted && highest('failureThreshold') > least) || (isRated && highest('minimumCalls') > least);
}
