import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getCircuitBreaker, resetAllCircuitBreakers } from '../../src/compat/praison.ts';
import { defaultSwitchgear } from '../../src/guard/create-switchgear.ts';

function failing(name: string, calls: number): void {
  const tool = defaultSwitchgear().guard(name, () => {
    throw new Error('down');
  });
  for (let call = 0; call < calls; call++) {
    try {
      tool();
    } catch {
      // The tool's own error; the counts are what is asked about.
    }
  }
}

test('the name of a tool and the key of its breaker select the same breaker', () => {
  failing('names', 3);
  assert.equal(getCircuitBreaker('names').stats.failure_count, 3);
  assert.equal(getCircuitBreaker('tool_names').stats.failure_count, 3);
  assert.equal(getCircuitBreaker('names').name, 'tool_names');
  assert.equal(getCircuitBreaker('tool_').name, 'tool_tool_');
});

test('settings are accepted in snake and camel case, and absent ones stay unchanged', () => {
  getCircuitBreaker('tool_cases', { failure_threshold: 3, timeout: 5 });
  const { config } = getCircuitBreaker('cases', { recoveryTimeout: 12, monitorWindow: 40, healthCheckInterval: 9 });
  assert.deepEqual(config, {
    failure_threshold: 3,
    recovery_timeout: 12,
    success_threshold: 2,
    timeout: 5,
    monitor_window: 40,
    enable_health_check: true,
    health_check_interval: 9,
    graceful_degradation: true,
  });
});

test('an error about invalid settings quotes their names and values, and changes nothing', () => {
  assert.throws(() => getCircuitBreaker('tool_bad', { recovery_timeout: -1 }), /tool_bad\.recovery_timeout.*got -1/);
  assert.throws(() => getCircuitBreaker(''), /name of a breaker/);
  assert.throws(() => getCircuitBreaker(7 as never), /name of a breaker.*got 7/);
  assert.equal(getCircuitBreaker('tool_bad').config.recovery_timeout, 60);
});

test('reading the settings of a tool does not change them', () => {
  const gear = defaultSwitchgear();
  const tool = gear.guard('looked_at', () => ({ error: 'down' }), { breaker: { failureThreshold: 2 } });
  tool();
  const breaker = getCircuitBreaker('tool_looked_at');
  assert.equal(breaker.config.failure_threshold, 2);
  tool();
  assert.equal(breaker.state, 'OPEN');
  assert.equal(breaker.config.failure_threshold, 2);
});

test('breaker references taken before a reset remain valid after the reset', () => {
  const breaker = getCircuitBreaker('tool_live');
  failing('live', 7);
  assert.deepEqual(breaker.stats, { failure_count: 5, success_count: 0, total_requests: 7, rejected_requests: 2 });
  resetAllCircuitBreakers();
  assert.deepEqual(breaker.stats, { failure_count: 0, success_count: 0, total_requests: 0, rejected_requests: 0 });
  failing('live', 1);
  assert.equal(breaker.stats.failure_count, 1);
  breaker.reset();
  assert.equal(breaker.stats.total_requests, 0);
});
