/** Prices of models of all vendors, from the data bundled with @pydantic/genai-prices. It never asks a network. */

import { calcPrice, findProvider, type MatchLogic, type PriceCalculation } from '@pydantic/genai-prices';
import { priceInMicros, splitUsage, type TokenParts, type TokenPrices } from '../core/builtin-prices.ts';
import { SwitchgearError } from '../core/error.ts';
import { nameLengthMax, toldModelsMax } from '../core/limits.ts';
import type { Prices, Usage } from '../ports/prices.ts';
import { type Dearest, dearestRates } from './dearest.ts';
import { isSameVersion, type Lookup, lookupsOf } from './model-name.ts';

/** Rates of your own for one model, in dollars per million tokens. Cached input costs as much as input unless said. */
export interface OwnRates {
  readonly inputPerMillion: number;
  readonly outputPerMillion: number;
  readonly cacheReadPerMillion?: number;
  readonly cacheWritePerMillion?: number;
}

export interface PriceBookOptions {
  /** Rates by model, before the book's: for contracts, models of your own, and models too new for the book. */
  readonly overrides?: Readonly<Record<string, OwnRates>>;
}

/** A book of rates. A model it does not know, or knows only an earlier version of, has no price. */
export function priceBook(options: PriceBookOptions = {}): Prices {
  const overrides = new Map<string, TokenPrices>();
  for (const [model, rates] of Object.entries(options.overrides ?? {})) {
    overrides.set(model.toLowerCase(), ratesOf(model, rates));
  }
  let dearest: Dearest | undefined;
  /** Rates of models, as far as they are the same for every request: asking the book takes far longer than a sum. */
  const flat = new Map<string, FlatRates>();
  /** Models that are in no book. */
  const unknown = new Set<string>();

  return {
    price(usage) {
      try {
        if (typeof usage.model !== 'string' || usage.model.length > nameLengthMax) return undefined;
        const parts = splitUsage(usage);
        const known = flat.get(usage.model);
        if (known !== undefined && inputOf(parts) <= known.upTo) {
          return { micros: flatMicros(parts, known), basis: known.basis };
        }
        if (unknown.has(usage.model)) return undefined;
        const lookups = lookupsOf(usage.model);
        for (const { name } of lookups) {
          const rates = overrides.get(name.toLowerCase());
          if (rates) return { micros: priceInMicros(parts, rates), basis: name };
        }
        for (const lookup of lookups) {
          const found = calculated(parts, lookup);
          if (found === undefined) continue;
          const rates = flatRates(found, lookup);
          if (rates !== undefined && flat.size < toldModelsMax) flat.set(usage.model, rates);
          return { micros: wholeMicros(found.total_price), basis: found.model.id };
        }
        if (unknown.size < toldModelsMax) unknown.add(usage.model);
        return undefined;
      } catch {
        return undefined; // The book throws on data it finds inconsistent; an unknown price is dealt with by policy.
      }
    },

    dearest(usage: Usage) {
      dearest ??= dearestOf(overrides, dearestRates());
      return { micros: priceInMicros(splitUsage(usage), dearest.rates), basis: dearest.basis };
    },
  };
}

function calculated(parts: TokenParts, { name, provider }: Lookup): PriceCalculation | undefined {
  if (provider !== undefined && findProvider({ providerId: provider }) === undefined) return undefined;
  const usage = {
    input_tokens: inputOf(parts),
    cache_read_tokens: parts.cacheRead,
    cache_write_tokens: parts.cacheWrite,
    output_tokens: parts.output,
  };
  const found = calcPrice(usage, name, provider === undefined ? {} : { providerId: provider });
  return found === null || !isPricedByToken(found, name) || !isMeant(found, name) ? undefined : found;
}

function inputOf({ uncached, cacheRead, cacheWrite }: TokenParts): number {
  return uncached + cacheRead + cacheWrite;
}

/** Dollars for a million tokens of each kind. */
interface FlatRates extends TokenParts {
  readonly basis: string;
  /** The largest input that they are for. */
  readonly upTo: number;
}

const million = 1_000_000;

/** The rates of a model that does not go by the time of day, for requests too small for its dearer tiers. */
function flatRates({ model, model_price }: PriceCalculation, lookup: Lookup): FlatRates | undefined {
  if (Array.isArray(model.prices)) return undefined;
  const tiers = Object.values(model_price).flatMap((rate) => (typeof rate === 'object' ? rate.tiers : []));
  const upTo = Math.min(...tiers.map(({ start }) => start));
  const asked = Math.min(upTo, million);
  const none = { uncached: 0, cacheRead: 0, cacheWrite: 0, output: 0 };
  const rate = (part: keyof TokenParts) =>
    ((calculated({ ...none, [part]: asked }, lookup)?.total_price ?? Number.NaN) * million) / asked;
  const rates = {
    uncached: rate('uncached'),
    cacheRead: rate('cacheRead'),
    cacheWrite: rate('cacheWrite'),
    output: rate('output'),
  };
  return Object.values(rates).every(Number.isFinite) ? { ...rates, basis: model.id, upTo } : undefined;
}

function flatMicros(parts: TokenParts, rates: FlatRates): number {
  const dollars =
    parts.uncached * rates.uncached +
    parts.cacheRead * rates.cacheRead +
    parts.cacheWrite * rates.cacheWrite +
    parts.output * rates.output;
  return wholeMicros(dollars / million);
}

/** Models priced by the hour or page come out as free; only those that say so are. */
function isPricedByToken({ model_price }: PriceCalculation, name: string): boolean {
  return model_price.input_mtok !== undefined || model_price.output_mtok !== undefined || name.endsWith(':free');
}

/** The book matches by prefixes, so that a newer version may pass for an older one: some name of it must be as new. */
function isMeant({ model }: PriceCalculation, name: string): boolean {
  return isSameVersion(model.id, name) || literalsOf(model.match).some((literal) => isSameVersion(literal, name));
}

function literalsOf(match: MatchLogic): readonly string[] {
  if ('or' in match) return match.or.flatMap(literalsOf);
  if ('and' in match) return match.and.flatMap(literalsOf);
  return 'regex' in match ? [] : Object.values(match);
}

/** Rounded up, but not because of the last bits of a fraction. */
function wholeMicros(dollars: number): number {
  return Math.min(Math.ceil(Number((dollars * 1_000_000).toPrecision(12))), Number.MAX_SAFE_INTEGER);
}

function dearestOf(overrides: ReadonlyMap<string, TokenPrices>, book: Dearest): Dearest {
  let { basis, rates } = book;
  for (const [model, own] of overrides) {
    if (own.output > rates.output) basis = model;
    const input = Math.max(rates.input, own.input, own.cacheRead, own.cacheWrite);
    rates = { input, output: Math.max(rates.output, own.output), cacheRead: input, cacheWrite: input };
  }
  return { basis, rates };
}

function ratesOf(model: string, rates: OwnRates): TokenPrices {
  const cents = (key: keyof OwnRates, fallback?: number) => {
    const dollars = rates[key] ?? fallback;
    if (typeof dollars === 'number' && Number.isFinite(dollars) && dollars >= 0) {
      return Number((dollars * 100).toPrecision(12));
    }
    const got = JSON.stringify(dollars) ?? String(dollars);
    throw new SwitchgearError('invalid_price', `${key} of ${model} must be a number of dollars from 0, got ${got}`);
  };
  return {
    input: cents('inputPerMillion'),
    output: cents('outputPerMillion'),
    cacheRead: cents('cacheReadPerMillion', rates.inputPerMillion),
    cacheWrite: cents('cacheWritePerMillion', rates.inputPerMillion),
  };
}
