/** Counts the usage of a host's model calls at the prices of the price book; estimates usage that the host hides. */

import type { Switchgear, Task } from '../../guard/api.ts';
import { recordUsage, reportEstimate } from '../../guard/entries/host-usage.ts';
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

/** A model call whose usage the host did not report. */
export interface UncountedCall {
  readonly model: string;
  /** Characters of the request. */
  readonly inputLength: number;
  /** Characters of the answer, as far as it came. */
  readonly outputLength: number;
  /** Counts that the provider reported before the stream broke off; they hold if they are higher. */
  readonly known?: Partial<Usage> | undefined;
  /**
   * The setting that makes the host report the usage of a complete answer; undefined if the answer broke off, which no
   * setting mends.
   */
  readonly remedy: string | undefined;
}

/** Counts an estimate of a call from its characters, marked as estimated; a log line says so once for each model. */
export function meterEstimate(gear: Switchgear, task: Task, call: UncountedCall): void {
  const { model, inputLength, outputLength, known = {}, remedy } = call;
  reportEstimate(gear, task, model, remedy);
  meterUsage(gear, task, {
    ...known,
    model,
    inputTokens: known.inputTokens || countTokens(inputLength),
    outputTokens: Math.max(countTokens(outputLength), known.outputTokens ?? 0),
    estimated: true,
  });
}

/** The settings that make providers report the usage of a stream. */
export const usageRemedies = {
  fetch: 'set stream_options: { include_usage: true } in the request',
  aiSdk: 'set includeUsage: true of the provider, as createOpenAICompatible has it',
  langChain: 'set streamUsage: true of the chat model',
  openAiAgents: 'return the usage in response_done of the model',
  claude: 'use a provider that reports usage',
} as const;

function countTokens(length: number): number {
  return Math.ceil(length / charactersPerToken);
}

/** The length of a request or answer as JSON; 0 if it cannot be written. */
export function lengthOf(value: unknown): number {
  try {
    return value === undefined ? 0 : JSON.stringify(value).length;
  } catch {
    return 0;
  }
}
