/** A card in the store, answered by whoever looks there: `switchgear inbox`, or code. */

import { answerPollMs } from '../core/limits.ts';
import type { Answer, Approver } from '../ports/approver.ts';
import type { Store } from '../ports/store.ts';

export function cards({ store }: { readonly store: Store }): Approver {
  return {
    name: 'inbox',
    ask: (card, signal) =>
      new Promise((resolve, reject) => {
        let disarm = () => {};
        const end = (settle: () => void) => {
          disarm();
          forget?.();
          signal.removeEventListener('abort', leave);
          settle();
        };
        const leave = () => end(() => reject(new Error('nobody waits for an answer any more')));
        const look = () => {
          const answer = answerIn(store, card.id);
          if (answer !== undefined) end(() => resolve(answer));
          return answer !== undefined;
        };
        // Hints may be late or missing: a look each second is what counts.
        const poll = () => {
          if (!look()) disarm = store.clock.after(answerPollMs, poll, true);
        };
        const forget = store.shared?.watch((hint) => {
          if (hint.type === 'cell-changed' && hint.key === `card/${card.id}`) look();
        });
        if (signal.aborted) return leave();
        signal.addEventListener('abort', leave, { once: true });
        poll();
      }),
  };
}

function answerIn(store: Store, id: string): Answer | undefined {
  store.shared?.refresh();
  const { state, answer, by = '' } = store.card(id) ?? {};
  if (state !== 'answered' && state !== 'used') return undefined;
  switch (answer) {
    case 'approve':
      return { approved: true, by };
    case 'approve_run':
      return { approved: true, by, for: 'run' };
    case 'approve_always':
      return { approved: true, by, for: 'always' };
    default:
      return { approved: false, by };
  }
}
