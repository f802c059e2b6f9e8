/** Prices of models of all vendors, from the data bundled with @pydantic/genai-prices. No network access. */

import { calcPrice, findProvider, type MatchLogic, type PriceCalculation } from '@pydantic/genai-prices';
import { SwitchgearError } from '../core/error.ts';
import { nameLengthMax, reportedNamesMax } from '../core/limits.ts';
import {
  builtinPrices,
  hourSurcharge,
  priceInMicros,
  splitUsage,
  type TokenParts,
  type TokenPrices,
  toUsd,
} from '../core/prices/builtin-prices.ts';
import { quoteValue } from '../core/quote.ts';
import type { Prices } from '../ports/prices.ts';
import { isSameVersion, listModelLookups, type ModelLookup } from './model-name.ts';

/** Custom prices for one model, in dollars per million tokens. Without a price, cached input costs as much as input. */
export interface CustomPrices {
  readonly inputUsdPerMillion: number;
  readonly outputUsdPerMillion: number;
  readonly cacheReadUsdPerMillion?: number;
  readonly cacheWriteUsdPerMillion?: number;
}

/** Options of `priceBook`. */
export interface PriceBookOptions {
  /**
   * Prices by model that override the bundled data: for contracts, own models, and models newer than the data. @default
   * {}
   */
  readonly overrides?: Readonly<Record<string, CustomPrices>>;
}

/**
 * Creates a price book. An unknown model, or a newer version of a known model, has no price.
 * @example
 * import { createSwitchgear } from 'switchgear';
 * import { priceBook } from 'switchgear/prices';
 *
 * const overrides = { 'our-model': { inputUsdPerMillion: 1, outputUsdPerMillion: 4 } };
 * const gear = createSwitchgear({ prices: priceBook({ overrides }) });
 */
export function priceBook(options: PriceBookOptions = {}): Prices {
  checkKeys('priceBook', options, ['overrides']);
  const overrides = new Map<string, TokenPrices>();
  for (const [model, prices] of Object.entries(checkObject('overrides', options.overrides ?? {}))) {
    overrides.set(model.toLowerCase(), readCustomPrices(model, prices as CustomPrices));
  }
  /** Cache of prices that are the same for every request: a lookup takes far longer than a sum. */
  const flat = new Map<string, FlatPrices>();
  /** Models without a known price. */
  const unknown = new Set<string>();

  return {
    price(usage) {
      try {
        if (!usage.model) return builtinPrices.price(usage);
        if (typeof usage.model !== 'string' || usage.model.length > nameLengthMax) return undefined;
        const parts = splitUsage(usage);
        const flatPrices = flat.get(usage.model);
        if (flatPrices !== undefined && totalInput(parts) <= flatPrices.upTo) {
          return { costUsd: toUsd(flatPriceInMicros(parts, flatPrices)), basis: flatPrices.basis };
        }
        if (unknown.has(usage.model)) return undefined;
        const lookups = listModelLookups(usage.model);
        for (const { name } of lookups) {
          const prices = overrides.get(name.toLowerCase());
          if (prices) return { costUsd: toUsd(priceInMicros(parts, prices)), basis: name };
        }
        for (const lookup of lookups) {
          const calculation = calculatePrice(parts, lookup);
          if (calculation === undefined) continue;
          const prices = readFlatPrices(calculation, lookup);
          if (prices !== undefined && flat.size < reportedNamesMax) flat.set(usage.model, prices);
          return { costUsd: toUsd(roundUpMicros(calculation.total_price)), basis: calculation.model.id };
        }
        const price = builtinPrices.price(usage);
        if (price === undefined && unknown.size < reportedNamesMax) unknown.add(usage.model);
        return price;
      } catch {
        return undefined; // The price data throws on inconsistent input; the policy decides about an unknown price.
      }
    },

    highestPrice: builtinPrices.highestPrice,
  };
}

function calculatePrice(parts: TokenParts, { name, provider }: ModelLookup): PriceCalculation | undefined {
  if (provider !== undefined && findProvider({ providerId: provider }) === undefined) return undefined;
  const usage = {
    input_tokens: totalInput(parts),
    cache_read_tokens: parts.cacheRead,
    cache_write_tokens: parts.cacheWrite,
    ...(parts.cacheWrite1h !== undefined && { cache_write_1h_tokens: parts.cacheWrite1h }),
    output_tokens: parts.output,
  };
  const calculation = calcPrice(usage, name, provider === undefined ? {} : { providerId: provider });
  return calculation === null || !isPricedByToken(calculation, name) || !isSameModel(calculation, name)
    ? undefined
    : calculation;
}

function totalInput({ uncached, cacheRead, cacheWrite }: TokenParts): number {
  return uncached + cacheRead + cacheWrite;
}

/** Dollars per million tokens of each kind. */
interface FlatPrices extends TokenParts {
  readonly basis: string;
  /** The largest input to which these prices apply. */
  readonly upTo: number;
}

const million = 1_000_000;

/** The prices of a model that do not depend on the time of day, for requests below its dearer tiers. */
function readFlatPrices({ model, model_price }: PriceCalculation, lookup: ModelLookup): FlatPrices | undefined {
  if (Array.isArray(model.prices)) return undefined;
  const tiers = Object.values(model_price).flatMap((rate) => (typeof rate === 'object' ? rate.tiers : []));
  const upTo = Math.min(...tiers.map(({ start }) => start));
  const sampleTokens = Math.min(upTo, million);
  const none = { uncached: 0, cacheRead: 0, cacheWrite: 0, output: 0 };
  const pricePerMillion = (part: keyof TokenParts) =>
    ((calculatePrice({ ...none, [part]: sampleTokens }, lookup)?.total_price ?? Number.NaN) * million) / sampleTokens;
  const prices = {
    uncached: pricePerMillion('uncached'),
    cacheRead: pricePerMillion('cacheRead'),
    cacheWrite: pricePerMillion('cacheWrite'),
    output: pricePerMillion('output'),
  };
  return Object.values(prices).every(Number.isFinite) ? { ...prices, basis: model.id, upTo } : undefined;
}

function flatPriceInMicros(parts: TokenParts, prices: FlatPrices): number {
  const dollars =
    parts.uncached * prices.uncached +
    parts.cacheRead * prices.cacheRead +
    parts.cacheWrite * prices.cacheWrite +
    (parts.cacheWrite1h ?? 0) * hourSurcharge(prices.uncached, prices.cacheWrite) +
    parts.output * prices.output;
  return roundUpMicros(dollars / million);
}

/**
 * Whether a model is priced by token. Models priced by hour or page appear as free; only models named free are free.
 */
function isPricedByToken({ model_price }: PriceCalculation, name: string): boolean {
  return model_price.input_mtok !== undefined || model_price.output_mtok !== undefined || name.endsWith(':free');
}

/** Whether the data means this model: the data matches by prefix, so a newer version could pass for an older one. */
function isSameModel({ model }: PriceCalculation, name: string): boolean {
  return isSameVersion(model.id, name) || listLiterals(model.match).some((literal) => isSameVersion(literal, name));
}

function listLiterals(match: MatchLogic): readonly string[] {
  if ('or' in match) return match.or.flatMap(listLiterals);
  if ('and' in match) return match.and.flatMap(listLiterals);
  return 'regex' in match ? [] : Object.values(match);
}

/** The share of an amount that may be floating-point noise. */
const noiseShare = 1e-12;

/** Rounds up to whole micro-dollars, ignoring floating-point noise. */
function roundUpMicros(dollars: number): number {
  const micros = dollars * 1_000_000;
  const nearest = Math.round(micros);
  const isNoise = Math.abs(micros - nearest) <= micros * noiseShare;
  return Math.min(isNoise ? nearest : Math.ceil(micros), Number.MAX_SAFE_INTEGER);
}

function checkObject(what: string, value: unknown): object {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new SwitchgearError('invalid_argument', `${what} must be an object, got ${quoteValue(value)}`);
}

/** A price under a misspelt key would be charged as something else. */
function checkKeys(what: string, value: unknown, names: readonly string[]): void {
  const unknownName = Object.keys(checkObject(what, value)).find((name) => !names.includes(name));
  if (unknownName === undefined) return;
  const message = `${what} has no ${quoteValue(unknownName)}; it has ${names.join(', ')}`;
  throw new SwitchgearError('invalid_argument', message);
}

const priceKeys: readonly (keyof CustomPrices)[] = [
  'inputUsdPerMillion',
  'outputUsdPerMillion',
  'cacheReadUsdPerMillion',
  'cacheWriteUsdPerMillion',
];

function readCustomPrices(model: string, prices: CustomPrices): TokenPrices {
  checkKeys(`the price of ${quoteValue(model)}`, prices, priceKeys);
  const cents = (key: keyof CustomPrices, fallback?: number) => {
    const dollars = prices[key] ?? fallback;
    if (typeof dollars === 'number' && Number.isFinite(dollars) && dollars >= 0) {
      return Number((dollars * 100).toPrecision(12));
    }
    const got = JSON.stringify(dollars) ?? String(dollars);
    throw new SwitchgearError('invalid_price', `${key} of ${model} must be a number of dollars from 0, got ${got}`);
  };
  return {
    input: cents('inputUsdPerMillion'),
    output: cents('outputUsdPerMillion'),
    cacheRead: cents('cacheReadUsdPerMillion', prices.inputUsdPerMillion),
    cacheWrite: cents('cacheWriteUsdPerMillion', prices.inputUsdPerMillion),
  };
}
