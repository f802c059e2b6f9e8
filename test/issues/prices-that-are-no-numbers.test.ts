/** A source of prices that returns something that is no price: the spend limit must hold. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, type Prices } from '../../src/index.ts';

const wrong: Readonly<Record<string, unknown>> = { NaN: Number.NaN, negative: -5, text: '5', absent: undefined };

for (const [kind, costUsd] of Object.entries(wrong)) {
  test(`a maximum price that is ${kind} does not disable the spend limit`, async () => {
    const prices = { price: () => undefined, highestPrice: () => ({ costUsd, basis: 'wrong' }) } as unknown as Prices;
    const gear = createSwitchgear({ log: 'silent', env: {}, prices, policy: { task: { max_spend_cents: 100 } } });
    const result = await gear.task({}, (task) => {
      for (let at = 0; at < 100; at++) {
        task.observe({ type: 'usage', model: 'new-model', inputTokens: 100_000, outputTokens: 10_000 });
      }
      return task.snapshot().spendUsd;
    });
    assert.equal(result.status, 'halted');
  });
}
