/** The default breaker settings: 5 failures in a row open it, 60 s until a probe, 2 successful probes close it. */

import type { BreakerSettings } from '../../settings.ts';

/** The default breaker settings. */
export const defaultBreaker: BreakerSettings = Object.freeze({
  mode: 'enforce',
  trip: 'consecutive',
  failureThreshold: 5,
  windowCalls: 100,
  monitorWindowSecs: 300,
  rateWindow: 'time',
  minimumCalls: 10,
  slowRateThreshold: 1,
  recovery: 'timed',
  recoveryTimeoutSecs: 60,
  recoveryFactor: 1,
  recoveryMaxSecs: 3_600,
  recoveryJitter: 0,
  jitterSeed: 0,
  successThreshold: 2,
  halfOpenPermits: 1,
  leaseSecs: 15,
  leaseExpiry: 'failure',
  openOnRetryAfter: false,
  sameErrorOnly: false,
  countErrors: ['ToolError', 'NetworkError', 'RateLimitExceeded'],
  ignoreErrors: ['InvalidArguments', 'FileNotFound'],
  timeoutSecs: 30,
  enableHealthCheck: true,
  healthCheckIntervalSecs: 30,
  gracefulDegradation: true,
  scope: 'agent',
});
