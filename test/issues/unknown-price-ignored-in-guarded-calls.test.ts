/** `on_unknown_price = "halt"` held for observed usage only, not for the `usage` of a guarded call. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

const usage = { model: 'nobody-knows', inputTokens: 1, outputTokens: 1 };

function haltingGear() {
  const clock = simulatedClock();
  const policy = { prices: { on_unknown_price: 'halt' } } as const;
  return { clock, gear: createSwitchgear({ clock, policy, log: 'silent', env: {} }) };
}

test('an unknown price halts the task, observed or read from the result of a guarded call', async () => {
  const { gear } = haltingGear();
  const model = gear.guard('model', async () => 'text', { kind: 'model', usage: () => usage });
  const observed = await gear.task((task) => void task.observe({ type: 'usage', ...usage }));
  const guarded = await gear.task(async () => void (await model()));
  for (const result of [observed, guarded]) {
    assert.ok(result.status === 'halted');
    const { code, counters } = result.halt;
    assert.deepEqual(
      [code, counters],
      ['token_spend_limit', { actual: 'unknown', limit: 5_000, model: 'nobody-knows' }],
    );
  }
});

test('an unknown price halts the task also when the call ended after its timeout', async () => {
  const { gear, clock } = haltingGear();
  const work = Promise.withResolvers<string>();
  const model = gear.guard('model', () => work.promise, { async: true, timeoutSecs: 1, usage: () => usage });
  const task = gear.startTask();
  const call = task.run(() => model());
  const failed = assert.rejects(call);
  await clock.elapse(1_000);
  await failed;
  assert.ok(!task.halt);
  work.resolve('text');
  await clock.elapse(0);
  assert.equal(gear.journal().findLast(({ type }) => type === 'task-halted')?.task, task.id);
});

test('a known price, or the default policy for unknown prices, does not halt the task', async () => {
  const known = haltingGear().gear;
  const priced = known.guard('model', async () => 'text', {
    kind: 'model',
    usage: () => ({ ...usage, model: 'claude-sonnet-4' }),
  });
  assert.equal((await known.task(() => priced())).status, 'done');
  const dearest = createSwitchgear({ log: 'silent', env: {} });
  const model = dearest.guard('model', async () => 'text', { kind: 'model', usage: () => usage });
  assert.equal((await dearest.task(() => model())).status, 'done');
});
