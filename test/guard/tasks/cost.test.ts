import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, type Entry, type SwitchgearOptions } from '../../../src/index.ts';
import { priceBook } from '../../../src/prices/index.ts';
import { simulatedClock } from '../../../src/testing/index.ts';

const million = { inputTokens: 1_000_000, outputTokens: 1_000_000 };

/** Spends a million tokens of each kind on each model in one task. */
async function spendOn(models: readonly (string | undefined)[], options: SwitchgearOptions = {}) {
  const entries: Entry[] = [];
  const lines: string[] = [];
  const gear = createSwitchgear({
    clock: simulatedClock(),
    env: {},
    log: (line) => lines.push(line),
    policy: { journal: { level: 'all' }, task: { max_spend_cents: 100_000 } },
    ...options,
  });
  gear.onEntry((entry) => entries.push(entry));
  const result = await gear.task({}, (task) => {
    for (const model of models) task.observe({ type: 'usage', ...(model !== undefined && { model }), ...million });
    return task.snapshot();
  });
  return { result, snapshot: result.status === 'done' ? result.value : undefined, entries, lines };
}

test('common models have their list price without a price book', async () => {
  for (const [model, usd] of [
    ['gpt-4o-mini', 0.75],
    ['openai/gpt-5', 11.25],
    ['anthropic.claude-3-haiku-20240307-v1:0', 1.5],
    [undefined, 18],
  ] as const) {
    const { snapshot, lines } = await spendOn([model]);
    assert.equal(snapshot?.spendUsd, usd, model);
    assert.equal(snapshot?.guessedUsd, undefined, model);
    assert.deepEqual(lines, []);
  }
});

test('a model without a price is marked as guessed, and reported once with a remedy', async () => {
  for (const prices of [undefined, priceBook()]) {
    const options = prices === undefined ? {} : { prices };
    const { snapshot, entries, lines } = await spendOn(['claude-opus-9', 'claude-opus-9', 'gpt-4o-mini'], options);
    assert.equal(snapshot?.spendUsd, 180.75);
    assert.equal(snapshot?.guessedUsd, 180);
    const costs = entries.flatMap((entry) => (entry.type === 'usage-observed' ? [entry.cost.guessed] : []));
    assert.deepEqual(costs, [true, true, undefined]);
    const reports = lines.filter((line) => line.includes('claude-opus-9'));
    assert.equal(reports.length, 1);
    assert.match(reports[0] ?? '', /charged as claude-opus-4 \(guessed\)/);
    assert.match(reports[0] ?? '', /priceBook\(\{ overrides: \{ "claude-opus-9"/);
    assert.match(reports[0] ?? '', /prices\.free = \["claude-opus-9"\]/);
  }
});

test('the refusal and the card of a spend limit say how much is guessed', async () => {
  const { result, entries } = await spendOn(['house-model', 'house-model', 'house-model'], {
    policy: { task: { max_spend_cents: 5000 } },
  });
  const halt = result.status === 'halted' ? result.halt : undefined;
  assert.match(halt?.message ?? '', /spend: \$54\.00 of \$50\.00 \(\$54\.00 guessed\)/);
  const card = entries.find((entry) => entry.type === 'card-changed');
  assert.match(card?.card.evidence.join(' ') ?? '', /guessed/);
});

test('models that the policy names are free, and models of local programs; an address on loopback is not', async () => {
  const policy = { task: { max_spend_cents: 100_000 }, prices: { free: ['llama*', 'House-*'] } };
  const free = ['llama3.2', 'house/llama-3.3-70b', 'house-model', 'ollama/qwen3', 'ollama.chat/phi', 'lmstudio/x'];
  const { snapshot } = await spendOn(free, { policy });
  assert.equal(snapshot?.spendUsd, 0);
  assert.equal(snapshot?.tokens, 12_000_000);
  for (const model of ['localhost/gpt-4o', '127.0.0.1:11434/gpt-4o', 'ollama/gpt-oss:120b-cloud', 'collama/x']) {
    assert.ok((await spendOn([model], { policy })).snapshot!.spendUsd > 0, model);
  }
});

test('a free model does not halt where an unknown price halts', async () => {
  const prices = { free: ['llama*'], on_unknown_price: 'halt' } as const;
  assert.equal((await spendOn(['llama9'], { policy: { prices } })).result.status, 'done');
  assert.equal((await spendOn(['house-model'], { policy: { prices } })).result.status, 'halted');
});

test('tokens that an adapter estimated are marked in entries and totals', async () => {
  const entries: Entry[] = [];
  const gear = createSwitchgear({
    clock: simulatedClock(),
    env: {},
    log: 'silent',
    policy: { journal: { level: 'all' } },
  });
  gear.onEntry((entry) => entries.push(entry));
  await gear.task({}, (task) => {
    task.observe({ type: 'usage', model: 'gpt-4o-mini', inputTokens: 1_000_000, outputTokens: 0, estimated: true });
    assert.equal(task.snapshot().estimatedUsd, 0.15);
  });
  assert.ok(entries.some((entry) => entry.type === 'usage-observed' && entry.cost.estimated === true));
});

test('a bare name that the policy frees does not free the model at a reseller', () => {
  const gear = createSwitchgear({ log: 'silent', env: {}, policy: { prices: { free: ['llama3', 'groq/gemma*'] } } });
  const spend = (model: string) => {
    const task = gear.startTask();
    task.observe({ type: 'usage', model, inputTokens: 1_000_000, outputTokens: 0 });
    return task.snapshot().spendUsd;
  };
  for (const model of ['llama3', 'house.chat/llama3', 'groq/gemma-7b']) assert.equal(spend(model), 0, model);
  for (const model of ['openrouter/llama3', 'openrouter/meta/llama3', 'together_ai/llama3', 'groq.chat/llama3'])
    assert.ok(spend(model) > 0, model);
});
