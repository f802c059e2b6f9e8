/** The values that the texts of a refusal use, and the sentences that several controls share. */

import type { Counters, Stop } from '../verdict.ts';

/** The three texts of a refusal: cause and advice for the model, cause for a person. */
export interface RefusalTexts {
  readonly message: string;
  readonly remediation: string;
  readonly explanation: string;
}

/** The values of a stop that its texts use. */
export interface RefusalContext {
  /** The tool, model or worker. */
  readonly name: string;
  readonly isModel: boolean;
  readonly kind: Stop['kind'];
  /** The control that stopped it; `operator` for a person or the signal of the caller. */
  readonly control: string;
  readonly counters: Counters;
  /** The written reason, if there is one. */
  readonly reason: string | undefined;
  readonly actual: number | string;
  readonly limit: number | string;
  /** The counter and its limit: `51 of 50`. */
  readonly reached: string;
  /** When the action may pass: `in 5s`; undefined if unknown. */
  readonly soon: string | undefined;
  /** The last error of the target, if this process saw it. */
  readonly lastError: string | undefined;
}

/** Texts for a halted task, or for a refused action whose task continues. */
export function stoppedTexts(
  { kind }: RefusalContext,
  summary: string,
  remediation: string,
  explanation: string = summary,
  refusal = 'Call refused',
): RefusalTexts {
  return { message: `${kind === 'halt' ? 'Task stopped' : refusal}: ${summary}`, remediation, explanation };
}

/**
 * Texts for a used-up budget. The stop of a joint budget has a reason of its own; if the store has to be asked first,
 * the stop has a retry time and the model is told to try again.
 */
export function overBudgetTexts(context: RefusalContext, summary: string, order: string): RefusalTexts {
  const { soon, reason } = context;
  const rest = soon === undefined ? `${order} Say what you found and what is missing.` : `Try again ${soon}.`;
  return stoppedTexts(context, reason ?? summary, rest);
}

/** Texts with a rule's own reason, if it has one. */
export function ruleTexts({ reason }: RefusalContext, summary: string, remediation: string): RefusalTexts {
  const text = reason === undefined ? summary : `${summary}: ${reason}`;
  return { message: text.charAt(0).toUpperCase() + text.slice(1), remediation, explanation: text };
}

/** When the action may be tried again: `in 5s`, or after a manual reset. */
export function nextTry({ soon }: RefusalContext): string {
  return soon ?? 'after a manual reset';
}
