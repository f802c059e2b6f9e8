/**
 * A cache of model prices for hooks, which have no time to load the price book. Prices may depend on the size of a
 * request, so the cache has an entry for each size class.
 */

import { hookPricesMax } from '../../core/limits.ts';
import { builtinPrices, toMicros, toUsd } from '../../core/prices/builtin-prices.ts';
import type { Price, Prices, Usage } from '../../ports/prices.ts';

/**
 * The price of a token of each kind in micro-dollars, and the model that it belongs to; null = unknown to the price
 * book.
 */
export type CachedRates = Readonly<Record<string, ModelRates | null>>;
type ModelRates = readonly [basis: string, input: number, output: number, cacheRead: number, cacheWrite: number];

export interface PriceCache {
  readonly prices: Prices;
  /** Whether the cache has the price of a usage. */
  has(usage: Usage): boolean;
  load(book: Prices, usage: Usage): void;
  /** Adds the stored prices. */
  merge(stored: CachedRates): void;
  /** All cached prices. */
  readonly rates: CachedRates;
}

/** Marks the guessed price of an unknown model. */
const guessed = '?';

/** The largest input of each size class; above it some model has another price. */
const sizes = [128_000, 199_999, 200_000, 271_999, 272_000, 512_000];
const million = 1_000_000;

function sizeClassOf({ inputTokens }: Usage): number {
  return sizes.find((most) => inputTokens <= most) ?? million;
}

export function createPriceCache(initial: CachedRates = {}): PriceCache {
  let cached = initial;
  const keyOf = (model: string, usage: Usage) => `${model} ${sizeClassOf(usage)}`;
  const guessKeyOf = (usage: Usage) => keyOf(`${guessed}${usage.model ?? ''}`, usage);
  const find = (usage: Usage) => cached[keyOf(usage.model ?? '', usage)];
  const store = (key: string, rates: ModelRates | null) => {
    cached = Object.fromEntries([...Object.entries(cached), [key, rates] as const].slice(-hookPricesMax));
  };
  return {
    prices: {
      price(usage) {
        const rates = find(usage);
        return rates ? computePrice(rates, usage) : undefined;
      },
      highestPrice(usage) {
        const rates = cached[guessKeyOf(usage)];
        return rates ? computePrice(rates, usage) : builtinPrices.highestPrice(usage);
      },
    },
    has: (usage) => find(usage) !== undefined,
    load(book, usage) {
      const rates = computeRates((request) => book.price(request), usage);
      store(keyOf(usage.model ?? '', usage), rates);
      if (rates !== null) return;
      const guess = computeRates((request) => book.highestPrice(request), usage);
      store(guessKeyOf(usage), guess);
    },
    merge(stored) {
      cached = Object.fromEntries(Object.entries({ ...stored, ...cached }).slice(-hookPricesMax));
    },
    get rates() {
      return cached;
    },
  };
}

function computePrice([basis, input, output, cacheRead, cacheWrite]: ModelRates, usage: Usage): Price {
  const { inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage;
  const fresh = Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens);
  const micros = fresh * input + outputTokens * output + cacheReadTokens * cacheRead + cacheWriteTokens * cacheWrite;
  return { costUsd: toUsd(Math.ceil(micros - 1e-6)), basis };
}

/**
 * Computes the token prices of a size class from its largest request, because rounded prices of small requests are
 * too inexact.
 */
function computeRates(price: (usage: Usage) => Price | undefined, usage: Usage): ModelRates | null {
  const size = sizeClassOf(usage);
  const request = { ...(usage.model !== undefined && { model: usage.model }), inputTokens: size, outputTokens: 0 };
  const base = price(request);
  if (base === undefined) return null;
  const baseMicros = toMicros(base.costUsd);
  const micros = (more: object) => toMicros((price({ ...request, ...more }) ?? base).costUsd);
  const output = (micros({ outputTokens: million }) - baseMicros) / million;
  const cached = [micros({ cacheReadTokens: size }) / size, micros({ cacheWriteTokens: size }) / size] as const;
  return [base.basis, baseMicros / size, output, ...cached];
}
