/** The settings of a breaker: meaning, range and default of each. */

import { choice, type FieldsOf, flag, secs, share, texts, wholeNumber } from '../../declare/setting.ts';
import { halfOpenPermitsMax, leaseMs, windowCallsMax } from '../../limits.ts';
import type { BreakerSettings } from '../../settings.ts';

/** The fields of `circuit_breaker`, of a tool, and of an agent's breaker. */
export const breakerFields = {
  mode: choice(
    '`observe` counts and reports but never refuses; `off` admits every call uncounted.',
    'enforce',
    'observe',
    'off',
  ),
  trip: choice(
    'How failures are counted: in a row, ever, in the last calls, or in the monitor window.',
    'consecutive',
    'cumulative',
    'count_window',
    'time_window',
  ),
  failure_threshold: wholeNumber('Failures that open the circuit.', 5),
  window_calls: wholeNumber('Calls in the count window.', 100, { max: windowCallsMax }),
  monitor_window_secs: secs('The length of the time window, which is also the window of the failure rate.', 300, {
    aliases: ['monitor_window'],
  }),
  failure_rate_threshold: share('Share of failed calls in the window that also opens the circuit.', undefined),
  rate_window: choice('Whether rates are computed over the monitor window or over the last calls.', 'time', 'calls'),
  minimum_calls: wholeNumber('Calls a window must hold before a rate may trip or alert.', 10, { max: windowCallsMax }),
  slow_call_secs: secs('A call longer than this is slow, finished or not.', undefined),
  slow_rate_threshold: share('Share of slow calls in the window that opens the circuit.', 1),
  recovery: choice(
    '`timed` admits a probe after the recovery timeout; `manual` stays open until a reset.',
    'timed',
    'manual',
  ),
  recovery_timeout_secs: secs('Time in open before a probe is admitted.', 60, {
    aliases: ['recovery_timeout', 'reset_timeout_seconds'],
  }),
  recovery_factor: secs('Each opening in a row multiplies the recovery timeout by this.', 1, { min: 1, max: 100 }),
  recovery_max_secs: secs(
    'The longest multiplied recovery timeout; never less than the recovery timeout itself.',
    3600,
  ),
  recovery_jitter: share('Share of the recovery timeout that is spread at random.', 0, { min: 0 }),
  jitter_seed: wholeNumber('Seed of the random spread.', 0, { min: 0, max: 0xffff_ffff }),
  success_threshold: wholeNumber('Successes in half-open that close the circuit.', 2),
  half_open_permits: wholeNumber('Probes at once in half-open.', 1, { max: halfOpenPermitsMax }),
  // Leases are renewed once a second, so a shorter one would expire under a healthy owner.
  lease_secs: secs('How long a probe may go without a sign of life from its process.', leaseMs / 1000, { min: 2 }),
  lease_expiry: choice(
    'Whether a probe whose lease expired counts as a failure of the tool or as neutral.',
    'failure',
    'neutral',
  ),
  max_concurrent: wholeNumber('Calls at once; more are refused, never queued.', undefined),
  open_on_retry_after: flag('Open on the first Retry-After, until the time it names.', false),
  same_error_only: flag('Count only the same error in a row.', false),
  count_errors: texts('Names of errors that count; unlisted errors count too.', [
    'ToolError',
    'NetworkError',
    'RateLimitExceeded',
  ]),
  ignore_errors: texts('Names of errors that never count, also when they are in both lists.', [
    'InvalidArguments',
    'FileNotFound',
  ]),
  timeout_secs: secs('Time a call may take; a call past this time is a failure.', 30, {
    aliases: ['timeout'],
    optional: true,
  }),
  enable_health_check: flag('Run the health check of a tool that has one while its circuit is open.', true),
  health_check_interval_secs: secs('Time between two health checks.', 30, { aliases: ['health_check_interval'] }),
  graceful_degradation: flag('Refusals are returned as values; false throws them.', true),
  scope: choice('Which calls share one breaker.', 'agent', 'task', 'session', 'project', 'shared'),
} as const satisfies FieldsOf<BreakerSettings>;
