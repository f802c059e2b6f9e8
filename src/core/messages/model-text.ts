/** A refusal as one text for a model, where Switchgear writes the text that the model reads. */

import type { Refusal } from '../refusal.ts';

/** What happened, the last error, and what to do instead. */
export function textForModel(refusal: Refusal): string {
  const { code, counters, message, remediation } = refusal;
  if (code === 'circuit_open' && counters.held === undefined) return describeOpenCircuit(refusal);
  return `${endSentence(message)} ${remediation}`;
}

/** The text with a dot at its end, unless it ends with a question or exclamation mark. */
export function endSentence(text: string): string {
  const plain = withoutDot(text);
  return /[?!]$/.test(plain) ? plain : `${plain}.`;
}

function withoutDot(text: string): string {
  return text.replace(/[.\s]+$/, '');
}

function describeOpenCircuit({ name, counters, lastError }: Refusal): string {
  const { failures, wait_secs: wait } = counters;
  const often = Number(failures) > 1 ? `it failed ${failures} times in a row` : 'it keeps failing';
  const last = lastError ? `, last: ${withoutDot(lastError)}` : '';
  const until = wait === undefined || wait === 'manual' ? 'until a person resets it' : `for the next ${wait} s`;
  return (
    `'${name}' is out of order (circuit breaker open: ${often}${last}). Do not call it ${until}. ` +
    'Use another way, or tell the user what you could not do.'
  );
}
