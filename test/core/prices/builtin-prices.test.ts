import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  builtinPrices,
  estimateUsageCents,
  type TokenUsage,
  toMicros,
  toUsd,
} from '../../../src/core/prices/builtin-prices.ts';
import type { Prices } from '../../../src/ports/prices.ts';

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

test('names of all hosts lead to the price of their model', () => {
  const rows: Record<string, readonly (string | undefined)[]> = {
    'claude-sonnet-4': [
      ...[undefined, '', 'claude-sonnet-4', 'claude-sonnet-4-0', 'claude-sonnet-4-20250514', 'claude-4-sonnet-latest'],
      ...['us.anthropic.claude-sonnet-4-20250514-v1:0', 'anthropic.claude-sonnet-4-20250514-v1:0'],
      ...['claude-sonnet-4@20250514', 'vertex_ai/claude-sonnet-4@20250514', 'Claude-Sonnet-4'],
    ],
    'claude-sonnet-4-5': [
      ...['claude-sonnet-4-5-20250929', 'claude-sonnet-4.5', 'claude-4.5-sonnet', 'anthropic/claude-sonnet-4-5'],
      ...['claude-sonnet-4-5[1m]', 'openrouter/anthropic/claude-sonnet-4.5'],
      'arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0',
    ],
    'gpt-4o': ['openai/gpt-4o', 'openai:gpt-4o', 'azure/gpt-4o', 'gpt-4o-2024-11-20', 'openai.chat/gpt-4o', 'GPT-4o'],
    'gpt-4o-2024-05-13': ['gpt-4o-2024-05-13'],
    'gpt-4o-mini': ['gpt-4o-mini', 'gpt-4o-mini-2024-07-18'],
    'gpt-35-turbo': ['azure/gpt-35-turbo'],
    'gemini-2.5-pro': ['models/gemini-2.5-pro', 'gemini-2.5-pro-preview-05-06', 'google.generative-ai/gemini-2.5-pro'],
    'gemini-2.0-flash': ['publishers/google/models/gemini-2.0-flash-001', 'google/gemini-2.0-flash-exp'],
    'llama-3.3-70b-instruct': ['meta.llama3-3-70b-instruct-v1:0', 'meta-llama/llama-3.3-70b-instruct'],
    'nova-pro': ['amazon.nova-pro-v1:0', 'us.amazon.nova-pro-v1:0'],
  };
  for (const [basis, models] of Object.entries(rows)) {
    for (const model of models) {
      assert.equal(prices.price(model === undefined ? usage() : usage({ model }))?.basis, basis, model);
    }
  }
});

test('unknown models, unknown versions and fine-tuned models have no built-in price', () => {
  for (const model of [
    'claude-sonnet-4-7',
    'claude-sonnet-40',
    'claude-opus-9',
    'house-model',
    'ft:gpt-4o-mini:us::1',
  ]) {
    assert.equal(prices.price(usage({ model, inputTokens: 1 })), undefined, model);
  }
});

test('a request above an input size has the prices of that size', () => {
  const price = (inputTokens: number) => prices.price(usage({ model: 'gemini-2.5-pro', inputTokens }))?.costUsd;
  assert.equal(price(200_000), 0.25);
  assert.equal(price(200_004), toUsd(2.5 * 200_004));
});

test('an unknown model is charged as the dearest model of its family, else as Sonnet 4', () => {
  const rows = {
    'claude-opus-9': 'claude-opus-4',
    'us.anthropic.claude-opus-9-v1:0': 'claude-opus-4',
    'claude-sonnet-5-5': 'claude-sonnet-4',
    'claude-nova-prime': 'claude-opus-4',
    'gemini-9-pro': 'gemini-3-pro',
    'gpt-9': 'gpt-4',
    'gpt-4o-ultra': 'gpt-4',
    'my-opus': 'claude-opus-4',
    'azure/team-gpt-4o-prod': 'gpt-4o',
    'gpt-4o-mini-deployment': 'gpt-4o-mini',
    'house-model': 'claude-sonnet-4',
    '': 'claude-sonnet-4',
  };
  for (const [model, basis] of Object.entries(rows)) {
    assert.equal(prices.highestPrice(usage({ model, inputTokens: 1000, outputTokens: 1000 })).basis, basis, model);
  }
  const call = usage({ model: 'x', inputTokens: million, outputTokens: million });
  assert.deepEqual(prices.highestPrice(call), { costUsd: toUsd(18 * million), basis: 'claude-sonnet-4' });
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

test('every amount becomes the micro-dollars that its 15 digits say', () => {
  const byDigits = (usd: number) => Math.min(Math.ceil(Number((usd * 1e6).toPrecision(15))), Number.MAX_SAFE_INTEGER);
  const rates = [0.3, 3, 3.75, 15, 0.075, 1.1, 2.5, 600];
  for (let tokens = 1; tokens < 1e9; tokens = tokens * 3 + 7) {
    for (const rate of rates) {
      const usd = (tokens / 1e6) * rate;
      for (const each of [usd, usd + 1e-13, usd - 1e-13, usd + 5e-13, usd * (1 + 2e-16), usd / 3])
        assert.equal(toMicros(each), byDigits(each), `${each}`);
    }
  }
});
