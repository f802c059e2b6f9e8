/** What model calls cost: priced one by one, and never at zero because a price is unknown. */

import type { Cost } from '../core/action.ts';
import type { EntryPlace } from '../core/event.ts';
import { toldModelsMax } from '../core/limits.ts';
import type { PriceSettings } from '../core/settings.ts';
import type { Prices, Usage } from '../ports/prices.ts';
import type { Notebook } from './notebook.ts';

export interface Spending {
  /** The cost of one model call; `costUsd` where the host knows it better. */
  costOf(usage: Usage & { readonly costUsd?: number }, place: EntryPlace, atMs: number): Cost;
  /** Whether a call of an unknown price has to end the task. */
  haltsOn(usage: Usage): boolean;
}

export function createSpending(prices: Prices, settings: () => PriceSettings, notes: Notebook): Spending {
  const told = new Set<string>();

  function costOf(usage: Usage & { readonly costUsd?: number }, place: EntryPlace, atMs: number): Cost {
    const tokens = whole(usage.inputTokens) + whole(usage.outputTokens);
    if (usage.costUsd !== undefined && usage.costUsd >= 0 && usage.costUsd < 1e9) {
      return { micros: Math.ceil(usage.costUsd * 1_000_000), tokens };
    }
    const price = prices.price(usage);
    // A price that is no number would switch the limit off for good: it is no price.
    if (price !== undefined && price.micros >= 0) return { micros: price.micros, tokens };
    const mode = settings().onUnknownPrice;
    const dearest = prices.dearest(usage);
    const model = String(usage.model ?? 'an unnamed model').slice(0, 256);
    if (!told.has(model) && told.size < toldModelsMax) {
      told.add(model);
      const assumed =
        mode === 'token_cap_only'
          ? 'only the token cap holds it'
          : `the dearest known rate is assumed (${dearest.basis})`;
      notes.write({ type: 'price-unknown', model, assumed }, place, atMs);
    }
    return { micros: mode === 'token_cap_only' ? 0 : dearest.micros, tokens };
  }

  return {
    costOf,
    haltsOn: (usage) => settings().onUnknownPrice === 'halt' && prices.price(usage) === undefined,
  };
}

/** A count of tokens as it should be: whole and not negative, whatever came. */
function whole(value: unknown): number {
  return typeof value === 'number' && value > 0 && value < 1e15 ? Math.ceil(value) : 0;
}
