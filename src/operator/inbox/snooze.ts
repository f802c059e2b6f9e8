/** Hides an open card until a time, without deciding anything: a question comes back before it expires. */

import { applyChanges } from '../../chains/run/storage/values.ts';
import type { Card } from '../../core/card.ts';
import { SwitchgearError } from '../../core/error.ts';
import { cardKeepMs } from '../../core/limits.ts';
import type { Change, CrossProcessStore } from '../../ports/store.ts';
import type { Operator } from '../authorize.ts';
import { describeNotOpen, findCard, isOpen } from '../cards.ts';
import { storeWriteError } from '../orders.ts';

/** The shortest and the longest snooze, and the cards that are snoozed at once. */
export const snoozeMinSecs = 1;
export const snoozeMaxSecs = 7 * 86_400;
const snoozedMax = 1_000;
/** How long before its expiry a question comes back at the latest, or half of the time that is left. */
const expiryLeadMs = 300_000;

/** What a snooze needs of the person who gives it: an agent must not hide its cards. */
export const snoozeEffect = 'loosen';

/** The times at which snoozed cards come back, by card id. */
type Snoozes = Readonly<Record<string, number>>;

const snoozesKey = 'inbox/snoozes';

/** Hides the card whose id has this prefix, but not until it expires; throws `not_answered` if it is not open. */
export async function snoozeCard(
  store: CrossProcessStore,
  idPrefix: string,
  secs: number,
  { by, from }: Operator,
): Promise<Card> {
  const atMs = store.clock.nowMs();
  const { id, task, expiresAtMs = Infinity } = await findCard(store, idPrefix);
  const leadMs = Math.min(expiryLeadMs, (expiresAtMs - atMs) / 2);
  const untilMs = Math.min(atMs + secs * 1000, expiresAtMs - leadMs);
  let stored: Card | undefined;
  const update = (card: Card | undefined) => {
    stored = card;
    return card && isOpen(card, atMs) ? { ...card, snoozedUntilMs: untilMs } : undefined;
  };
  const current = store.card(id);
  const body = {
    type: 'card-changed',
    card: { ...current!, snoozedUntilMs: untilMs, by, ...(from && { from }) },
  } as const;
  const result = await applyChanges(store, {
    card: { id, update },
    others: [changeSnoozes(store, (snoozes) => ({ ...snoozes, [id]: untilMs }))],
    entries: current === undefined ? [] : [{ body, place: { task }, atMs }],
  });
  if (result.status === 'unavailable') throw storeWriteError(result.reason);
  if (stored === undefined || !isOpen(stored, atMs))
    throw new SwitchgearError(
      'not_answered',
      stored === undefined ? `there is no card ${id}` : describeNotOpen(stored, atMs),
    );
  if (result.status === 'rejected')
    throw new SwitchgearError('not_answered', `at most ${snoozedMax} cards can be snoozed at once`);
  await store.shared.settled();
  return { ...stored, snoozedUntilMs: untilMs };
}

/** Brings back the cards whose time is over, each with one entry of the journal; returns them. */
export async function wakeSnoozedCards(store: CrossProcessStore): Promise<readonly Card[]> {
  const atMs = store.clock.nowMs();
  const [row] = await store.shared.read(snoozesKey, 1);
  const due = Object.entries((row?.state ?? {}) as Snoozes).filter(([, untilMs]) => untilMs <= atMs);
  const woken: Card[] = [];
  for (const [id] of due) {
    const card = await wakeCard(store, id, atMs);
    if (card !== undefined) woken.push(card);
  }
  if (due.length > 0) {
    const ids = new Set(due.map(([id]) => id));
    const change = changeSnoozes(store, (snoozes) =>
      Object.fromEntries(Object.entries(snoozes).filter(([id, untilMs]) => !ids.has(id) || untilMs > atMs)),
    );
    await store.shared.commit({ changes: [change] });
  }
  return woken;
}

/** Removes the snooze of a card, unless another process did. */
async function wakeCard(store: CrossProcessStore, id: string, atMs: number): Promise<Card | undefined> {
  const [row] = await store.shared.read(`card/${id}`, 1);
  if (row?.key !== `card/${id}`) return undefined;
  const wake = (card: Card): Card => {
    const { snoozedUntilMs = atMs + 1, ...rest } = card;
    return card.state === 'open' && snoozedUntilMs <= atMs ? rest : card;
  };
  const current = store.card(id);
  if (current === undefined || wake(current) === current) return undefined;
  let isWoken = false;
  const update = (card: Card | undefined) => {
    const next = card && wake(card);
    isWoken = next !== card;
    return next;
  };
  const entry = { body: { type: 'card-changed', card: wake(current) } as const, place: { task: current.task }, atMs };
  const result = await applyChanges(store, { card: { id, update }, entries: [entry] });
  return result.status === 'committed' && isWoken ? wake(current) : undefined;
}

function changeSnoozes(store: CrossProcessStore, update: (snoozes: Snoozes) => Snoozes): Change {
  const change: Change<Snoozes> = {
    cell: store.cell<Snoozes>(snoozesKey, () => ({}), { keepMs: cardKeepMs }),
    update(snoozes) {
      const next = update(snoozes);
      return Object.keys(next).length > snoozedMax ? 'refuse' : { state: next };
    },
  };
  return change as Change;
}
