/** The tool breakers of PraisonAI under its own names: live views of the default gear of the process. */

import type { BreakerSettings } from '../core/settings.ts';
import { defaultSwitchgear } from '../guard/create-switchgear.ts';
import { settingsOf, tuneBreaker } from '../guard/internal.ts';
import { checkBreaker } from '../policy/check/check-policy.ts';

/** The eight settings of PraisonAI in its own spelling; times are in seconds. */
export interface SeedSettings {
  readonly failure_threshold: number;
  readonly recovery_timeout: number;
  readonly success_threshold: number;
  readonly timeout: number | undefined;
  readonly monitor_window: number;
  readonly enable_health_check: boolean;
  readonly health_check_interval: number;
  readonly graceful_degradation: boolean;
}

/** Settings of a tool's breakers: any of the eight, in snake or camel case, or any other breaker setting. */
export interface CircuitBreakerConfig extends Partial<SeedSettings>, Partial<Omit<BreakerSettings, 'timeoutSecs'>> {
  readonly recoveryTimeout?: number;
  readonly monitorWindow?: number;
  readonly healthCheckInterval?: number;
  readonly timeoutSecs?: number;
}

/** All breakers of one tool as one: the worst state, and the sums of their counts. */
export interface CircuitBreaker {
  /** `tool_` and the tool's name. */
  readonly name: string;
  readonly state: 'CLOSED' | 'OPEN' | 'HALF_OPEN';
  readonly stats: CircuitBreakerStats;
  /** The settings in force. */
  readonly config: SeedSettings;
  reset(): void;
}

/** The counts of a tool's breakers. */
export interface CircuitBreakerStats {
  /** Failures in the current row. */
  readonly failure_count: number;
  /** Successes since the last reset. */
  readonly success_count: number;
  /** Calls since the last reset, refused calls included. */
  readonly total_requests: number;
  readonly rejected_requests: number;
}

/**
 * Returns the breaker of a tool, by `tool_x` or plain `x`. A config tunes every existing and future breaker of the
 * tool;
 * settings absent from the config stay unchanged.
 * @example
 * import { getCircuitBreaker } from 'switchgear/compat';
 *
 * const breaker = getCircuitBreaker('tool_internet_search', { failure_threshold: 3, recovery_timeout: 20 });
 * console.log(breaker.state, breaker.stats.total_requests);
 */
export function getCircuitBreaker(name: string, config?: CircuitBreakerConfig): CircuitBreaker {
  const gear = defaultSwitchgear();
  const tool = toolOf(name);
  const handle = gear.breaker(tool);
  if (config !== undefined) tuneBreaker(gear, tool, checkBreaker(config, `tool_${tool}`));
  return {
    name: `tool_${tool}`,
    get state() {
      return handle.state;
    },
    get stats() {
      const { consecutiveFailures, totalSuccesses, totalRequests, rejectedRequests } = handle.stats;
      return {
        failure_count: consecutiveFailures,
        success_count: totalSuccesses,
        total_requests: totalRequests,
        rejected_requests: rejectedRequests,
      };
    },
    get config() {
      return seedSettings(settingsOf(gear, tool));
    },
    reset: () => handle.reset(),
  };
}

/** Resets every breaker in place: references to the breakers stay live, and their settings stay. */
export function resetAllCircuitBreakers(): void {
  defaultSwitchgear().resetAll();
}

function toolOf(name: string): string {
  return typeof name === 'string' && /^tool_./.test(name) ? name.slice('tool_'.length) : name;
}

function seedSettings(settings: BreakerSettings): SeedSettings {
  return {
    failure_threshold: settings.failureThreshold,
    recovery_timeout: settings.recoveryTimeoutSecs,
    success_threshold: settings.successThreshold,
    timeout: settings.timeoutSecs,
    monitor_window: settings.monitorWindowSecs,
    enable_health_check: settings.enableHealthCheck,
    health_check_interval: settings.healthCheckIntervalSecs,
    graceful_degradation: settings.gracefulDegradation,
  };
}
