/**
 * Counts each token once, however many events report it. Usage of a model call is kept by its id, and the latest report
 * replaces earlier ones; of a total only the part that no call has reported is added.
 */

import { createRecentMap, evictOldest } from '../../core/bounded.ts';
import { countedIdsMax } from '../../core/limits.ts';
import type { Tokens, TotalEvent, UsageEvent } from '../reading/agent-event.ts';
import type { Draft } from '../reading/reader.ts';

/** Token counts and their cost in micro-dollars. */
export interface PricedTokens extends Tokens {
  readonly micros: number;
}

/** Returns the cost of a usage as one model call. */
export type Pricing = (usage: Tokens & { readonly model?: string; readonly costUsd?: number }) => number;

/** One observation of usage, to be charged to a task. */
export interface UsageCharge extends PricedTokens {
  readonly model?: string;
}

type MaybePriced = Tokens & { readonly micros?: number };

/** The usage reported by calls, and the part of reported totals that no call has reported yet. */
interface CountedSum {
  fromCalls: PricedTokens;
  aheadOfCalls: PricedTokens;
}

const zero: PricedTokens = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, micros: 0 };

export interface UsageLedger {
  /** Counts a model call; returns the additional usage, or undefined if there is none. */
  countCall(event: UsageEvent): UsageCharge | undefined;
  countTotal(event: TotalEvent): UsageCharge | undefined;
  /** The total usage, including usage that could no longer be charged to a task. */
  readonly spent: PricedTokens;
}

export function createUsageLedger(price: Pricing): UsageLedger {
  const calls = createRecentMap<UsageCharge>(countedIdsMax);
  /** Counted sums of a run, by model, and of its threads, by thread id. */
  const runs = new Map<string, CountedSum>();
  const threads = new Map<string, CountedSum>();
  let spent = zero;

  function getSum(sums: Map<string, CountedSum>, key = ''): CountedSum {
    let sum = sums.get(key);
    if (sum === undefined) {
      sum = { fromCalls: zero, aheadOfCalls: zero };
      evictOldest(sums, countedIdsMax);
      sums.set(key, sum);
    }
    return sum;
  }

  function addCharge(charge: PricedTokens, model: string | undefined): UsageCharge | undefined {
    if (charge.inputTokens <= 0 && charge.outputTokens <= 0 && charge.micros <= 0) return undefined;
    spent = addSpend(spent, charge);
    return model === undefined ? charge : { ...charge, model };
  }

  return {
    countCall(event) {
      const { id, agent, costUsd } = event;
      const earlier = calls.get(id);
      const model = event.model ?? earlier?.model;
      if (earlier !== undefined && model === earlier.model && costUsd === undefined && isCounted(event, earlier)) {
        return undefined; // Most lines repeat the usage of the first line of a message.
      }
      const counted = earlier ?? zero;
      // A late line must not reduce counts.
      const latest: Draft<UsageCharge> = combineSpend(counted, event, Math.max);
      if (model !== undefined) latest.model = model;
      latest.micros = Math.max(counted.micros, price(costUsd === undefined ? latest : { ...latest, costUsd }));
      calls.set(id, latest);
      const increase = earlier === undefined ? latest : subtractSpend(latest, earlier);
      const uncounted = deductCounted(
        getSum(threads, agent),
        increase,
        deductCounted(getSum(runs, model), increase, increase),
      );
      return addCharge(uncounted, model);
    },

    countTotal(event) {
      const { of, agent, model, calls: callCount, resumed } = event;
      const sum = of === 'run' ? getSum(runs, model) : getSum(threads, agent);
      const counted = addSpend(sum.fromCalls, sum.aheadOfCalls);
      const uncounted = combineSpend(event, counted, (a, b) => Math.max(0, a - b));
      // Usage from before this run is not charged.
      if (resumed === true || (uncounted.inputTokens === 0 && uncounted.outputTokens === 0)) return undefined;
      const share = combineSpend(uncounted, zero, (a) => Math.ceil(a / callCount));
      const micros = price({ ...share, ...(model && { model }) }) * callCount;
      const priced = { ...uncounted, micros };
      sum.aheadOfCalls = addSpend(sum.aheadOfCalls, priced);
      return addCharge(priced, model);
    },

    get spent() {
      return spent;
    },
  };
}

function isCounted(event: Tokens, counted: Tokens): boolean {
  return (
    event.inputTokens <= counted.inputTokens &&
    event.outputTokens <= counted.outputTokens &&
    event.cacheReadTokens <= counted.cacheReadTokens &&
    event.cacheWriteTokens <= counted.cacheWriteTokens &&
    (event.cacheWrite1hTokens ?? 0) <= (counted.cacheWrite1hTokens ?? 0)
  );
}

/** Returns the part of a charge that no total has counted before, and records the call in the sum. */
function deductCounted(sum: CountedSum, increase: PricedTokens, charge: PricedTokens): PricedTokens {
  sum.fromCalls = addSpend(sum.fromCalls, increase);
  if (sum.aheadOfCalls === zero) return charge;
  const covered = combineSpend(sum.aheadOfCalls, charge, Math.min);
  sum.aheadOfCalls = subtractSpend(sum.aheadOfCalls, covered);
  return subtractSpend(charge, covered);
}

function addSpend(a: PricedTokens, b: PricedTokens): PricedTokens {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    ...combineHourWrites(a, b, (x, y) => x + y),
    micros: a.micros + b.micros,
  };
}

function subtractSpend(a: PricedTokens, b: PricedTokens): PricedTokens {
  return {
    inputTokens: a.inputTokens - b.inputTokens,
    outputTokens: a.outputTokens - b.outputTokens,
    cacheReadTokens: a.cacheReadTokens - b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens - b.cacheWriteTokens,
    ...combineHourWrites(a, b, (x, y) => x - y),
    micros: a.micros - b.micros,
  };
}

/** Combines two sums field by field; an unpriced sum has the cost 0. */
function combineSpend(a: MaybePriced, b: MaybePriced, combineField: (a: number, b: number) => number): PricedTokens {
  return {
    inputTokens: combineField(a.inputTokens, b.inputTokens),
    outputTokens: combineField(a.outputTokens, b.outputTokens),
    cacheReadTokens: combineField(a.cacheReadTokens, b.cacheReadTokens),
    cacheWriteTokens: combineField(a.cacheWriteTokens, b.cacheWriteTokens),
    ...combineHourWrites(a, b, combineField),
    micros: combineField(a.micros ?? 0, b.micros ?? 0),
  };
}

/** Most calls have no cache writes for an hour. */
function combineHourWrites(
  { cacheWrite1hTokens: a = 0 }: Tokens,
  { cacheWrite1hTokens: b = 0 }: Tokens,
  combineField: (a: number, b: number) => number,
): Pick<Tokens, 'cacheWrite1hTokens'> {
  return a === 0 && b === 0 ? none : { cacheWrite1hTokens: combineField(a, b) };
}

const none = {};
