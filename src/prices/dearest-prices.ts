/** Finds the highest prices in the bundled price data, for models without a known price. */

import { findProvider, type ModelPrice } from '@pydantic/genai-prices';
import type { TokenPrices } from '../core/builtin-prices.ts';

/** The makers and the main resellers of models: the price data cannot be enumerated, only queried by provider. */
const providers = [
  'anthropic',
  'openai',
  'google',
  'x-ai',
  'mistral',
  'deepseek',
  'cohere',
  'aws',
  'azure',
  'openrouter',
];

/** The highest price of each kind. */
export interface DearestPrices {
  /** The model with the highest output price. */
  readonly basis: string;
  readonly prices: TokenPrices;
}

/**
 * The highest price of each kind over all models and tiers, in cents per million tokens.
 * A model without a cache price is taken at its input price, so the cache is never cheaper than the input here.
 */
export function findDearestPrices(): DearestPrices {
  let basis = 'unknown';
  let input = 0;
  let output = 0;
  for (const provider of providers) {
    for (const model of findProvider({ providerId: provider })?.models ?? []) {
      for (const prices of Array.isArray(model.prices) ? model.prices.map((price) => price.prices) : [model.prices]) {
        input = Math.max(
          input,
          highestTierPrice(prices.input_mtok),
          highestTierPrice(prices.cache_read_mtok),
          highestTierPrice(prices.cache_write_mtok),
        );
        if (highestTierPrice(prices.output_mtok) <= output) continue;
        output = highestTierPrice(prices.output_mtok);
        basis = model.id;
      }
    }
  }
  return {
    basis,
    prices: { input: 100 * input, output: 100 * output, cacheRead: 100 * input, cacheWrite: 100 * input },
  };
}

/** The highest tier of a price, in dollars. */
function highestTierPrice(price: ModelPrice[string]): number {
  if (typeof price !== 'object') return price ?? 0;
  return Math.max(price.base, ...price.tiers.map((tier) => tier.price));
}
