/**
 * Writes src/core/prices/price-table.ts, the prices that the entry point `switchgear` knows without a dependency, from
 * the price book: `node tools/price-table.ts --write`. Without `--write` it prints the table.
 */

import { writeFileSync } from 'node:fs';
import { calcPrice, type ModelPrice } from '@pydantic/genai-prices';

/** The day whose prices are taken: some prices change on a day, or with the time of day. */
export const tableDay = '2026-09-01';

/** The models that people use most, under the names of their makers; `=` gives the name at a provider of the book. */
export const tableModels = `
claude-opus-4 claude-opus-4-1 claude-opus-4-5 claude-opus-4-6 claude-opus-4-7 claude-opus-4-8 claude-opus-5
claude-opus-5-5 claude-fable-5 claude-fable-5-1 claude-sonnet-4 claude-sonnet-4-5 claude-sonnet-4-6 claude-sonnet-5
claude-haiku-4-5 claude-3-7-sonnet claude-3-5-sonnet claude-3-5-haiku claude-3-opus claude-3-sonnet claude-3-haiku
gpt-3.5-turbo gpt-35-turbo gpt-3.5-turbo-0613 gpt-3.5-turbo-1106 gpt-4 gpt-4-turbo gpt-4-turbo-preview
gpt-4-1106-preview gpt-4-0125-preview
gpt-4.1 gpt-4.1-mini gpt-4.1-nano gpt-4o gpt-4o-2024-05-13 gpt-4o-mini chatgpt-4o-latest=openai:chatgpt-4o-latest
gpt-5 gpt-5-mini gpt-5-nano gpt-5-pro gpt-5-codex gpt-5-chat-latest gpt-5.1 gpt-5.1-codex gpt-5.1-codex-mini
gpt-5.1-codex-max gpt-5.2 gpt-5.2-pro gpt-5.2-codex gpt-5.3-codex gpt-5.4 gpt-5.4-mini gpt-5.4-nano gpt-5.4-pro
gpt-5.5 gpt-5.5-pro gpt-oss-120b gpt-oss-20b codex-mini=openai:codex-mini
o1 o1-mini o1-pro o3 o3-mini o3-pro o4-mini
gemini-1.5-pro gemini-1.5-flash gemini-2.0-flash gemini-2.0-flash-lite gemini-2.5-pro gemini-2.5-flash
gemini-2.5-flash-lite gemini-3-pro=google:gemini-3-pro-preview gemini-3-flash=google:gemini-3-flash-preview
gemini-3.1-pro=google:gemini-3.1-pro-preview gemini-3.1-flash-lite gemini-3.5-flash
grok-3 grok-3-mini grok-4 grok-4-fast grok-4-1-fast grok-4.3 grok-4.5 grok-code-fast-1
mistral-large mistral-large-2512 mistral-medium mistral-medium-latest mistral-medium-3.5 mistral-small-latest
mistral-nemo codestral-latest devstral-2512 devstral-small magistral-medium
deepseek-chat deepseek-reasoner deepseek-v3.2 deepseek-v3.2-exp deepseek-v4-flash deepseek-v4-pro
command-a command-r command-r-plus
llama-3.1-8b-instant=groq:llama-3.1-8b-instant llama-3.3-70b-versatile=groq:llama-3.3-70b-versatile
llama-3.3-70b-instruct=aws:meta.llama3-3-70b-instruct-v1:0
llama-4-maverick=openrouter:meta-llama/llama-4-maverick llama-4-scout=openrouter:meta-llama/llama-4-scout
kimi-k2 kimi-k2-thinking kimi-k2.5 kimi-k2.6 glm-4.6=openrouter:z-ai/glm-4.6 glm-4.7 glm-5 minimax-m2
qwen3-coder=openrouter:qwen/qwen3-coder qwen3-max=openrouter:qwen/qwen3-max
nova-micro=aws:amazon.nova-micro-v1:0 nova-lite=aws:amazon.nova-lite-v1:0 nova-pro=aws:amazon.nova-pro-v1:0
nova-premier=aws:amazon.nova-premier-v1:0
`
  .trim()
  .split(/\s+/);

type Rates = readonly [input: number, output: number, cacheRead: number, cacheWrite: number];

/** The line of a model: cents per million tokens, and those above an input size. Throws if the book has no price. */
function makeTableLine(entry: string): string {
  const [name = '', at = `:${entry}`] = entry.split('=');
  const prices = readDearestPrices(at.slice(at.indexOf(':') + 1), at.slice(0, at.indexOf(':')));
  const tiers = Object.values(prices).flatMap((rate) => (typeof rate === 'object' ? rate.tiers : []));
  if (tiers.length === 0) return `${name} ${formatRates(readRates(prices, 0))}`;
  const start = Math.min(...tiers.map((tier) => tier.start));
  return `${name} ${formatRates(readRates(prices, 0))} ${start} ${formatRates(readRates(prices, start))}`;
}

/** The prices at the dearest time of the day. */
function readDearestPrices(model: string, provider: string): ModelPrice {
  let dearest: ModelPrice | undefined;
  for (let hour = 0; hour < 24; hour++) {
    const timestamp = new Date(`${tableDay}T${String(hour).padStart(2, '0')}:45:00Z`);
    const options = provider === '' ? { timestamp } : { timestamp, providerId: provider };
    const prices = calcPrice({ input_tokens: 1 }, model, options)?.model_price;
    if (prices?.input_mtok === undefined) continue;
    if (dearest === undefined || rateOf(prices.output_mtok, 0) > rateOf(dearest.output_mtok, 0)) dearest = prices;
  }
  if (dearest === undefined) throw new Error(`the price book has no price of ${model}`);
  return dearest;
}

function readRates(prices: ModelPrice, start: number): Rates {
  const input = rateOf(prices.input_mtok, start);
  const cacheRate = (rate: ModelPrice[string]) => (rate === undefined ? input : rateOf(rate, start));
  const output = rateOf(prices.output_mtok, start);
  return [input, output, cacheRate(prices.cache_read_mtok), cacheRate(prices.cache_write_mtok)];
}

/** Dollars per million tokens, for an input above `start`. */
function rateOf(rate: ModelPrice[string], start: number): number {
  if (typeof rate !== 'object') return rate ?? 0;
  return rate.tiers.findLast((tier) => tier.start <= start)?.price ?? rate.base;
}

/** Cents; cache rates that equal the input are left out. */
function formatRates([input, output, cacheRead, cacheWrite]: Rates): string {
  const cents = [input, output, cacheRead, cacheWrite].map((dollars) => Number((dollars * 100).toPrecision(12)));
  const count = cacheWrite !== input ? 4 : cacheRead !== input ? 3 : 2;
  return cents.slice(0, count).join(',');
}

/** The text of the generated file. */
export function makeTableFile(): string {
  const lines = tableModels.map(makeTableLine);
  return `/**
 * Prices of common models on ${tableDay}, generated by tools/price-table.ts from the price book: a name, then cents
 * per million tokens of input, output, cache reads and cache writes (absent: as input), then an input size and the
 * prices above it.
 */
export const priceTable = \`
${lines.join('\n')}
\`;
`;
}

if (import.meta.main) {
  const text = makeTableFile();
  if (process.argv.includes('--write'))
    writeFileSync(new URL('../src/core/prices/price-table.ts', import.meta.url), text);
  else console.log(text);
}
