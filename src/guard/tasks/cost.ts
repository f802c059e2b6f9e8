/** Prices model calls one by one; a model without a known price is never free. */

import type { Action, Cost } from '../../core/action.ts';
import type { EntryPlace } from '../../core/event.ts';
import { isMatch } from '../../core/glob.ts';
import { nameLengthMax, reportedNamesMax } from '../../core/limits.ts';
import { builtinPrices, toMicros } from '../../core/prices/builtin-prices.ts';
import { isLocalModel, isResold } from '../../core/prices/model-name.ts';
import { readCount } from '../../core/read-count.ts';
import type { Price, Usage } from '../../ports/prices.ts';
import { appendEntry } from '../journal/journal.ts';
import type { Runtime } from '../runtime/runtime.ts';

/** A usage with a known cost, or with tokens that the host did not report and the adapter estimated. */
export interface PricedUsage extends Usage {
  readonly costUsd?: number;
  readonly estimated?: true;
}

/** The upper bounds that were reserved for a call. */
export type ReservedCost = Pick<Action, 'worstMicros' | 'worstTokens'>;

/** The cost of one model call; `costUsd` of the usage overrides the price list. */
export function priceUsage(
  runtime: Runtime,
  reported: PricedUsage,
  place: EntryPlace,
  atMs?: number,
  reserved: ReservedCost = nothingReserved,
): Cost {
  const { prices, settings } = runtime;
  const usage = readUsage(reported);
  if (usage === undefined) return chargeReserved(runtime, reserved, place, atMs);
  const tokens = usage.inputTokens + usage.outputTokens;
  const counted = usage.estimated === true ? { tokens, estimated: true as const } : { tokens };
  const { costUsd = -1 } = usage;
  if (isCost(costUsd)) return { micros: Math.ceil(costUsd * 1_000_000), ...counted };
  if (isFree(runtime, usage.model)) return { micros: 0, ...counted };
  const price = readPrice(() => prices.price(usage));
  if (price !== undefined) return { micros: toMicros(price.costUsd), ...counted };
  const isUncounted = settings.prices.onUnknownPrice === 'token_cap_only';
  const dearest = readPrice(() => prices.highestPrice(usage)) ?? builtinPrices.highestPrice(usage);
  const assumed = isUncounted ? 'only the token cap holds it' : `it is charged as ${dearest.basis} (guessed)`;
  reportUnknownPrice(runtime, boundedModelName(usage.model), assumed, place, atMs);
  return isUncounted ? { micros: 0, ...counted } : { micros: toMicros(dearest.costUsd), ...counted, guessed: true };
}

function reportUnknownPrice(
  runtime: Runtime,
  model: string,
  assumption: string,
  place: EntryPlace,
  atMs: number | undefined,
): void {
  const { reportedOnce: reported } = runtime;
  if (reported.has(model) || reported.size >= reportedNamesMax) return;
  reported.add(model);
  const name = JSON.stringify(model);
  const overrides = `{ ${name}: { inputUsdPerMillion: 1, outputUsdPerMillion: 4 } }`;
  const remedy = `set prices: priceBook({ overrides: ${overrides} }), or prices.free = [${name}] if it costs nothing`;
  appendEntry(runtime, { type: 'price-unknown', model, assumed: `${assumption}; ${remedy}` }, place, atMs);
}

/** Whether a model costs nothing: the policy names it, or its name says that a program on this machine runs it. */
function isFree({ settings }: Runtime, model: unknown): boolean {
  if (typeof model !== 'string' || model === '') return false;
  // A bare name in the policy does not mean the same model at a reseller.
  const bare = isResold(model) ? [] : [model.slice(model.lastIndexOf('/') + 1)];
  const names = [model, ...bare].map((name) => name.toLowerCase());
  const { free } = settings.prices;
  return free.some((pattern) => names.some((name) => isMatch(pattern.toLowerCase(), name))) || isLocalModel(model);
}

/** The model of a usage whose unknown price must halt its task; undefined if the price or the policy allows it. */
export function findUnpricedModel(runtime: Runtime, usage: Usage): string | undefined {
  if (runtime.settings.prices.onUnknownPrice !== 'halt') return undefined;
  const mustHalt = readPrice(() => runtime.prices.price(usage)) === undefined && !isFree(runtime, usage.model);
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

/** A usage as numbers; undefined if it cannot be read, or has neither a count nor a cost. */
function readUsage(usage: unknown): PricedUsage | undefined {
  if (typeof usage !== 'object' || usage === null) return undefined;
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, cacheWrite1hTokens, ...rest } = usage as Record<
    string,
    unknown
  >;
  const input = readCount(inputTokens);
  const output = readCount(outputTokens);
  const cacheRead = readCount(cacheReadTokens);
  const cacheWrite = readCount(cacheWriteTokens);
  const cacheWrite1h = readCount(cacheWrite1hTokens) ?? 0;
  if (input === undefined || output === undefined || cacheRead === undefined || cacheWrite === undefined)
    return undefined;
  if ((inputTokens ?? outputTokens ?? undefined) === undefined && !isCost(rest.costUsd)) return undefined;
  return {
    ...rest,
    inputTokens: input,
    outputTokens: output,
    ...(cacheReadTokens !== undefined && { cacheReadTokens: cacheRead }),
    ...(cacheWriteTokens !== undefined && { cacheWriteTokens: cacheWrite }),
    ...(cacheWrite1h > 0 && { cacheWrite1hTokens: cacheWrite1h }),
  };
}

/** The cost of a call whose usage cannot be read: what was reserved for the call, reported once. */
function chargeReserved(
  runtime: Runtime,
  { worstMicros, worstTokens }: ReservedCost,
  place: EntryPlace,
  atMs?: number,
): Cost {
  const { reportedOnce: told } = runtime;
  if (!told.has(unreadableUsage)) {
    told.add(unreadableUsage);
    const assumed = 'its usage cannot be read, so it costs what was reserved';
    appendEntry(runtime, { type: 'price-unknown', model: unreadableUsage, assumed }, place, atMs);
  }
  return { micros: worstMicros, tokens: worstTokens };
}

const unreadableUsage = 'a model call without readable usage';
const nothingReserved: ReservedCost = { worstMicros: 0, worstTokens: 0 };
