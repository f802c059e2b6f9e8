/** Declares the breaker. The engine binds it: a breaker has its own key and may be shared between processes. */

import type { ControlDeclaration } from '../../declare/control-declaration.ts';
import { nextTry, type RefusalContext, type RefusalTexts } from '../../declare/refusal-texts.ts';
import { documentFields } from '../../declare/setting.ts';
import type { Counters } from '../../verdict.ts';
import { breakerFields } from './fields.ts';
import { askedToWait, handTrip } from './phases.ts';

/** The meaning of each setting. */
const fieldDocs: Readonly<Record<keyof typeof breakerFields, string>> = {
  mode: '`observe` counts and reports but never refuses; `off` admits every call uncounted.',
  trip: 'How failures are counted: in a row, ever, in the last calls, or in the monitor window.',
  failure_threshold: 'Failures that open the circuit.',
  window_calls: 'Calls in the count window.',
  monitor_window_secs: 'The length of the time window, which is also the window of the failure rate.',
  failure_rate_threshold: 'Share of failed calls in the window that also opens the circuit.',
  rate_window: 'Whether rates are computed over the monitor window or over the last calls.',
  minimum_calls: 'Calls a window must hold before a rate may trip or alert.',
  slow_call_secs: 'A call longer than this is slow, finished or not.',
  slow_rate_threshold: 'Share of slow calls in the window that opens the circuit.',
  recovery: '`timed` admits a probe after the recovery timeout; `manual` stays open until a reset.',
  recovery_timeout_secs: 'Time in open before a probe is admitted.',
  recovery_factor: 'Each opening in a row multiplies the recovery timeout by this.',
  recovery_max_secs: 'The longest multiplied recovery timeout; never less than the recovery timeout itself.',
  recovery_jitter: 'Share of the recovery timeout that is spread at random.',
  jitter_seed: 'Seed of the random spread.',
  success_threshold: 'Successes in half-open that close the circuit.',
  half_open_permits: 'Probes at once in half-open.',
  lease_secs: 'How long a probe may go without a sign of life from its process.',
  lease_expiry: 'Whether a probe whose lease expired counts as a failure of the tool or as neutral.',
  max_calls: 'Calls of one tool that a task may make; more are refused.',
  max_calls_session: 'Calls of one tool that all tasks of a session may make; more are refused.',
  max_concurrent: 'Calls at once; more wait in the queue, or are refused.',
  max_queue: 'Calls that may wait for one of `max_concurrent` to end, in this process; 0 = none, they are refused.',
  queue_timeout_secs: 'Time a call may wait in the queue.',
  retries:
    'Attempts after the first, if a call fails. Only for tools that may run twice, and functions that are async.',
  retry_base_secs: 'Time before the first retry; each further wait doubles.',
  retry_max_wait_secs: 'The longest wait before a retry; a call whose callee asks for a longer one is not retried.',
  retry_jitter: '`full` waits a random time up to the whole, `equal` from half to the whole, `none` the whole.',
  open_on_retry_after: 'Open on the first Retry-After, until the time it names.',
  same_error_only: 'Count only the same error in a row.',
  count_errors: 'Names of errors that count; unlisted errors count too.',
  ignore_errors: 'Names of errors that never count, also when they are in both lists.',
  failure:
    '`reported` also reads what a call returns (`isError`, `{ ok: false }`, `{ error }`, an HTTP status); ' +
    '`throws-only` does not.',
  timeout_secs:
    'Time a call may take; a call past this time is a failure. A model has one only if `[tools]` or the code sets it.',
  enable_health_check: 'Run the health check of a tool that has one while its circuit is open.',
  health_check_interval_secs: 'Time between two health checks.',
  graceful_degradation: 'Refusals are returned as values; false throws them.',
  scope: 'Which calls share one breaker.',
};

/** What a target did, by the cause of the opening. */
function describeCause({ cause, failures }: Counters, limit: unknown): string {
  switch (cause) {
    case handTrip:
      return 'was opened by hand';
    case askedToWait:
      return 'asked to wait';
    case 'slow calls':
    case 'a slow probe':
      return 'is too slow';
    case 'the failure rate':
      return 'fails too often';
    default:
      return `keeps failing (${failures} of ${limit})`;
  }
}

export const breakerDeclaration = {
  name: 'breaker',
  summary: {
    stops: 'a tool, model or service that keeps failing',
    byDefault: 'calls to a tool that failed 5 times in a row; a probe call is allowed after 60 s',
    statePer: 'tool, model or service',
  },
  section: {
    name: 'circuit_breaker',
    doc: 'When the breaker of a failing tool opens, and when it lets probes through again.',
    fields: documentFields(breakerFields, fieldDocs),
  },
  codes: {
    circuit_open: {
      kind: 'deny',
      means: 'the tool failed too often, or an operator holds the breaker open',
      remedy: 'use another tool until `retryAtMs`; check the tool',
      settings: ['circuit_breaker.failure_threshold', 'circuit_breaker.recovery_timeout_secs'],
      texts(context: RefusalContext): RefusalTexts {
        const { name, isModel, counters, limit, lastError } = context;
        const { held, wait_secs: secs } = counters;
        const wait = secs === 'manual' ? 'manual reset' : `${secs ?? '?'}s`;
        return {
          message: `${isModel ? 'Model' : 'Tool'} '${name}' circuit breaker open - too many recent failures`,
          remediation: held
            ? `An operator has paused this ${isModel ? 'model' : 'tool'}. Use another way, or ask the user.`
            : isModel
              ? `The provider keeps failing: wait for recovery_timeout (${wait}) or use another model.`
              : `Wait for recovery_timeout (${wait}) or investigate recent tool failures.`,
          explanation: held
            ? `${name} is held open by hand`
            : `${name} ${describeCause(counters, limit)}: refused, next try ${nextTry(context)}${
                lastError ? `; last error: ${lastError}` : ''
              }`,
        };
      },
    },
    concurrency_limit: {
      kind: 'deny',
      means: 'the allowed number of calls is running',
      remedy: 'wait for one to end',
      settings: ['circuit_breaker.max_concurrent', 'circuit_breaker.max_queue'],
      texts({ name, isModel, actual, limit, reached, counters }: RefusalContext): RefusalTexts {
        const { queued, waited_secs: waitedSecs } = counters;
        const kind = isModel ? 'Model' : 'Tool';
        const queue =
          queued !== undefined
            ? `, and ${queued} more wait (max_queue)`
            : waitedSecs !== undefined
              ? `, and none ended within ${waitedSecs} s (queue_timeout_secs)`
              : '';
        return {
          message: `${kind} '${name}' already runs ${actual} calls at once (limit ${limit})${queue}`,
          remediation: 'Wait for a running call to end, then try again.',
          explanation: `${name}: calls at once: ${reached}${queue}`,
        };
      },
    },
  },
} as const satisfies ControlDeclaration;
