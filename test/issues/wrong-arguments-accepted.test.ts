/** `trip` took a time that is no number, `reload` took no policy, and an internal error named no agent. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, isRefused } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

test('trip rejects a time that is not a number, and keeps the breaker open until the time', () => {
  const clock = simulatedClock();
  const gear = createSwitchgear({ clock, log: 'silent', env: {} });
  const breaker = gear.breaker('tool');
  for (const until of [Number.NaN, 'x', null])
    assert.throws(() => breaker.trip(until as number), {
      code: 'invalid_argument',
      message: /^untilMs must be a finite number, got /,
    });
  assert.equal(breaker.state, 'CLOSED');
  for (const [ms, open] of [
    [5_000, 5_000],
    [90_000, 90_000],
  ] as const) {
    breaker.reset();
    breaker.trip(clock.nowMs() + ms);
    assert.equal(gear.snapshot().breakers[0]!.openUntilMs! - clock.nowMs(), open);
  }
});

test('reload refuses a missing policy and keeps the one in force', () => {
  const gear = createSwitchgear({ policy: { task: { max_tool_calls: 3 } }, log: 'silent', env: {} });
  for (const policy of [undefined, null])
    assert.throws(() => gear.reload(policy as never), {
      code: 'invalid_argument',
      message: /^the policy must be an object, got /,
    });
  assert.equal(gear.settings.task.maxToolCalls, 3);
});

test('a refusal after an internal error names the agent and the session', async () => {
  const gear = createSwitchgear({ agent: 'ann', session: 's9', log: 'silent', env: {} });
  const judge = () => {
    throw new Error('bug');
  };
  gear.addControl({ name: 'broken', scope: 'gear', initial: () => null, judge, apply: (state) => state });
  for (const refused of [
    gear.guard('tool', () => 1)(),
    gear.admit('tool', []).refused,
    await gear.delegate('w', () => 1),
  ]) {
    assert.ok(isRefused(refused));
    assert.deepEqual([refused.agent_name, refused.session_id], ['ann', 's9']);
  }
});
