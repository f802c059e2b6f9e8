/** An approver that asks several approvers at once: the first answer counts, and the signal of the others aborts. */

import type { Answer, Approver } from '../ports/approver.ts';

/** Asks all available approvers and takes the first answer; an approver that fails is ignored. */
export function firstAnswer(...approvers: readonly Approver[]): Approver {
  const availableApprovers = () => approvers.filter((approver) => approver.isAvailable?.() !== false);
  return {
    name: approvers.map(({ name }) => name).join(', '),
    isAvailable: () => availableApprovers().length > 0,
    async ask(card, signal) {
      const controller = new AbortController();
      const signals = AbortSignal.any([signal, controller.signal]);
      try {
        return await Promise.any(
          availableApprovers().map((approver) => askOne(approver, () => approver.ask(card, signals))),
        );
      } finally {
        controller.abort();
      }
    },
  };
}

async function askOne({ name }: Approver, ask: () => Promise<Answer>): Promise<Answer> {
  const answer = await ask();
  if (typeof answer?.approved !== 'boolean') throw new Error(`${name} gave no answer`);
  return answer;
}
