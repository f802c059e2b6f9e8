/** Money of calls that were given up, and prices that were no numbers, escaped the limit. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, isRefused } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

for (const hasEnded of [false, true]) {
  const when = hasEnded ? 'after' : 'before';
  test(`an abandoned call keeps its maximum cost reserved until its work ends: ${when}`, async () => {
    const clock = simulatedClock();
    const policy = { task: { max_spend_cents: 100 } };
    const gear = createSwitchgear({ clock, log: 'silent', env: {}, policy });
    const work = Promise.withResolvers<string>();
    const call = gear.guard('model', () => work.promise, { async: true, timeoutSecs: 1, maxCost: { usd: 0.9 } });
    const task = gear.startTask();
    const first = assert.rejects(task.run(call));
    await clock.elapse(1_000);
    await first;
    if (hasEnded) work.resolve('late');
    await clock.elapse(0);
    const second = task.run(call);
    work.resolve('late');
    assert.equal(isRefused(await second), !hasEnded);
  });
}

test('a retried task does not carry over the reservations of calls from the first attempt', () => {
  const gear = createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {} });
  const call = gear.guard('model', async () => new Promise(() => {}), { maxCost: { usd: 40 }, timeoutSecs: 0 });
  const task = gear.startTask({ id: 't' });
  void task.run(call);
  gear.halt('t', 'again');
  const again = gear.startTask(gear.retryOptions('t'));
  void again.run(call);
  assert.equal(again.halt, undefined);
  assert.equal(again.snapshot().toolCalls, 2);
});

test('a price that is not a number counts as unknown, and the spend limit applies', () => {
  const prices = {
    price: () => ({ costUsd: Number.NaN, basis: 'broken' }),
    highestPrice: () => ({ costUsd: 60, basis: 'dear' }),
  };
  const gear = createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {}, prices });
  const task = gear.startTask();
  assert.equal(task.observe({ type: 'usage', inputTokens: 1, outputTokens: 1 })?.code, 'token_spend_limit');
});

test('a maximum cost above the largest valid amount is refused and not treated as zero', () => {
  const gear = createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {} });
  const call = gear.guard('model', () => 'ran', { maxCost: { usd: 1e11 } });
  assert.ok(isRefused(gear.startTask().run(call)));
});
