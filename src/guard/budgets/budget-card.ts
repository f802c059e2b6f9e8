/** The card of a budget of several tasks that is nearly used, for money, tokens and model calls. */

import type { Card } from '../../core/card.ts';
import type { OwnedBudget } from '../../core/controls/budget/joint-budget.ts';
import { highNoticeShare } from '../../core/controls/budget/notice-share.ts';
import type { EntryBody } from '../../core/event.ts';
import { appendEntry } from '../journal/journal.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { createCardId, redactCard } from '../tasks/cards.ts';

/** The notice that was written. */
type Notice = Pick<Extract<EntryBody, { readonly type: 'notice' }>, 'gauge' | 'message'>;

/** Opens the card of a notice; `of` is the session, agent, key or model of the budget. */
export function openBudgetCard(
  runtime: Runtime,
  { scope, unit, windowSecs }: OwnedBudget,
  of: string | undefined,
  { gauge: { actual, limit }, message }: Notice,
  share: number,
  atMs: number,
): void {
  if (unit === 'calls') return;
  const isHigh = share === highNoticeShare;
  const owner = of === undefined || message.includes(of) ? '' : ` (${of})`;
  const card: Card = {
    ...{ id: createCardId(runtime), kind: 'notice', task: '', code: 'notice', openedWallMs: runtime.clock.wallMs() },
    counters: {
      ...{ scope, unit, actual, limit },
      ...(of !== undefined && { of }),
      ...(windowSecs !== undefined && { window_secs: windowSecs }),
    },
    risk: isHigh ? 'medium' : 'low',
    evidence: [`${message}${owner}${isHigh ? ', almost used up' : ''}`],
    actions: ['dismiss'],
    state: 'open',
  };
  runtime.store.putCard(redactCard(runtime, card));
  appendEntry(runtime, { type: 'card-changed', card }, {}, atMs);
}
