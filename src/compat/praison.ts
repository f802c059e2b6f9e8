/** PraisonAI's own names for the breakers of tools: live views of the one gear of the process. */

import type { BreakerSettings } from '../core/settings.ts';
import { defaultSwitchgear } from '../guard/create-switchgear.ts';
import { settingsOf, tuneBreaker } from '../guard/internal.ts';
import { checkBreaker } from '../policy/check/check-policy.ts';

/** The eight settings in their own spelling; seconds are seconds. */
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

/** What a tool's breakers are told: any of the eight, in snake or camel case, or any setting of a breaker. */
export interface CircuitBreakerConfig extends Partial<SeedSettings>, Partial<Omit<BreakerSettings, 'timeoutSecs'>> {
  readonly recoveryTimeout?: number;
  readonly monitorWindow?: number;
  readonly healthCheckInterval?: number;
  readonly timeoutSecs?: number;
}

/** All breakers of one tool as one: the worst state, the sums of their counts. */
export interface CircuitBreaker {
  /** `tool_` and the tool's name. */
  readonly name: string;
  readonly state: 'CLOSED' | 'OPEN' | 'HALF_OPEN';
  readonly stats: CircuitBreakerStats;
  /** The settings in force. */
  readonly config: SeedSettings;
  reset(): void;
}

export interface CircuitBreakerStats {
  /** Failures of the current run. */
  readonly failure_count: number;
  /** Successes since the last reset. */
  readonly success_count: number;
  /** Calls since the last reset, the rejected among them. */
  readonly total_requests: number;
  readonly rejected_requests: number;
}

/**
 * The breaker of a tool, by `tool_x` or plain `x`. A config tunes every breaker of that tool, living and yet to come;
 * what it does not say stays as it was.
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

/** Resets every breaker in place: references to them stay live, and so do their settings. */
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
