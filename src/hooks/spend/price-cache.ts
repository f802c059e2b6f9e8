/**
 * What models cost, for a process that has no time to open the book: what it said of a model once is kept. Rates may
 * depend on the size of a request, so they are kept for each size by itself, as the book tells sizes apart.
 */

import { hookPricesMax } from '../../core/limits.ts';
import type { Price, Prices, Usage } from '../../ports/prices.ts';

/** Micro-dollars for a token of each kind, and the model whose rates they are; null = the book does not know it. */
export type KeptRates = Readonly<Record<string, Kept | null>>;
type Kept = readonly [basis: string, input: number, output: number, cacheRead: number, cacheWrite: number];

export interface RateKeeper {
  readonly prices: Prices;
  /** Whether the book has to be opened for a usage. */
  knows(usage: Usage): boolean;
  learn(book: Prices, usage: Usage): void;
  /** Takes over what others learned. */
  recall(others: KeptRates): void;
  /** All that is kept. */
  readonly kept: KeptRates;
}

const dearest = '?';

/** The largest input of each size: beyond one of them some model has another rate. */
const sizes = [128_000, 199_999, 200_000, 271_999, 272_000, 512_000];
const million = 1_000_000;

function sizeOf({ inputTokens }: Usage): number {
  return sizes.find((most) => inputTokens <= most) ?? million;
}

export function rateKeeper(before: KeptRates = {}): RateKeeper {
  let kept = before;
  const keyOf = (model: string, usage: Usage) => `${model} ${sizeOf(usage)}`;
  const known = (usage: Usage) => kept[keyOf(usage.model ?? '', usage)];
  const keep = (key: string, rates: Kept | null) => {
    kept = Object.fromEntries([...Object.entries(kept), [key, rates] as const].slice(-hookPricesMax));
  };
  return {
    prices: {
      price(usage) {
        const rates = known(usage);
        return rates ? priced(rates, usage) : undefined;
      },
      dearest: (usage) => priced(kept[keyOf(dearest, usage)] ?? ['', 0, 0, 0, 0], usage),
    },
    knows: (usage) => known(usage) !== undefined && (known(usage) !== null || keyOf(dearest, usage) in kept),
    learn(book, usage) {
      const rates = ratesAt((asked) => book.price(asked), usage);
      keep(keyOf(usage.model ?? '', usage), rates);
      if (rates === null)
        keep(
          keyOf(dearest, usage),
          ratesAt((asked) => book.dearest(asked), usage),
        );
    },
    recall(others) {
      kept = Object.fromEntries(Object.entries({ ...others, ...kept }).slice(-hookPricesMax));
    },
    get kept() {
      return kept;
    },
  };
}

function priced([basis, input, output, cacheRead, cacheWrite]: Kept, usage: Usage): Price {
  const { inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage;
  const fresh = Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens);
  const micros = fresh * input + outputTokens * output + cacheReadTokens * cacheRead + cacheWriteTokens * cacheWrite;
  return { micros: Math.ceil(micros - 1e-6), basis };
}

/** The rates for requests of this size, from its largest: prices are whole, and small ones too small to divide by. */
function ratesAt(price: (usage: Usage) => Price | undefined, usage: Usage): Kept | null {
  const many = sizeOf(usage);
  const asked = { ...(usage.model !== undefined && { model: usage.model }), inputTokens: many, outputTokens: 0 };
  const whole = price(asked);
  if (whole === undefined) return null;
  const micros = (more: object) => price({ ...asked, ...more })?.micros ?? whole.micros;
  const output = (micros({ outputTokens: million }) - whole.micros) / million;
  const cached = [micros({ cacheReadTokens: many }) / many, micros({ cacheWriteTokens: many }) / many] as const;
  return [whole.basis, whole.micros / many, output, ...cached];
}
