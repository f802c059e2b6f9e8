/**
 * What was spent, once, whoever tells it: a model call by its id, where the last word replaces the ones before, and
 * totals, of which only what no call has told yet is added.
 */

import { makeRoom, recent } from '../../core/bounded.ts';
import { countedIdsMax } from '../../core/limits.ts';
import type { Tokens, TotalEvent, UsageEvent } from '../reading/agent-event.ts';
import type { Draft } from '../reading/reader.ts';

/** Tokens and what they cost. */
export interface TokenSpend extends Tokens {
  readonly micros: number;
}

/** What a usage costs, as one model call. */
export type Pricing = (usage: Tokens & { readonly model?: string; readonly costUsd?: number }) => number;

/** What is to be charged, as one observation of usage. */
export interface Charge extends TokenSpend {
  readonly model?: string;
}

type Priced = Tokens & { readonly micros?: number };

/** What calls told, and what a total told beyond that and calls may still tell. */
interface Sum {
  told: TokenSpend;
  ahead: TokenSpend;
}

const zero: TokenSpend = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, micros: 0 };

export interface UsageLedger {
  /** What one call adds to what is known; undefined where it adds nothing. */
  call(event: UsageEvent): Charge | undefined;
  total(event: TotalEvent): Charge | undefined;
  /** Everything, whether or not anybody could still be charged. */
  readonly spent: TokenSpend;
}

export function usageLedger(price: Pricing): UsageLedger {
  const calls = recent<Charge>(countedIdsMax);
  /** What is known of a run by its models, and of its threads. */
  const runs = new Map<string, Sum>();
  const threads = new Map<string, Sum>();
  let spent = zero;

  function sumOf(sums: Map<string, Sum>, key = ''): Sum {
    let sum = sums.get(key);
    if (sum === undefined) {
      sum = { told: zero, ahead: zero };
      makeRoom(sums, countedIdsMax);
      sums.set(key, sum);
    }
    return sum;
  }

  function add(more: TokenSpend, model: string | undefined): Charge | undefined {
    if (more.inputTokens <= 0 && more.outputTokens <= 0 && more.micros <= 0) return undefined;
    spent = added(spent, more);
    return model === undefined ? more : { ...more, model };
  }

  return {
    call(event) {
      const { id, agent, costUsd } = event;
      const before = calls.get(id);
      const model = event.model ?? before?.model;
      if (before !== undefined && model === before.model && costUsd === undefined && isKnown(event, before)) {
        return undefined; // Most lines repeat what the first of a message said.
      }
      const known = before ?? zero;
      // A line that was late must not take back what a later one said.
      const now: Draft<Charge> = combine(known, event, Math.max);
      if (model !== undefined) now.model = model;
      now.micros = Math.max(known.micros, price(costUsd === undefined ? now : { ...now, costUsd }));
      calls.set(id, now);
      const told = before === undefined ? now : taken(now, before);
      const more = unpaid(sumOf(threads, agent), told, unpaid(sumOf(runs, model), told, told));
      return add(more, model);
    },

    total(event) {
      const { of, agent, model, calls: times, resumed } = event;
      const sum = of === 'run' ? sumOf(runs, model) : sumOf(threads, agent);
      const known = added(sum.told, sum.ahead);
      const more = combine(event, known, (a, b) => Math.max(0, a - b));
      // What a thread used before this run is nobody's to pay now.
      if (resumed === true || (more.inputTokens === 0 && more.outputTokens === 0)) return undefined;
      const share = combine(more, zero, (a) => Math.ceil(a / times));
      const micros = price({ ...share, ...(model && { model }) }) * times;
      const priced = { ...more, micros };
      sum.ahead = added(sum.ahead, priced);
      return add(priced, model);
    },

    get spent() {
      return spent;
    },
  };
}

function isKnown(event: Tokens, known: Tokens): boolean {
  return (
    event.inputTokens <= known.inputTokens &&
    event.outputTokens <= known.outputTokens &&
    event.cacheReadTokens <= known.cacheReadTokens &&
    event.cacheWriteTokens <= known.cacheWriteTokens
  );
}

/** What of a charge no total has told before; the sum learns of the call. */
function unpaid(sum: Sum, told: TokenSpend, more: TokenSpend): TokenSpend {
  sum.told = added(sum.told, told);
  if (sum.ahead === zero) return more;
  const paid = combine(sum.ahead, more, Math.min);
  sum.ahead = taken(sum.ahead, paid);
  return taken(more, paid);
}

function added(a: TokenSpend, b: TokenSpend): TokenSpend {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    micros: a.micros + b.micros,
  };
}

function taken(a: TokenSpend, b: TokenSpend): TokenSpend {
  return {
    inputTokens: a.inputTokens - b.inputTokens,
    outputTokens: a.outputTokens - b.outputTokens,
    cacheReadTokens: a.cacheReadTokens - b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens - b.cacheWriteTokens,
    micros: a.micros - b.micros,
  };
}

/** Two sums, field by field; what was not priced yet costs nothing. */
function combine(a: Priced, b: Priced, how: (a: number, b: number) => number): TokenSpend {
  return {
    inputTokens: how(a.inputTokens, b.inputTokens),
    outputTokens: how(a.outputTokens, b.outputTokens),
    cacheReadTokens: how(a.cacheReadTokens, b.cacheReadTokens),
    cacheWriteTokens: how(a.cacheWriteTokens, b.cacheWriteTokens),
    micros: how(a.micros ?? 0, b.micros ?? 0),
  };
}
