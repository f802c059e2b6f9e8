/** A call that was out while the settings changed, or a second guard of the same name, counted by other settings. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

async function failing(fails: boolean): Promise<void> {
  if (fails) throw new Error('down');
}

test('a call that is running during a reload settles by the new settings', async () => {
  const clock = simulatedClock(10_000_000);
  const policy = (secs: number) =>
    ({ circuit_breaker: { monitor_window: secs, trip: 'time_window', failure_threshold: 3 } }) as const;
  const gear = createSwitchgear({ clock, log: 'silent', env: {}, policy: policy(6) });
  const work = Promise.withResolvers<void>();
  const tool = gear.guard('tool', (how: 'wait' | boolean) => (how === 'wait' ? work.promise : failing(how)), {
    async: true,
    timeoutSecs: 0,
  });
  const out = tool('wait');
  gear.reload(policy(600));
  await tool(false);
  work.resolve();
  await out;
  for (let call = 0; call < 2; call++) await assert.rejects(tool(true));
  clock.advance(700_000);
  await assert.rejects(tool(true));
  assert.equal(gear.breaker('tool').state, 'CLOSED');
});

test('two guards of one name count by the settings given last', async () => {
  const gear = createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {} });
  const settings = { trip: 'count_window', failureThreshold: 5 } as const;
  const wide = gear.guard('tool', failing, { breaker: { ...settings, windowCalls: 200 } });
  const narrow = gear.guard('tool', failing, { breaker: { ...settings, windowCalls: 10 } });
  await wide(false);
  await narrow(false);
  for (let call = 0; call < 15; call++) await wide(false);
  for (let call = 0; call < 4; call++) await assert.rejects(narrow(true));
  for (let call = 0; call < 50; call++) await narrow(false);
  await assert.rejects(narrow(true));
  assert.equal(gear.breaker('tool').state, 'CLOSED');
});
