import assert from 'node:assert/strict';
import { test } from 'node:test';
import { builtinPrices, toUsd } from '../../src/core/prices/builtin-prices.ts';
import { priceBook, type Usage } from '../../src/prices/index.ts';

const book = priceBook();
const call = (model: string, change: Partial<Usage> = {}): Usage => ({
  model,
  inputTokens: 1000,
  outputTokens: 1000,
  ...change,
});

test('a known model has a price, and the price names its entry in the book', () => {
  assert.deepEqual(book.price(call('claude-sonnet-4-20250514')), {
    costUsd: toUsd(18_000),
    basis: 'claude-sonnet-4-0',
  });
  assert.deepEqual(book.price(call('gpt-4o-2024-08-06')), { costUsd: toUsd(12_500), basis: 'gpt-4o' });
  assert.deepEqual(book.price(call('gemini-2.5-pro')), { costUsd: toUsd(11_250), basis: 'gemini-2.5-pro' });
});

test('a model is found under the prefixes and suffixes that vendors add to its name', () => {
  for (const [model, basis] of [
    ['anthropic/claude-sonnet-4-5', /claude-sonnet-4-5/],
    ['openrouter/anthropic/claude-sonnet-4.5', /claude-sonnet-4.5/],
    ['vertex_ai/claude-sonnet-4-5@20250929', /claude-sonnet-4-5/],
    ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', /claude-sonnet-4-5/],
    ['bedrock/anthropic.claude-opus-4-1-20250805-v1:0', /claude-opus-4-1/],
    ['models/gemini-2.5-pro', /gemini-2.5-pro/],
    ['openai:gpt-4o', /gpt-4o/],
    ['CLAUDE-SONNET-4-5', /claude-sonnet-4-5/],
    ['claude-sonnet-4-20250514[1m]', /claude-sonnet-4-0/],
    ['gemini-2.5-pro-preview-05-06', /gemini-2.5-pro/],
  ] as const) {
    const price = book.price(call(model));
    assert.match(price?.basis ?? 'none', basis, model);
    assert.ok(price!.costUsd > 0, model);
  }
});

test('dated names and names of Azure, Bedrock and Vertex have the price of their model', () => {
  const rows: Record<string, readonly string[]> = {
    'gpt-4o': [
      ...['gpt-4o-2024-08-06', 'azure/gpt-4o', 'azure/eu/gpt-4o-2024-08-06', 'azure/global-standard/gpt-4o'],
      ...['azure_ai/gpt-4o', 'azure.chat/gpt-4o', 'azure-openai.responses/gpt-4o'],
    ],
    'gpt-4.1-mini': ['gpt-4.1-mini-2025-04-14', 'azure/gpt-4.1-mini-2025-04-14'],
    'o4-mini': ['o4-mini-2025-04-16'],
    'claude-haiku-4-5': ['claude-haiku-4-5-20251001'],
    'claude-sonnet-4': [
      ...['eu', 'us', 'apac'].map((region) => `${region}.anthropic.claude-sonnet-4-20250514-v1:0`),
      ...['bedrock/us-east-1/anthropic.claude-sonnet-4-20250514-v1:0', 'anthropic.claude-sonnet-4-20250514-v2:0'],
      ...['bedrock/converse/us.anthropic.claude-sonnet-4-20250514-v1:0'],
      ...['arn:aws:bedrock:eu-west-1::foundation-model/anthropic.claude-sonnet-4-20250514-v1:0'],
      ...['anthropic.claude-sonnet-4-20250514-v1:0:200k', 'claude-sonnet-4@20250514', 'claude-sonnet-4@default'],
      ...['vertex_ai/claude-sonnet-4@20250514', 'publishers/anthropic/models/claude-sonnet-4@20250514'],
      ...['projects/p/locations/us-east5/publishers/anthropic/models/claude-sonnet-4@20250514'],
    ],
    'gemini-2.5-pro': [
      ...['vertex_ai/gemini-2.5-pro', 'google-vertex/gemini-2.5-pro', 'google.vertex.chat/gemini-2.5-pro'],
      ...['projects/p/locations/global/publishers/google/models/gemini-2.5-pro'],
    ],
  };
  for (const [name, models] of Object.entries(rows)) {
    const costUsd = book.price(call(name))?.costUsd;
    assert.ok(costUsd, name);
    for (const model of models) {
      assert.equal(book.price(call(model))?.costUsd, costUsd, model);
      assert.equal(builtinPrices.price(call(model))?.costUsd, costUsd, model);
    }
  }
});

test('a region of Bedrock has a price of its own, and a global endpoint that of the maker', () => {
  const name = 'anthropic.claude-sonnet-4-5-20250929-v1:0';
  const list = book.price(call('claude-sonnet-4-5'))?.costUsd ?? 0;
  assert.equal(book.price(call(`global.${name}`))?.costUsd, list);
  for (const region of ['us', 'eu', 'jp', 'us-gov']) {
    assert.ok((book.price(call(`${region}.${name}`))?.costUsd ?? 0) > list, region);
  }
});

test('a newer version is not priced like an older version whose name is its prefix', () => {
  assert.equal(book.price(call('claude-sonnet-5'))?.basis, 'claude-sonnet-5');
  for (const model of ['claude-sonnet-5-5', 'anthropic/claude-sonnet-5-5', 'claude-opus-4-81', 'claude-haiku-4-5-7']) {
    assert.equal(book.price(call(model)), undefined, model);
  }
});

test('an unknown model has no price, and the lookup does not throw', () => {
  for (const model of ['nope', '/', 'constructor', '__proto__', 'anthropic/', 'x'.repeat(1_000_000), 'whisper-1']) {
    assert.equal(book.price(call(model)), undefined, model.slice(0, 20));
  }
  assert.equal(book.price({ model: 7, inputTokens: 1, outputTokens: 1 } as never), undefined);
});

test('cache tokens are part of the input, and have their own read and write rates', () => {
  const usage = call('claude-sonnet-4-20250514', { cacheReadTokens: 600, cacheWriteTokens: 200 });
  assert.equal(book.price(usage)?.costUsd, toUsd(200 * 3 + 180 + 750 + 15_000));
});

test('a model without a cache rate uses its input rate', () => {
  const plain = book.price(call('gpt-4', { outputTokens: 0 }))!.costUsd;
  assert.equal(book.price(call('gpt-4', { outputTokens: 0, cacheReadTokens: 1000 }))?.costUsd, plain);
});

test('usage with inconsistent or invalid token counts has a price', () => {
  assert.equal(
    book.price(call('claude-sonnet-4-0', { inputTokens: 10, cacheReadTokens: 1000, outputTokens: 0 }))?.costUsd,
    toUsd(330),
  );
  assert.equal(book.price(call('claude-sonnet-4-0', { inputTokens: Number.NaN, outputTokens: 1 }))?.costUsd, toUsd(15));
  assert.equal(book.price(call('claude-sonnet-4-0', { inputTokens: -5, outputTokens: 0 }))?.costUsd, toUsd(0));
});

test('all tokens of a large request have the rate of large requests', () => {
  const small = book.price(call('claude-sonnet-4-5', { inputTokens: 200_000, outputTokens: 0 }));
  const large = book.price(call('claude-sonnet-4-5', { inputTokens: 300_000, outputTokens: 0 }));
  assert.equal(small?.costUsd, toUsd(600_000));
  assert.equal(large?.costUsd, toUsd(1_800_000));
});

test('prices are whole micro-dollars, rounded up without floating-point error', () => {
  assert.equal(book.price(call('claude-sonnet-4-0', { inputTokens: 41, outputTokens: 0 }))?.costUsd, toUsd(123));
  assert.equal(
    book.price(call('claude-sonnet-4-0', { inputTokens: 1, cacheReadTokens: 1, outputTokens: 0 }))?.costUsd,
    toUsd(1),
  );
});

test('custom rates override the book, and a custom cache rate defaults to the input rate', () => {
  const own = priceBook({
    overrides: {
      'My-Model': { inputUsdPerMillion: 0.07, outputUsdPerMillion: 2 },
      'claude-sonnet-5-5': {
        inputUsdPerMillion: 4,
        outputUsdPerMillion: 20,
        cacheReadUsdPerMillion: 0.4,
        cacheWriteUsdPerMillion: 5,
      },
      'gpt-4o': { inputUsdPerMillion: 1, outputUsdPerMillion: 1 },
    },
  });
  assert.deepEqual(own.price(call('my-model', { inputTokens: 100, outputTokens: 0, cacheReadTokens: 50 })), {
    costUsd: toUsd(7),
    basis: 'my-model',
  });
  assert.equal(own.price(call('anthropic/claude-sonnet-5-5', { cacheReadTokens: 1000 }))?.costUsd, toUsd(400 + 20_000));
  assert.equal(own.price(call('gpt-4o'))?.costUsd, toUsd(2000));
  assert.equal(own.price(call('gpt-4o-mini'))?.basis, 'gpt-4o-mini');
});

test('creating a price book with an invalid rate throws', () => {
  for (const bad of [Number.NaN, -1, '3', undefined]) {
    const overrides = { m: { inputUsdPerMillion: bad as number, outputUsdPerMillion: 1 } };
    assert.throws(() => priceBook({ overrides }), {
      code: 'invalid_price',
      message: /^inputUsdPerMillion of m must be .* got /,
    });
  }
});

test('an unknown model is charged as the dearest model of its family, else as Sonnet 4', () => {
  assert.equal(book.highestPrice(call('claude-opus-9')).basis, 'claude-opus-4');
  assert.equal(book.highestPrice(call('x')).basis, 'claude-sonnet-4');
});

test('a usage without a model is priced as Sonnet 4', () => {
  assert.deepEqual(book.price({ inputTokens: 1_000_000, outputTokens: 0 }), { costUsd: 3, basis: 'claude-sonnet-4' });
});

test('a cached price equals the price of the first lookup', () => {
  const models = ['claude-opus-5-5', 'claude-sonnet-4', 'gpt-5.5', 'gpt-4o-mini', 'gemini-3.1-pro-preview', 'o1-pro'];
  const counts = [0, 1, 3, 999, 12_345, 199_999, 1_000_001];
  for (const model of models) {
    const warm = priceBook();
    warm.price({ model, inputTokens: 1, outputTokens: 1 });
    for (const count of counts) {
      const usage = {
        model,
        inputTokens: count + 70,
        outputTokens: counts.at(-1)! - count,
        cacheReadTokens: count >> 1,
        cacheWriteTokens: count >> 2,
      };
      assert.deepEqual(warm.price(usage), priceBook().price(usage), `${model} ${count}`);
    }
  }
});

test('a misspelt option or price is an error', () => {
  const price = { inputUsdPerMillion: 1, outputUsdPerMillion: 4 };
  for (const [options, message] of [
    [{ override: {} }, /priceBook has no "override"; it has overrides/],
    [null, /priceBook must be an object, got null/],
    [{ overrides: [price] }, /overrides must be an object/],
    [{ overrides: { m: 3 } }, /the price of "m" must be an object, got 3/],
    [
      { overrides: { m: { ...price, cacheReadUsdPerMilion: 1 } } },
      /the price of "m" has no "cacheReadUsdPerMilion"; it has/,
    ],
  ] as const) {
    assert.throws(() => priceBook(options as never), message);
  }
});

test('fine-tuned, free and embedding models have prices of their own under every name', () => {
  const book = priceBook();
  const usd = (model: string) => book.price({ model, inputTokens: 1_000_000, outputTokens: 1_000_000 })?.costUsd;
  for (const prefix of ['', 'openai/']) {
    assert.equal(usd(`${prefix}ft:gpt-4o-mini-2024-07-18:acme::abc`), 1.5);
    assert.ok((usd(`${prefix}ft:gpt-4o-2024-08-06:acme::abc`) ?? 0) > (usd('gpt-4o') ?? 0));
    assert.equal(usd(`${prefix}ft:unheard-of:acme::abc`), undefined);
    for (const name of ['text-embedding-3-small', 'text-embedding-3-large', 'text-embedding-ada-002']) {
      const price = usd(prefix + name) ?? -1;
      assert.ok(price > 0 && price < 1, `${prefix}${name}: ${price}`);
    }
  }
  for (const prefix of ['', 'openrouter/']) assert.equal(usd(`${prefix}meta-llama/llama-3.3-70b-instruct:free`), 0);
  assert.notEqual(usd('acme/gpt-4o:free'), 0);
});
