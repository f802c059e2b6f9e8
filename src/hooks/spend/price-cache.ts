/**
 * What models cost, for a process that has no time to open the book: what it said of a model once is kept. Rates may
 * depend on the size of a request, so they are kept for each size by itself, as the book tells sizes apart.
 */

import { toMicros, toUsd } from '../../core/builtin-prices.ts';
import { hookPricesMax } from '../../core/limits.ts';
import type { Price, Prices, Usage } from '../../ports/prices.ts';

/** Micro-dollars for a token of each kind, and the model whose rates they are; null = the book does not know it. */
export type CachedRates = Readonly<Record<string, ModelRates | null>>;
type ModelRates = readonly [basis: string, input: number, output: number, cacheRead: number, cacheWrite: number];

export interface PriceCache {
  readonly prices: Prices;
  /** Whether the book has to be opened for a usage. */
  has(usage: Usage): boolean;
  load(book: Prices, usage: Usage): void;
  /** Takes over what others learned. */
  merge(stored: CachedRates): void;
  /** All that is kept. */
  readonly rates: CachedRates;
}

const dearest = '?';

/** The largest input of each size: beyond one of them some model has another rate. */
const sizes = [128_000, 199_999, 200_000, 271_999, 272_000, 512_000];
const million = 1_000_000;

function sizeClassOf({ inputTokens }: Usage): number {
  return sizes.find((most) => inputTokens <= most) ?? million;
}

export function createPriceCache(initial: CachedRates = {}): PriceCache {
  let cached = initial;
  const keyOf = (model: string, usage: Usage) => `${model} ${sizeClassOf(usage)}`;
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
      dearest: (usage) => computePrice(cached[keyOf(dearest, usage)] ?? ['', 0, 0, 0, 0], usage),
    },
    has: (usage) => find(usage) !== undefined && (find(usage) !== null || keyOf(dearest, usage) in cached),
    load(book, usage) {
      const rates = computeRates((request) => book.price(request), usage);
      store(keyOf(usage.model ?? '', usage), rates);
      if (rates === null)
        store(
          keyOf(dearest, usage),
          computeRates((request) => book.dearest(request), usage),
        );
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

/** The rates for requests of this size, from its largest: prices are whole, and small ones too small to divide by. */
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
