/** An approver that asks by a card in the store, which `switchgear inbox` or code answers. */

import { answerPollMs } from '../core/limits.ts';
import type { Answer, Approver } from '../ports/approver.ts';
import type { Store } from '../ports/store.ts';

/**
 * Creates an approver that waits for an answer to the card in the inbox.
 * @example
 * import { createSwitchgear } from 'switchgear';
 * import { cardApprover } from 'switchgear/approvers';
 * import { sqliteStore } from 'switchgear/stores/sqlite';
 *
 * const store = sqliteStore({ path: 'switchgear.db' });
 * const gear = createSwitchgear({ store, approver: cardApprover({ store }) });
 */
export function cardApprover({ store }: { readonly store: Store }): Approver {
  return {
    name: 'inbox',
    ask: (card, signal) =>
      new Promise((resolve, reject) => {
        let stopPolling = () => {};
        const finish = (settle: () => void) => {
          stopPolling();
          unwatch?.();
          signal.removeEventListener('abort', onAbort);
          settle();
        };
        const onAbort = () => finish(() => reject(new Error('the question was withdrawn before it was answered')));
        const checkAnswer = () => {
          const answer = readAnswer(store, card.id);
          if (answer !== undefined) finish(() => resolve(answer));
          return answer !== undefined;
        };
        // Hints may be late or missing, so the card is also polled once a second.
        const poll = () => {
          if (!checkAnswer()) stopPolling = store.clock.after(answerPollMs, poll, true);
        };
        const unwatch = store.shared?.watch((hint) => {
          if (hint.type === 'cell-changed' && hint.key === `card/${card.id}`) checkAnswer();
        });
        if (signal.aborted) return onAbort();
        signal.addEventListener('abort', onAbort, { once: true });
        poll();
      }),
  };
}

function readAnswer(store: Store, id: string): Answer | undefined {
  store.shared?.refresh();
  const { state, answer, by = '', note } = store.card(id) ?? {};
  if (state !== 'answered' && state !== 'used') return undefined;
  switch (answer) {
    case 'approve':
      return { approved: true, by };
    case 'approve_run':
      return { approved: true, by, for: 'run' };
    case 'approve_always':
      return { approved: true, by, for: 'always' };
    case 'approve_edited':
      return { approved: true, by, isEdited: true };
    default:
      return { approved: false, by, ...(note !== undefined && { note }) };
  }
}
