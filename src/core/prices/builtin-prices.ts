/** Built-in prices without a dependency: those of common models, and of the family of an unknown model. */

import { isDeploymentOf, listModelNames, readFamily, unifyName } from './model-name.ts';
import { priceTable } from './price-table.ts';

/** A usage blob of the Anthropic API; its input count excludes tokens read from or written to a cache. */
export interface AnthropicUsage {
  readonly input_tokens?: number | null;
  readonly output_tokens?: number | null;
  readonly cache_creation_input_tokens?: number | null;
  readonly cache_read_input_tokens?: number | null;
}

/** Tokens of one model call; the input includes the cache. Same shape as `Usage` of the prices port. */
export interface TokenUsage {
  readonly model?: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
  /** The part of the cache writes that is kept for an hour, which costs twice as much as input. @default 0 */
  readonly cacheWrite1hTokens?: number;
}

/** Tokens by kind of price, each finite and not negative. */
export interface TokenParts {
  readonly uncached: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** The part of the cache writes that is kept for an hour; absent if there is none. */
  readonly cacheWrite1h?: number;
  readonly output: number;
}

/** Cents per million tokens: list prices are whole cents, so sums of them stay exact. */
export interface TokenPrices {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

const sonnet4: TokenPrices = { input: 300, output: 1500, cacheRead: 30, cacheWrite: 375 };
const sonnet4Name = 'claude-sonnet-4';

/** A model of the table: its prices, and those of requests with a larger input. */
interface TableRow {
  readonly name: string;
  readonly prices: TokenPrices;
  readonly largeFrom: number;
  readonly largePrices: TokenPrices;
}

let table: Map<string, TableRow> | undefined;

/** The rows of the price table by their unified names; read at the first use. */
function tableRows(): ReadonlyMap<string, TableRow> {
  table ??= new Map(
    priceTable
      .trim()
      .split('\n')
      .map((line) => {
        const [name = '', rates = '', largeFrom = 'Infinity', largeRates = rates] = line.split(' ');
        const row = { prices: readRates(rates), largeFrom: Number(largeFrom), largePrices: readRates(largeRates) };
        return [unifyName(name), { name, ...row }];
      }),
  );
  return table;
}

function readRates(rates: string): TokenPrices {
  const [input = 0, output = 0, cacheRead = input, cacheWrite = input] = rates.split(',').map(Number);
  return { input, output, cacheRead, cacheWrite };
}

function priceByRow({ name, prices, largeFrom, largePrices }: TableRow, usage: TokenUsage): TablePrice {
  const parts = splitUsage(usage);
  const isLarge = parts.uncached + parts.cacheRead + parts.cacheWrite > largeFrom;
  return { costUsd: toUsd(priceInMicros(parts, isLarge ? largePrices : prices)), basis: name };
}

interface TablePrice {
  readonly costUsd: number;
  readonly basis: string;
}

/** The models that an unknown model is most like: the one it deploys, else those of its family, else none. */
function findRelatives(names: readonly string[]): readonly TableRow[] {
  const rows = [...tableRows()];
  const deployed = rows.filter(([model]) => names.some((name) => isDeploymentOf(name, model)));
  const longest = Math.max(...deployed.map(([model]) => model.length));
  if (deployed.length > 0) return deployed.filter(([model]) => model.length === longest).map(([, row]) => row);
  const { words, details } = readFamily(names[0] ?? '');
  if (words.length === 0) return [];
  const ranked = rows.map(([model, row]) => {
    const family = readFamily(model);
    const count = (theirs: readonly string[], ours: readonly string[]) =>
      theirs.filter((word) => ours.includes(word)).length;
    const shared = count(family.words, words);
    // A model with other words beside those of the family is further away.
    const others = family.words.length - shared + family.details.length - count(family.details, details);
    return { row, shared, others };
  });
  const most = Math.max(...ranked.map(({ shared }) => shared));
  const nearest = ranked.filter(({ shared }) => most > 0 && shared === most);
  const fewest = Math.min(...nearest.map(({ others }) => others));
  return nearest.filter(({ others }) => others === fewest).map(({ row }) => row);
}

/** Estimates the cost of an Anthropic usage blob at Sonnet 4 list prices, in cents. Invalid counts are 0. */
export function estimateUsageCents(usage: AnthropicUsage | null | undefined): number {
  try {
    const parts: TokenParts = {
      uncached: readTokenCount(usage?.input_tokens),
      cacheRead: readTokenCount(usage?.cache_read_input_tokens),
      cacheWrite: readTokenCount(usage?.cache_creation_input_tokens),
      output: readTokenCount(usage?.output_tokens),
    };
    return priceInHundredths(parts, sonnet4) / 1_000_000;
  } catch {
    return 0; // An unreadable blob has no counts.
  }
}

/** The prices of the root entry point: those of common models. A call without a model name is priced as Sonnet 4. */
export const builtinPrices = Object.freeze({
  price(usage: TokenUsage): TablePrice | undefined {
    if (!usage.model) return priceAsSonnet4(usage);
    for (const name of listModelNames(usage.model)) {
      const row = tableRows().get(name);
      if (row !== undefined) return priceByRow(row, usage);
    }
    return undefined;
  },
  /** The dearest model of the family, or Sonnet 4 if the name shows no family. */
  highestPrice(usage: TokenUsage): TablePrice {
    const prices = findRelatives(listModelNames(usage.model ?? '')).map((row) => priceByRow(row, usage));
    return prices.reduce((a, b) => (b.costUsd > a.costUsd ? b : a), prices[0] ?? priceAsSonnet4(usage));
  },
});

function priceAsSonnet4(usage: TokenUsage): TablePrice {
  return { costUsd: toUsd(priceInMicros(splitUsage(usage), sonnet4)), basis: sonnet4Name };
}

/** Splits a usage by kind of price. If the cache exceeds the input, the input excludes the cache and stays whole. */
export function splitUsage(usage: TokenUsage): TokenParts {
  const input = readTokenCount(usage.inputTokens);
  const cacheRead = readTokenCount(usage.cacheReadTokens);
  const cacheWrite = readTokenCount(usage.cacheWriteTokens);
  const cached = cacheRead + cacheWrite;
  const uncached = cached > input ? input : input - cached;
  const cacheWrite1h = Math.min(cacheWrite, readTokenCount(usage.cacheWrite1hTokens));
  const output = readTokenCount(usage.outputTokens);
  return { uncached, cacheRead, cacheWrite, ...(cacheWrite1h > 0 && { cacheWrite1h }), output };
}

/** Returns whole micro-dollars, rounded up. */
export function priceInMicros(parts: TokenParts, prices: TokenPrices): number {
  return Math.min(Math.ceil(priceInHundredths(parts, prices) / 100), Number.MAX_SAFE_INTEGER);
}

/** Returns hundredths of a micro-dollar. */
function priceInHundredths(parts: TokenParts, prices: TokenPrices): number {
  return (
    parts.uncached * prices.input +
    parts.cacheRead * prices.cacheRead +
    parts.cacheWrite * prices.cacheWrite +
    (parts.cacheWrite1h ?? 0) * hourSurcharge(prices.input, prices.cacheWrite) +
    parts.output * prices.output
  );
}

/** What a cache write for an hour costs more than another one; nothing where all cache writes cost as much as input. */
export function hourSurcharge(input: number, cacheWrite: number): number {
  return cacheWrite > input ? Math.max(0, 2 * input - cacheWrite) : 0;
}

function readTokenCount(count: unknown): number {
  return typeof count === 'number' && Number.isFinite(count) && count > 0 ? count : 0;
}

const microsPerUsd = 1_000_000;

/** Converts dollars to whole micro-dollars, rounded up; uses 15 digits, so that binary rounding errors add nothing. */
export function toMicros(usd: number): number {
  const exact = usd * microsPerUsd;
  const near = Math.round(exact);
  // A rounding error lies close to a whole number; other amounts need no digits, which take longer to write.
  if (exact < 1e8 && (exact === near || Math.abs(exact - near) > 1e-6)) return Math.ceil(exact);
  return Math.min(Math.ceil(Number(exact.toPrecision(15))), Number.MAX_SAFE_INTEGER);
}

/** Converts micro-dollars, the internal unit of money, to dollars, the unit that users see. */
export function toUsd(micros: number): number {
  return micros / microsPerUsd;
}
