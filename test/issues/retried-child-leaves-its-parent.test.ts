/** The options of `retryOptions` put a child at the top, where it did not spend from the budget of its parent. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

function gearWithTool() {
  const gear = createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {} });
  const tool = gear.guard('tool', (n: number) => n);
  const haltChild = (id: string) =>
    gear.task({ id, limits: { maxToolCalls: 2 } }, () => void [1, 2, 3].map((n) => tool(n)));
  return { gear, haltChild };
}

test('a retried child stays below its running parent and spends from its budget', async () => {
  const { gear, haltChild } = gearWithTool();
  const parent = await gear.task({ id: 'parent', limits: { maxSpendCents: 100 } }, async () => {
    await haltChild('child');
    const again = gear.retryOptions('child');
    assert.equal(again?.parent, 'parent');
    const child = await gear.task(again!, (task) => {
      assert.equal(task.snapshot().toolCalls, 3);
      task.observe({ type: 'usage', inputTokens: 0, outputTokens: 0, costUsd: 40 });
    });
    assert.equal(child.status, 'halted');
  });
  assert.ok(parent.status === 'halted');
  assert.equal(parent.halt.code, 'token_spend_limit');
});

test('a retried child whose parent ended or halted stays below the nearest running ancestor', async () => {
  const { gear, haltChild } = gearWithTool();
  await gear.task({ id: 'root' }, async () => {
    await gear.task({ id: 'ended' }, () => haltChild('first'));
    assert.equal(gear.retryOptions('first')?.parent, 'root');
    await gear.task({ id: 'halted' }, async () => {
      await haltChild('second');
      gear.halt('halted', 'enough');
    });
    assert.equal(gear.retryOptions('second')?.parent, 'root');
  });
  assert.equal(gear.retryOptions('first')?.parent, null);
  await haltChild('top');
  assert.equal(gear.retryOptions('top')?.parent, null);
});
