/** The policy of a simulated run, drawn from its seed, in the words of the model and in those of a policy file. */

import type { BreakerRule } from './breaker-model.ts';
import type { Random } from './random.ts';
import type { TaskLimits } from './task-model.ts';

export interface Draw {
  readonly breaker: BreakerRule;
  readonly limits: TaskLimits;
  readonly scope: 'agent' | 'session' | 'task' | 'shared';
  readonly refusedRepeats: number;
  readonly timeoutMs: number;
  readonly workerFailures: number;
  /** Whether a worker that trips is refused, or ends the root task. */
  readonly onTrip: 'deny' | 'halt';
  /** Calls of `burst` let through per minute. */
  readonly burst: number;
}

export function draw(random: Random): Draw {
  return {
    breaker: {
      threshold: random.whole(2, 5),
      recoveryMs: random.whole(5, 60) * 1000,
      successes: random.whole(1, 2),
      permits: random.whole(1, 2),
      leaseMs: 15_000,
    },
    limits: {
      maxToolCalls: random.whole(6, 40),
      maxSpendCents: random.whole(20, 300),
      maxDurationSecs: random.whole(300, 1800),
      maxIdleSecs: random.whole(30, 120),
      maxDenials: random.whole(3, 6),
    },
    scope: random.pick(['agent', 'session', 'task', 'shared']),
    refusedRepeats: random.whole(2, 3),
    timeoutMs: random.whole(5, 20) * 1000,
    workerFailures: random.whole(1, 3),
    burst: random.whole(1, 4),
    onTrip: random.pick(['deny', 'halt']),
  };
}

/** Another draw for a reload: the kind of cell stays, the numbers change. */
export function redraw(random: Random, before: Draw): Draw {
  const { scope, refusedRepeats, timeoutMs, workerFailures, burst, onTrip } = before;
  return { ...draw(random), scope, refusedRepeats, timeoutMs, workerFailures, burst, onTrip };
}

export function policyOf({ breaker, limits, ...draw }: Draw): Readonly<Record<string, unknown>> {
  return {
    circuit_breaker: {
      failure_threshold: breaker.threshold,
      recovery_timeout_secs: breaker.recoveryMs / 1000,
      success_threshold: breaker.successes,
      half_open_permits: breaker.permits,
      lease_secs: breaker.leaseMs / 1000,
      timeout_secs: draw.timeoutMs / 1000,
      scope: draw.scope,
    },
    task: {
      max_tool_calls: limits.maxToolCalls,
      max_spend_cents: limits.maxSpendCents,
      max_duration_secs: limits.maxDurationSecs,
      max_idle_secs: limits.maxIdleSecs,
      max_denials: limits.maxDenials,
    },
    loop: { refused_repeats: draw.refusedRepeats },
    delegation: { max_failures: draw.workerFailures, on_trip: draw.onTrip },
    approval: { timeout_secs: 60 },
    rules: [
      { target: 'tool:pay', condition: 'ability:pay', action: 'confirm', reason: 'money leaves the house' },
      { target: 'tool:burst', condition: `frequency>${draw.burst}/1m`, action: 'throttle' },
    ],
    journal: { level: 'all' },
  };
}
