/** Several ways to ask at once: the first answer counts, and the others are told that it is over. */

import type { Answer, Approver } from '../ports/approver.ts';

/** Asks through all of them that are there. One that breaks leaves it to the others. */
export function firstOf(...approvers: readonly Approver[]): Approver {
  const there = () => approvers.filter((each) => each.isThere?.() !== false);
  return {
    name: approvers.map(({ name }) => name).join(', '),
    isThere: () => there().length > 0,
    async ask(card, signal) {
      const over = new AbortController();
      const both = AbortSignal.any([signal, over.signal]);
      try {
        return await Promise.any(there().map((each) => heard(each, () => each.ask(card, both))));
      } finally {
        over.abort();
      }
    },
  };
}

async function heard({ name }: Approver, ask: () => Promise<Answer>): Promise<Answer> {
  const answer = await ask();
  if (typeof answer?.approved !== 'boolean') throw new Error(`${name} gave no answer`);
  return answer;
}
