import assert from 'node:assert/strict';
import { test } from 'node:test';
import { builtinPrices, estimateUsageCents, type TokenUsage, toMicros, toUsd } from '../../src/core/builtin-prices.ts';
import type { Prices } from '../../src/ports/prices.ts';

const prices: Prices = builtinPrices;
const million = 1_000_000;
const usage = (change: Partial<TokenUsage> = {}): TokenUsage => ({ inputTokens: 0, outputTokens: 0, ...change });

test('a million tokens of each kind cost their list price in cents', () => {
  assert.equal(estimateUsageCents({ input_tokens: million, output_tokens: 0 }), 300);
  assert.equal(estimateUsageCents({ input_tokens: 0, output_tokens: million }), 1500);
  assert.equal(estimateUsageCents({ cache_creation_input_tokens: million }), 375);
  assert.equal(estimateUsageCents({ cache_read_input_tokens: million }), 30);
});

test('estimateUsageCents adds cache tokens to input tokens and may return a fraction of a cent', () => {
  assert.equal(
    estimateUsageCents({
      input_tokens: 1000,
      output_tokens: 1000,
      cache_creation_input_tokens: 1000,
      cache_read_input_tokens: 1000,
    }),
    2.205,
  );
});

test('an invalid token count costs nothing, and no cost is negative', () => {
  for (const bad of [Number.NaN, -5, Number.POSITIVE_INFINITY, '1000', null, undefined, {}, true]) {
    assert.equal(estimateUsageCents({ input_tokens: bad, output_tokens: bad } as never), 0, String(bad));
  }
  assert.equal(estimateUsageCents({ input_tokens: -million, output_tokens: million }), 1500);
  assert.equal(estimateUsageCents(null), 0);
  assert.equal(estimateUsageCents(undefined), 0);
  assert.equal(estimateUsageCents('usage' as never), 0);
});

test('the input tokens of a usage include the cache tokens, which are priced separately', () => {
  const price = prices.price(
    usage({ inputTokens: 1000, cacheReadTokens: 600, cacheWriteTokens: 200, outputTokens: 100 }),
  );
  assert.deepEqual(price, { costUsd: toUsd(200 * 3 + 180 + 750 + 1500), basis: 'claude-sonnet-4' });
});

test('if cache tokens exceed input tokens, the input excludes the cache and all tokens are priced', () => {
  assert.equal(prices.price(usage({ inputTokens: 10, cacheReadTokens: 1000 }))?.costUsd, toUsd(30 + 300));
});

test('each call costs a whole number of micro-dollars, rounded up', () => {
  assert.equal(prices.price(usage({ inputTokens: 1, cacheReadTokens: 1 }))?.costUsd, toUsd(1));
  assert.equal(prices.price(usage({ inputTokens: 1, cacheWriteTokens: 1 }))?.costUsd, toUsd(4));
  assert.equal(prices.price(usage({ inputTokens: 1 }))?.costUsd, toUsd(3));
  assert.equal(prices.price(usage())?.costUsd, toUsd(0));
  assert.equal(prices.price(usage({ inputTokens: Number.MAX_VALUE }))?.costUsd, toUsd(Number.MAX_SAFE_INTEGER));
});

test('each vendor name of Sonnet 4 has the Sonnet 4 price, and so does a call without a model name', () => {
  for (const model of [
    undefined,
    '',
    'claude-sonnet-4',
    'claude-sonnet-4-0',
    'claude-sonnet-4-20250514',
    'claude-sonnet-4-5-20250929',
    'claude-sonnet-4-6',
    'claude-sonnet-4.5',
    'claude-4-sonnet-latest',
    'claude-4.5-sonnet',
    'anthropic/claude-sonnet-4-5',
    'us.anthropic.claude-sonnet-4-20250514-v1:0',
    'claude-sonnet-4@20250514',
    'claude-sonnet-4-5[1m]',
  ]) {
    assert.equal(prices.price(model === undefined ? usage() : usage({ model }))?.basis, 'claude-sonnet-4', model);
  }
});

test('other models and unknown versions have no built-in price', () => {
  for (const model of [
    'claude-opus-4-1',
    'claude-sonnet-5',
    'claude-sonnet-4-7',
    'claude-sonnet-40',
    'gpt-4o',
    'claude-3-5-sonnet',
  ]) {
    assert.equal(prices.price(usage({ model, inputTokens: 1 })), undefined, model);
  }
});

test('the highest price, used for an unknown model, is at least the price of every known model', () => {
  const call = usage({ model: 'x', inputTokens: million, outputTokens: million });
  assert.deepEqual(prices.highestPrice(call), { costUsd: toUsd(90 * million), basis: 'claude-opus-4' });
  for (const change of [{ inputTokens: 9 }, { outputTokens: 9 }, { inputTokens: 9, cacheReadTokens: 9 }]) {
    assert.ok(prices.highestPrice(usage(change)).costUsd >= prices.price(usage(change))!.costUsd);
  }
});

test('the highest price is the list price of claude-opus-4 for every kind of token', () => {
  const dear = (change: Partial<TokenUsage>) => builtinPrices.highestPrice(usage(change));
  assert.deepEqual(dear({ inputTokens: million }), { costUsd: toUsd(15 * million), basis: 'claude-opus-4' });
  assert.equal(dear({ outputTokens: million }).costUsd, toUsd(75 * million));
  assert.equal(dear({ inputTokens: million, cacheReadTokens: million }).costUsd, toUsd(1.5 * million));
  assert.equal(dear({ inputTokens: million, cacheWriteTokens: million }).costUsd, toUsd(18.75 * million));
});

test('a usage object that throws when it is read costs nothing', () => {
  const hostile = new Proxy({}, { get: () => assert.fail('not yours') });
  assert.equal(estimateUsageCents(hostile), 0);
});

test('dollars convert to whole micro-dollars, rounded up without floating-point error', () => {
  assert.equal(toMicros(0.07), 70_000); // 0.07 * 1e6 is 70000.00000000001.
  assert.equal(toMicros(0.0000001), 1);
  assert.equal(toMicros(0), 0);
  assert.equal(toMicros(Number.MAX_VALUE), Number.MAX_SAFE_INTEGER);
});

test('whole micro-dollars converted to dollars and back are unchanged', () => {
  for (let micros = 1; micros < 1e14; micros = micros * 7 + 3) assert.equal(toMicros(toUsd(micros)), micros);
});
