/** Built-in prices without a dependency: Sonnet 4 list prices, and those of an expensive model for unknown models. */

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
}

/** Tokens by kind of price, each finite and not negative. */
export interface TokenParts {
  readonly uncached: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
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
const opus4: TokenPrices = { input: 1500, output: 7500, cacheRead: 150, cacheWrite: 1875 };

/** Sonnet 4, 4.5 and 4.6 under the names of all vendors; any other version is an unknown model. */
const sonnet4Names = /claude-(?:sonnet-4(?:[-.][056])?|4(?:[-.][056])?-sonnet)(?=$|[@:[]|-(?:20\d{6}|latest|v\d))/i;

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

/** The prices of the root entry point. A call without a model name is priced as Sonnet 4. */
export const builtinPrices = Object.freeze({
  price(usage: TokenUsage): { readonly costUsd: number; readonly basis: string } | undefined {
    if (usage.model && !sonnet4Names.test(usage.model)) return undefined;
    return { costUsd: toUsd(priceInMicros(splitUsage(usage), sonnet4)), basis: 'claude-sonnet-4' };
  },
  highestPrice(usage: TokenUsage): { readonly costUsd: number; readonly basis: string } {
    return { costUsd: toUsd(priceInMicros(splitUsage(usage), opus4)), basis: 'claude-opus-4' };
  },
});

/** Splits a usage by kind of price. If the cache exceeds the input, the input excludes the cache and stays whole. */
export function splitUsage(usage: TokenUsage): TokenParts {
  const input = readTokenCount(usage.inputTokens);
  const cacheRead = readTokenCount(usage.cacheReadTokens);
  const cacheWrite = readTokenCount(usage.cacheWriteTokens);
  const cached = cacheRead + cacheWrite;
  const uncached = cached > input ? input : input - cached;
  return { uncached, cacheRead, cacheWrite, output: readTokenCount(usage.outputTokens) };
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
    parts.output * prices.output
  );
}

function readTokenCount(count: unknown): number {
  return typeof count === 'number' && Number.isFinite(count) && count > 0 ? count : 0;
}

const microsPerUsd = 1_000_000;

/** Converts dollars to whole micro-dollars, rounded up; uses 15 digits, so that binary rounding errors add nothing. */
export function toMicros(usd: number): number {
  return Math.min(Math.ceil(Number((usd * microsPerUsd).toPrecision(15))), Number.MAX_SAFE_INTEGER);
}

/** Converts micro-dollars, the internal unit of money, to dollars, the unit that users see. */
export function toUsd(micros: number): number {
  return micros / microsPerUsd;
}
