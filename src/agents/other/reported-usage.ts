/** Reads tokens and money as programs report them, of one model call or as a sum. */

import { readAnyTokens } from '../../core/prices/any-tokens.ts';
import type { AgentEvent, UsageEvent } from '../reading/agent-event.ts';
import { asObject, asText, type Draft, type JsonObject } from '../reading/reader.ts';

/** The names of the object with the tokens of an event. */
const usageNames = ['usage', 'usageMetadata', 'tokens', 'token_usage', 'tokenUsage', 'totalUsage'];
/** The cost of one model call, and the cost of all of them so far. */
const callCostNames = ['costUsd', 'cost_usd', 'costUSD'];
const totalCostNames = ['total_cost_usd', 'totalCostUsd', 'totalCostUSD', 'total_cost', 'totalCost'];

/** The object with the tokens of an event, if there is one. */
export function findUsage(event: JsonObject): JsonObject | undefined {
  const name = usageNames.find((each) => asObject(event[each]) === event[each]);
  return name === undefined ? undefined : asObject(event[name]);
}

/** Reads the usage of an event: in its field `usage`, or its own fields. Undefined if no count can be read. */
export function readUsage(event: JsonObject, nameUsage: () => string): readonly AgentEvent[] | undefined {
  const usage = { ...event, ...findUsage(event) };
  const tokens = readAnyTokens(usage);
  const costUsd = readCallCost(event, usage, tokens !== undefined);
  if (tokens === undefined && costUsd === undefined) return undefined;
  const none = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const read: Draft<UsageEvent> = { type: 'usage', id: asText(event.id) ?? nameUsage(), ...(tokens ?? none) };
  const model = asText(event.model) ?? asText(usage.model);
  if (model !== undefined) read.model = model;
  if (costUsd !== undefined) read.costUsd = costUsd;
  return [read];
}

/** The cost of a model call. A bare `cost` may be in any unit, so tokens are preferred to it. */
function readCallCost(event: JsonObject, usage: JsonObject, hasTokens: boolean): number | undefined {
  const { cost } = usage;
  const parts = asObject(cost);
  return (
    findDollars(event, callCostNames) ??
    findDollars(usage, callCostNames) ??
    readDollars(parts.total ?? parts.usd ?? parts.total_usd) ??
    (hasTokens ? undefined : readDollars(cost))
  );
}

/** The cost of the run so far, as an event reports it. */
export function readTotalCost(event: JsonObject): number | undefined {
  return findDollars(event, totalCostNames) ?? findDollars(asObject(findUsage(event)), totalCostNames);
}

function findDollars(fields: JsonObject, names: readonly string[]): number | undefined {
  for (const name of names) {
    const dollars = readDollars(fields[name]);
    if (dollars !== undefined) return dollars;
  }
  return undefined;
}

/** An amount as a number, or as a text like `0.25` and `$0.25`. */
function readDollars(value: unknown): number | undefined {
  const amount = typeof value === 'string' && /^\$?\d{1,20}(\.\d{1,20})?$/.test(value) ? value.replace('$', '') : value;
  const dollars = typeof amount === 'string' ? Number(amount) : amount;
  return typeof dollars === 'number' && Number.isFinite(dollars) && dollars >= 0 ? dollars : undefined;
}

/** Creates a function that returns what was spent since the last total, so that no part of a sum is counted twice. */
export function trackTotalCost(): (total: number) => number {
  let last = 0;
  return (total) => {
    const increase = total >= last ? total - last : total; // A smaller sum is that of another turn.
    last = total;
    return increase;
  };
}
