/** The P clauses about breakers by name: tuning, observing and resetting them, on the gear of the process. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { getCircuitBreaker, resetAllCircuitBreakers } from '../../src/compat/index.ts';
import { defaultSwitchgear, refusalOf } from '../../src/index.ts';
import { checkPolicy, listAdvice } from '../../src/policy/index.ts';
import { attempt, came, fail, ok, refusedValue, stage, tell, times, trip } from './guarded-tool-story.ts';

/** A tool on the gear of the process, failing or not as it is told. */
function shared(name: string): (fails: boolean) => unknown {
  return defaultSwitchgear().guard(name, (fails: boolean) => {
    if (fails) throw new Error('down');
    return 'ok';
  });
}

async function failing(tool: (fails: boolean) => unknown, calls: number): Promise<string[]> {
  const seen: string[] = [];
  for (let call = 0; call < calls; call++) seen.push(await came(() => tool(true)));
  return seen;
}

const eight = {
  failure_threshold: 5,
  recovery_timeout: 60,
  success_threshold: 2,
  timeout: 30,
  monitor_window: 300,
  enable_health_check: true,
  health_check_interval: 30,
  graceful_degradation: true,
};

test('P30: each of the eight can be overridden alone, and the others keep their defaults', () => {
  assert.deepEqual({ ...getCircuitBreaker('tool_p30').config }, eight);
  for (const [key, value] of Object.entries(eight)) {
    const other = typeof value === 'boolean' ? !value : value + 3;
    const { config } = getCircuitBreaker(`tool_p30_${key}`, { [key]: other });
    assert.deepEqual({ ...config }, { ...eight, [key]: other }, key);
  }
});

test('P31: a breaker is found or created by name, and an existing one takes new settings', async () => {
  const made = getCircuitBreaker('tool_p31');
  assert.equal(made.state, 'CLOSED');
  const tool = shared('p31');
  assert.deepEqual(await failing(tool, 2), ['failed', 'failed']);
  assert.equal(made.stats.failure_count, 2);
  assert.equal(getCircuitBreaker('tool_p31', { failureThreshold: 3, recoveryTimeout: 45 }).config.failure_threshold, 3);
  assert.deepEqual(await failing(tool, 2), ['failed', 'circuit_open']);
  assert.equal(made.state, 'OPEN');
  assert.equal(made.config.recovery_timeout, 45);
});

test('P32: the key of a tool is tool_ and its name, and reaches the breaker of every agent that uses it', async () => {
  const breaker = getCircuitBreaker('tool_p32', { failure_threshold: 2 });
  const tool = shared('p32');
  for (const agent of ['Researcher', 'Writer']) {
    const { value } = await defaultSwitchgear().task({ agent }, () => failing(tool, 3));
    assert.deepEqual(value, ['failed', 'failed', 'circuit_open'], agent);
  }
  assert.equal(breaker.state, 'OPEN');
  assert.equal(breaker.stats.rejected_requests, 2);
  assert.equal(getCircuitBreaker('p32').stats.rejected_requests, 2);
});

const examples = [
  ['P33: one tool that opens after 3 and waits 30 s', 'my_tool', 3, 30],
  ['P34: a strict external API', 'external_api', 2, 120],
  ['P35: a lenient internal tool', 'internal_db', 10, 30],
] as const;

for (const [what, name, failure_threshold, recovery_timeout] of examples) {
  test(`${what}, by name and in a policy`, async () => {
    const breaker = getCircuitBreaker(`tool_${name}`, { failure_threshold, recovery_timeout });
    const tool = shared(name);
    assert.deepEqual(await failing(tool, failure_threshold), Array(failure_threshold).fill('failed'));
    assert.equal(breaker.state, 'OPEN');
    const { value } = await attempt(() => tool(false));
    assert.match(String(refusalOf(value)?.remediation), new RegExp(`\\(${recovery_timeout}s\\)`));
    const written = stage({ tools: { [`tool_${name}`]: { failure_threshold, recovery_timeout } } }).tool(name);
    await tell(written, [
      ...times(failure_threshold - 1, [fail, 'failed', 'CLOSED']),
      [fail, 'failed', 'OPEN'],
      [recovery_timeout - 0.001, '', 'OPEN'],
      [0.001, '', 'HALF_OPEN'],
    ]);
  });
}

test('P37: the advice on a policy is the tuning guide, and there is none on the defaults', () => {
  const on = (circuit_breaker: object) => listAdvice(checkPolicy({ circuit_breaker }).settings).join('\n');
  assert.equal(on({}), '');
  assert.match(on({ timeout: 'none' }), /give slow tools more time/);
  assert.match(on({ failure_threshold: 21 }), /raise it for flaky tools only/);
  assert.match(on({ recovery_timeout: 1 }), /most outages last longer/);
});

test('P42: the state of a breaker can be read', async () => {
  const breaker = getCircuitBreaker('tool_p42');
  assert.equal(breaker.state, 'CLOSED');
  await failing(shared('p42'), 5);
  assert.equal(breaker.state, 'OPEN');
});

test('P43: failure_count is the number of consecutive failures, and a success resets it', async () => {
  const breaker = getCircuitBreaker('tool_p43');
  const tool = shared('p43');
  await failing(tool, 4);
  assert.equal(breaker.stats.failure_count, 4);
  tool(false);
  assert.equal(breaker.stats.failure_count, 0);
  await failing(tool, 7);
  assert.equal(breaker.stats.failure_count, 5);
});

test('P44: success_count is the successes since the last reset', async () => {
  const breaker = getCircuitBreaker('tool_p44');
  const tool = shared('p44');
  for (let call = 0; call < 3; call++) tool(false);
  assert.equal(breaker.stats.success_count, 3);
  await failing(tool, 5);
  assert.equal(breaker.stats.success_count, 3);
  breaker.reset();
  assert.equal(breaker.stats.success_count, 0);
  tool(false);
  assert.equal(breaker.stats.success_count, 1);
});

test('P45: total_requests counts every call, the rejected too', async () => {
  const tool = shared('p45');
  tool(false);
  await failing(tool, 8);
  assert.equal(getCircuitBreaker('tool_p45').stats.total_requests, 9);
});

test('P46: rejected_requests counts the rejected calls', async () => {
  await failing(shared('p46'), 8);
  assert.equal(getCircuitBreaker('tool_p46').stats.rejected_requests, 3);
});

test('P47: one call resets every breaker, in place', async () => {
  const names = ['p47_a', 'p47_b'];
  const held = names.map((name) => getCircuitBreaker(`tool_${name}`, { failure_threshold: 1 }));
  for (const name of names) await failing(shared(name), 2);
  assert.deepEqual(
    held.map(({ state }) => state),
    ['OPEN', 'OPEN'],
  );
  resetAllCircuitBreakers();
  assert.deepEqual(
    held.map(({ state }) => state),
    ['CLOSED', 'CLOSED'],
  );
  for (const name of names) await failing(shared(name), 1);
  assert.deepEqual(
    held.map(({ state, stats }) => `${state} ${stats.total_requests}`),
    ['OPEN 1', 'OPEN 1'],
    'what was held before is still the breaker, with its settings',
  );
});

test('P48: reset closes one breaker and leaves the others', async () => {
  const one = getCircuitBreaker('tool_p48_a');
  const other = getCircuitBreaker('tool_p48_b');
  await failing(shared('p48_a'), 5);
  await failing(shared('p48_b'), 5);
  one.reset();
  assert.deepEqual([one.state, other.state], ['CLOSED', 'OPEN']);
});

test('P49: after a reset the breaker is CLOSED with zero counts, and the next call runs', async () => {
  const breaker = getCircuitBreaker('tool_p49');
  const tool = shared('p49');
  tool(false);
  assert.deepEqual((await failing(tool, 6)).slice(-2), ['failed', 'circuit_open']);
  breaker.reset();
  assert.equal(breaker.state, 'CLOSED');
  assert.deepEqual(
    { ...breaker.stats },
    { failure_count: 0, success_count: 0, total_requests: 0, rejected_requests: 0 },
  );
  assert.equal(tool(false), 'ok');
});

test('P50: a disabled breaker gives advice, frequent openings an alert, and a refusal the time to retry', async () => {
  const settingsOf = (document: object) => checkPolicy(document).settings;
  assert.match(listAdvice(settingsOf({ circuit_breaker: { mode: 'off' } })).join(), /do not run production without/);
  assert.match(listAdvice(settingsOf({ mode: 'observe' })).join(), /not for production/);
  const guide = readFileSync(new URL('../../docs/guides/tuning.md', import.meta.url), 'utf8');
  assert.match(guide, /Do not switch it off/);
  assert.match(guide, /opens often means that its tool is unreliable/);
  assert.match(guide, /Reset in the teardown of tests/);
  const { tool, clock } = stage();
  const flaky = tool('flaky');
  const value = await refusedValue(flaky);
  assert.equal(refusalOf(value)?.retryAtMs, 60_000);
  await tell(flaky, [
    [60, '', 'HALF_OPEN'],
    [ok, 'ok', 'HALF_OPEN'],
    [ok, 'ok', 'CLOSED'],
  ]);
  for (let opening = 0; opening < 5; opening++) {
    await tell(flaky, [...trip, [60, '', 'HALF_OPEN'], [ok, 'ok', 'HALF_OPEN'], [ok, 'ok', 'CLOSED']]);
  }
  assert.ok(clock.nowMs() < 3_600_000);
  assert.ok(flaky.metrics.alerts.includes('breaker_trip_count'));
});
