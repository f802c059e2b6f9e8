/** The settings of a breaker: range and default of each. Their meaning is in declaration.ts. */

import { choice, type FieldsOf, flag, secs, share, texts, wholeNumber } from '../../declare/setting.ts';
import { halfOpenPermitsMax, leaseMs, retryAttemptsMax, windowCallsMax } from '../../limits.ts';
import type { BreakerSettings } from '../../settings.ts';

/** A placeholder: declaration.ts adds the meaning, so that a breaker without a gear does not load the texts. */
const declared = '';

/** The fields of `circuit_breaker`, of a tool, and of an agent's breaker. */
export const breakerFields = {
  mode: choice(declared, 'earlier', 'enforce', 'observe', 'off'),
  trip: choice(declared, 'default', 'consecutive', 'cumulative', 'count_window', 'time_window'),
  failure_threshold: wholeNumber(declared, 5, 'lower'),
  window_calls: wholeNumber(declared, 100, 'default', { max: windowCallsMax }),
  monitor_window_secs: secs(declared, 300, 'default', {
    aliases: ['monitor_window'],
  }),
  failure_rate_threshold: share(declared, undefined, 'lower'),
  rate_window: choice(declared, 'default', 'time', 'calls'),
  minimum_calls: wholeNumber(declared, 10, 'lower', { max: windowCallsMax }),
  slow_call_secs: secs(declared, undefined, 'lower'),
  slow_rate_threshold: share(declared, 1, 'lower'),
  recovery: choice(declared, 'later', 'timed', 'manual'),
  recovery_timeout_secs: secs(declared, 60, 'higher', {
    aliases: ['recovery_timeout', 'reset_timeout_seconds'],
  }),
  recovery_factor: secs(declared, 1, 'higher', { min: 1, max: 100 }),
  recovery_max_secs: secs(declared, 3600, 'higher'),
  recovery_jitter: share(declared, 0, 'lower', { min: 0 }),
  jitter_seed: wholeNumber(declared, 0, 'any', { min: 0, max: 0xffff_ffff }),
  success_threshold: wholeNumber(declared, 2, 'higher'),
  half_open_permits: wholeNumber(declared, 1, 'lower', { max: halfOpenPermitsMax }),
  // Leases are renewed once a second, so a shorter one would expire under a healthy owner.
  lease_secs: secs(declared, leaseMs / 1000, 'default', { min: 2 }),
  lease_expiry: choice(declared, 'earlier', 'failure', 'neutral'),
  max_concurrent: wholeNumber(declared, undefined, 'lower'),
  max_calls: wholeNumber(declared, undefined, 'lower'),
  max_calls_session: wholeNumber(declared, undefined, 'lower'),
  max_queue: wholeNumber(declared, 0, 'lower', { min: 0, max: windowCallsMax }),
  queue_timeout_secs: secs(declared, 30, 'lower'),
  retries: wholeNumber(declared, 0, 'lower', { min: 0, max: retryAttemptsMax }),
  retry_base_secs: secs(declared, 1, 'higher'),
  retry_max_wait_secs: secs(declared, 30, 'any'),
  retry_jitter: choice(declared, 'any', 'full', 'equal', 'none'),
  open_on_retry_after: flag(declared, false, true),
  same_error_only: flag(declared, false, false),
  count_errors: texts(declared, ['ToolError', 'NetworkError', 'RateLimitExceeded'], 'more'),
  ignore_errors: texts(declared, ['InvalidArguments', 'FileNotFound'], 'fewer'),
  failure: choice(declared, 'earlier', 'reported', 'throws-only'),
  timeout_secs: secs(declared, 30, 'lower', {
    aliases: ['timeout'],
    optional: true,
  }),
  enable_health_check: flag(declared, true, 'any'),
  health_check_interval_secs: secs(declared, 30, 'any', { aliases: ['health_check_interval'] }),
  graceful_degradation: flag(declared, true, 'any'),
  scope: choice(declared, 'default', 'agent', 'task', 'session', 'project', 'shared'),
} as const satisfies FieldsOf<BreakerSettings>;
