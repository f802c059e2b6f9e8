/** A reload reaches the health checks of breakers that are open, also if nobody calls their tools. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear } from '../../../src/index.ts';
import { simulatedClock } from '../../../src/testing/index.ts';

const policyOf = (settings: object) => ({
  circuit_breaker: { recovery_timeout_secs: 86_400, ...settings },
});

async function advance(clock: ReturnType<typeof simulatedClock>, secs: number): Promise<void> {
  for (let sec = 0; sec < secs; sec++) {
    clock.advance(1000);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

for (const [title, before] of Object.entries({
  'switched on': { enable_health_check: false },
  'made more frequent': { enable_health_check: true, health_check_interval_secs: 80_000 },
})) {
  test(`health checks that a reload has ${title} run for a breaker that is open`, async () => {
    const clock = simulatedClock();
    using gear = createSwitchgear({ log: 'silent', env: {}, clock, policy: policyOf(before) as never });
    const handle = gear.breaker('mail');
    let checks = 0;
    handle.checkHealth(() => ++checks > 1);
    handle.trip();
    await advance(clock, 30);
    assert.equal(checks, 0);
    gear.reload(policyOf({ enable_health_check: true, health_check_interval_secs: 10 }) as never);
    await advance(clock, 30);
    assert.ok(checks >= 2, `${checks} checks`);
    assert.equal(handle.state, 'HALF_OPEN');
  });
}

test('health checks that a reload has switched off run no more, and the snapshot says so', async () => {
  const clock = simulatedClock();
  const on = policyOf({ enable_health_check: true, health_check_interval_secs: 10 }) as never;
  using gear = createSwitchgear({ log: 'silent', env: {}, clock, policy: on });
  let checks = 0;
  gear.breaker('mail').checkHealth(() => {
    checks++;
    return false;
  });
  gear.breaker('mail').trip();
  await advance(clock, 25);
  const before = checks;
  assert.ok(before >= 1);
  gear.reload(policyOf({ enable_health_check: false }) as never);
  await advance(clock, 40);
  assert.equal(checks, before);
  assert.equal(gear.snapshot().breakers[0]?.healthCheck, 'off');
});

test('a reload keeps the breaker settings that code gave a tool', () => {
  using gear = createSwitchgear({ log: 'silent', env: {} });
  const tool = gear.guard(
    'tool',
    () => {
      throw new Error('down');
    },
    { breaker: { failureThreshold: 2 } },
  );
  assert.throws(tool);
  gear.reload({ circuit_breaker: { failure_threshold: 9 } });
  assert.throws(tool);
  assert.equal(gear.breaker('tool').state, 'OPEN');
});
