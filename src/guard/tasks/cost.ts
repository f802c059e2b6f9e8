/** Prices model calls one by one; a model without a known price is never free. */

import type { Cost } from '../../core/action.ts';
import { builtinPrices, toMicros } from '../../core/builtin-prices.ts';
import type { EntryPlace } from '../../core/event.ts';
import { nameLengthMax, rememberedModelsMax } from '../../core/limits.ts';
import type { Price, Usage } from '../../ports/prices.ts';
import { appendEntry } from '../journal/journal.ts';
import type { Runtime } from '../runtime/runtime.ts';

/** The cost of one model call; `costUsd` of the usage overrides the price list. */
export function priceUsage(
  runtime: Runtime,
  usage: Usage & { readonly costUsd?: number },
  place: EntryPlace,
  atMs?: number,
): Cost {
  const { prices, settings, reportedOnce: told } = runtime;
  const tokens = whole(usage.inputTokens) + whole(usage.outputTokens);
  const { costUsd = -1 } = usage;
  if (isCost(costUsd)) return { micros: Math.ceil(costUsd * 1_000_000), tokens };
  const price = readPrice(() => prices.price(usage));
  if (price !== undefined) return { micros: toMicros(price.costUsd), tokens };
  const isFree = settings.prices.onUnknownPrice === 'token_cap_only';
  const dearest = readPrice(() => prices.highestPrice(usage)) ?? builtinPrices.highestPrice(usage);
  const model = boundedModelName(usage.model ?? 'an unnamed model');
  if (!told.has(model) && told.size < rememberedModelsMax) {
    told.add(model);
    const assumed = isFree ? 'only the token cap holds it' : `the dearest known rate is assumed (${dearest.basis})`;
    appendEntry(runtime, { type: 'price-unknown', model, assumed }, place, atMs);
  }
  return { micros: isFree ? 0 : toMicros(dearest.costUsd), tokens };
}

/** The model of a usage whose unknown price must halt its task; undefined if the price or the policy allows it. */
export function findUnpricedModel({ prices, settings }: Runtime, usage: Usage): string | undefined {
  const mustHalt = settings.prices.onUnknownPrice === 'halt' && readPrice(() => prices.price(usage)) === undefined;
  return mustHalt ? boundedModelName(usage.model) : undefined;
}

/** The name of a model, bounded. */
export function boundedModelName(model: unknown): string {
  return String(model ?? '').slice(0, nameLengthMax);
}

/** The price that a price list gives; undefined if the list throws or gives no amount. */
function readPrice(read: () => Price | undefined): Price | undefined {
  try {
    const price = read();
    return isCost(price?.costUsd) ? price : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a value is an amount of money that can be booked. */
function isCost(usd: unknown): usd is number {
  return typeof usd === 'number' && usd >= 0 && usd < 1e9;
}

/** The value as a token count: whole and not negative. */
function whole(value: unknown): number {
  return typeof value === 'number' && value > 0 && value < 1e15 ? Math.ceil(value) : 0;
}
