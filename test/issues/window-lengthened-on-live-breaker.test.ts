/** A window made longer on a living breaker kept its old bucket numbers: what was in it never grew old. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

test('calls leave the window in time after the window was made longer', async () => {
  const clock = simulatedClock(10_000_000);
  const gear = createSwitchgear({ clock, log: 'silent', env: {}, policy: { circuit_breaker: { monitor_window: 6 } } });
  const tool = gear.guard('search', (fails: boolean) => (fails ? { error: 'down' } : 'ok'));
  const rate = () => gear.breaker('search').metrics().failure_rate;
  tool(false);
  gear.reload({ circuit_breaker: { monitor_window: 600 } });
  for (let call = 0; call < 10; call++) tool(call === 0);
  assert.equal(rate(), 0.1);
  clock.advance(600_000);
  assert.equal(rate(), undefined);
});
