/** The settings of a breaker: range and default of each. Their meaning is in declaration.ts. */

import { choice, type FieldsOf, flag, secs, share, texts, wholeNumber } from '../../declare/setting.ts';
import { halfOpenPermitsMax, leaseMs, windowCallsMax } from '../../limits.ts';
import type { BreakerSettings } from '../../settings.ts';

/** A placeholder: declaration.ts adds the meaning, so that a breaker without a gear does not load the texts. */
const declared = '';

/** The fields of `circuit_breaker`, of a tool, and of an agent's breaker. */
export const breakerFields = {
  mode: choice(declared, 'enforce', 'observe', 'off'),
  trip: choice(declared, 'consecutive', 'cumulative', 'count_window', 'time_window'),
  failure_threshold: wholeNumber(declared, 5),
  window_calls: wholeNumber(declared, 100, { max: windowCallsMax }),
  monitor_window_secs: secs(declared, 300, {
    aliases: ['monitor_window'],
  }),
  failure_rate_threshold: share(declared, undefined),
  rate_window: choice(declared, 'time', 'calls'),
  minimum_calls: wholeNumber(declared, 10, { max: windowCallsMax }),
  slow_call_secs: secs(declared, undefined),
  slow_rate_threshold: share(declared, 1),
  recovery: choice(declared, 'timed', 'manual'),
  recovery_timeout_secs: secs(declared, 60, {
    aliases: ['recovery_timeout', 'reset_timeout_seconds'],
  }),
  recovery_factor: secs(declared, 1, { min: 1, max: 100 }),
  recovery_max_secs: secs(declared, 3600),
  recovery_jitter: share(declared, 0, { min: 0 }),
  jitter_seed: wholeNumber(declared, 0, { min: 0, max: 0xffff_ffff }),
  success_threshold: wholeNumber(declared, 2),
  half_open_permits: wholeNumber(declared, 1, { max: halfOpenPermitsMax }),
  // Leases are renewed once a second, so a shorter one would expire under a healthy owner.
  lease_secs: secs(declared, leaseMs / 1000, { min: 2 }),
  lease_expiry: choice(declared, 'failure', 'neutral'),
  max_concurrent: wholeNumber(declared, undefined),
  open_on_retry_after: flag(declared, false),
  same_error_only: flag(declared, false),
  count_errors: texts(declared, ['ToolError', 'NetworkError', 'RateLimitExceeded']),
  ignore_errors: texts(declared, ['InvalidArguments', 'FileNotFound']),
  timeout_secs: secs(declared, 30, {
    aliases: ['timeout'],
    optional: true,
  }),
  enable_health_check: flag(declared, true),
  health_check_interval_secs: secs(declared, 30, { aliases: ['health_check_interval'] }),
  graceful_degradation: flag(declared, true),
  scope: choice(declared, 'agent', 'task', 'session', 'project', 'shared'),
} as const satisfies FieldsOf<BreakerSettings>;
