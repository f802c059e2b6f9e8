import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { builtinPrices } from '../../../src/core/prices/builtin-prices.ts';
import { priceTable } from '../../../src/core/prices/price-table.ts';
import { priceBook } from '../../../src/prices/price-book.ts';
import { makeTableFile } from '../../../tools/price-table.ts';

const names = priceTable
  .trim()
  .split('\n')
  .map((line) => line.split(' ')[0]!);

test('the price table is what tools/price-table.ts makes of the price book', () => {
  const file = readFileSync(new URL('../../../src/core/prices/price-table.ts', import.meta.url), 'utf8');
  assert.equal(file, makeTableFile(), 'run: npm run prices');
});

test('the table and the price book agree on the price of every model, small and large requests', () => {
  const book = priceBook();
  // The price of these depends on the time of day; the table has the highest.
  const changing = /^deepseek-(chat|reasoner|v4)/;
  let compared = 0;
  for (const model of names) {
    for (const inputTokens of [1000, 150_000, 900_000]) {
      const usage = { model, inputTokens, outputTokens: 5000, cacheReadTokens: 600, cacheWriteTokens: 100 };
      const [ours, theirs] = [builtinPrices.price(usage), book.price(usage)];
      assert.ok(ours !== undefined, model);
      if (theirs === undefined || changing.test(model)) continue;
      compared++;
      assert.ok(Math.abs(ours.costUsd - theirs.costUsd) < 3e-6, `${model}: ${ours.costUsd}, ${theirs.costUsd}`);
    }
  }
  assert.ok(names.length >= 100, `${names.length} models`);
  assert.ok(compared > 0);
});
