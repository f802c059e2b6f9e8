/** Counts the usage of a host's model calls at the prices of the price book; estimates usage that the host hides. */

import type { Switchgear, Task } from '../../guard/api.ts';
import { recordUsage } from '../../guard/entries/host-call.ts';
import { useDefaultPrices } from '../../guard/internal.ts';
import type { Usage } from '../../ports/prices.ts';
import { priceBook } from '../../prices/price-book.ts';

/** Characters of a token, as providers state it for English text. */
const charactersPerToken = 4;

const book = priceBook();

/** Counts a usage. A gear without prices of its own has the price book from now on. */
export function meterUsage(gear: Switchgear, task: Task, usage: Usage & { readonly estimated?: true }): void {
  useDefaultPrices(gear, book);
  recordUsage(gear, task, usage);
}

/** Estimates the usage of a call from its characters. */
export function estimateUsage(
  model: string,
  inputLength: number,
  outputLength: number,
): Usage & { readonly estimated: true } {
  return {
    model,
    inputTokens: Math.ceil(inputLength / charactersPerToken),
    outputTokens: Math.ceil(outputLength / charactersPerToken),
    estimated: true,
  };
}

/** The length of a request or answer as JSON; 0 if it cannot be written. */
export function lengthOf(value: unknown): number {
  try {
    return value === undefined ? 0 : JSON.stringify(value).length;
  } catch {
    return 0;
  }
}
