/**
 * Sends new cards to one webhook, in the order of the journal. The store has the place up to which everything was sent,
 * so that a restart neither forgets nor repeats; a message is sent again until it was received or is given up.
 */

import type { Card } from '../../core/card.ts';
import type { Entry } from '../../core/event.ts';
import {
  type AlertRecord,
  alertPrefix,
  type Delivery,
  deliveriesMax,
  toldCardsMax,
  type WebhookProgress,
  webhookPrefix,
} from '../../operator/alerts/alert-cells.ts';
import { readAlertRecords, readWebhookProgress } from '../../operator/alerts/read-alerts.ts';
import { alertCardPrefix, hasComeBack, requireLease } from '../../operator/alerts/update-alerts.ts';
import { isOpen } from '../../operator/cards.ts';
import { findLastSeq, readJournalEntries } from '../../operator/journal.ts';
import type { Change, CrossProcessStore } from '../../ports/store.ts';
import { attemptsMax, cursorStepMax, digestMin, giveUpMs, retryMaxMs, retryMinMs, scanEntriesMax } from './limits.ts';
import { type Message, type MessageType, makeCardMessage, makeDigest } from './message.ts';
import type { Webhook } from './resolve-webhooks.ts';
import { sendMessage } from './send-message.ts';

/** A card to tell, with the entry that reported it. */
interface Found {
  readonly seq: number;
  readonly card: Card;
  readonly type: MessageType;
  readonly agent: string | undefined;
  /** The open cards that were sent, once this one is. */
  readonly told: readonly string[];
}

/** Sends new cards to one webhook; a call while another is under way does nothing. */
export interface Deliverer {
  /** Finds its place in the journal, so that a new webhook gets what comes after this call. */
  prepare(): Promise<void>;
  deliver(): Promise<void>;
  /** Stores the place in the journal. */
  close(): Promise<void>;
}

/** Creates the deliverer of a webhook. */
export function createDeliverer(store: CrossProcessStore, webhook: Webhook, pageUrl: () => string): Deliverer {
  const { shared, clock } = store;
  let progress: WebhookProgress | undefined;
  let storedCursor = 0;
  let isBusy = false;

  async function load(): Promise<WebhookProgress> {
    const stored = (await readWebhookProgress(store)).get(webhook.name);
    const last = await findLastSeq(shared);
    // A webhook that is new begins with what comes; a journal that begins anew is read from its start.
    const cursor = stored === undefined ? last : Math.min(stored.cursor, last);
    const {
      deliveries = [],
      dropped = 0,
      failures = 0,
      attempts = 0,
      nextTryMs = 0,
      firstTryMs,
      told = [],
    } = stored ?? {};
    storedCursor = stored === undefined ? -1 : cursor;
    const times = firstTryMs === undefined ? {} : { firstTryMs };
    return { cursor, failures, attempts, nextTryMs, dropped, told, deliveries, ...times };
  }

  async function save(next: WebhookProgress): Promise<void> {
    progress = next;
    const key = webhookPrefix + webhook.name;
    const change: Change<WebhookProgress | null> = {
      cell: store.cell<WebhookProgress | null>(key, () => null),
      update: () => ({ state: next }),
    };
    const { status } = await shared.commit({ changes: [requireLease(store), change as Change] });
    shared.evict?.(key);
    if (status === 'committed') storedCursor = next.cursor;
    else progress = undefined; // Another server has the lease: its place counts.
  }

  async function prepare(): Promise<void> {
    progress ??= await load();
    if (storedCursor < 0) await save(progress);
  }

  async function run(): Promise<void> {
    await prepare();
    if (progress === undefined || clock.nowMs() < progress.nextTryMs) return;
    const entries = await readJournalEntries(shared, progress.cursor + 1, scanEntriesMax);
    const last = entries.at(-1)?.seq ?? progress.cursor;
    const { found, told } = await findCards(store, webhook, entries, progress.told ?? []);
    const context = { pageUrl: pageUrl(), wallMs: clock.wallMs(), webhook: webhook.name };
    if (found.length > digestMin) {
      await send(makeDigest(found, context), '', { seq: last, told });
      return;
    }
    for (const each of found)
      if (!(await send(makeCardMessage(each.card, each.type, each.agent, context), each.card.id, each))) return;
    if (progress === undefined) return;
    if (last - storedCursor >= cursorStepMax) await save({ ...progress, cursor: last, told });
    else progress = { ...progress, cursor: last, told };
  }

  /** Sends one message and stores how it went; false if the messages after it must wait. */
  async function send(message: Message, card: string, after: Pick<Found, 'seq' | 'told'>): Promise<boolean> {
    const before = progress;
    if (before === undefined) return false;
    const atMs = clock.nowMs();
    const { isDelivered, detail, retryAfterMs = 0 } = await sendMessage(webhook, message, clock.wallMs());
    const attempts = before.attempts + 1;
    const { firstTryMs = atMs } = before;
    const isGivenUp = !isDelivered && (attempts >= attemptsMax || atMs - firstTryMs >= giveUpMs);
    const result = isDelivered ? 'delivered' : isGivenUp ? 'dropped' : 'failed';
    const delivery: Delivery = { card, type: message.type, wallMs: clock.wallMs(), result, attempts, detail };
    const waitMs = Math.max(retryAfterMs, Math.min(retryMaxMs, retryMinMs * 2 ** Math.min(before.failures, 20)));
    const isDone = isDelivered || isGivenUp;
    await save({
      cursor: isDone ? after.seq : before.cursor,
      told: (isDone ? after.told : before.told) ?? [],
      failures: isDelivered ? 0 : before.failures + 1,
      attempts: isDone ? 0 : attempts,
      nextTryMs: isDelivered ? 0 : atMs + waitMs,
      ...(!isDone && { firstTryMs }),
      dropped: before.dropped + (isGivenUp ? 1 : 0),
      // Attempts for one message are one row.
      deliveries: [delivery, ...before.deliveries.slice(before.attempts > 0 ? 1 : 0)].slice(0, deliveriesMax),
    });
    return isDelivered && progress !== undefined;
  }

  return {
    async prepare() {
      if (progress === undefined && !isBusy && webhook.url !== undefined) await prepare();
    },
    async deliver() {
      if (isBusy || webhook.url === undefined) return;
      isBusy = true;
      try {
        await run();
      } catch {
        progress = undefined; // The store is away; the next call begins with what it has.
      } finally {
        isBusy = false;
      }
    },
    async close() {
      if (!isBusy && progress !== undefined && progress.cursor > storedCursor) await save(progress);
    },
  };
}

/** The cards of some entries that the webhook wants and that are still news; each open card is sent once. */
async function findCards(
  store: CrossProcessStore,
  { name, events }: Webhook,
  entries: readonly Entry[],
  toldBefore: readonly string[],
): Promise<{ readonly found: readonly Found[]; readonly told: readonly string[] }> {
  let told = toldBefore;
  const changed = entries.flatMap((entry) => (entry.type === 'card-changed' ? [{ ...entry, card: entry.card }] : []));
  const records = changed.some(({ card }) => isWanted(card, events)) ? await readAlertRecords(store) : new Map();
  const found: Found[] = [];
  for (const { seq, card, agent } of changed) {
    const isOpened = card.state === 'open';
    if (isOpened && told.includes(card.id)) continue;
    if (!isOpened) told = told.filter((id) => id !== card.id); // A later card may have the same id.
    const type = isWanted(card, events) ? findType(card, records, name) : undefined;
    const current = type && (await readCard(store, card.id));
    if (type === undefined || current === undefined || !isNews(current, type, store.clock.nowMs())) continue;
    if (isOpened) told = [...told, card.id].slice(-toldCardsMax);
    found.push({ seq, card: type === 'over' ? current : card, type, agent, told });
  }
  return { found, told };
}

function isWanted({ kind, state, id }: Card, events: Webhook['events']): boolean {
  if (kind === 'ask') return state === 'open' && events.includes('questions');
  if (kind === 'halt') return state === 'open' && events.includes('halts');
  return events.includes('alerts') && (state === 'open' || (state === 'expired' && id.startsWith(alertCardPrefix)));
}

/** The type of the message about a card; undefined for what is no alert, was sent directly, or is about the webhook. */
function findType(
  { kind, state, id }: Card,
  records: ReadonlyMap<string, AlertRecord>,
  webhook: string,
): MessageType | undefined {
  if (kind === 'ask') return 'question';
  if (kind === 'halt') return 'halt';
  const [key, record] = [...records].find(([, each]) => each.card === id) ?? [];
  if (record?.rule === 'StoreDown' || (record?.rule === 'WebhookFailing' && record.subject === webhook))
    return undefined;
  if (key?.startsWith(alertPrefix) !== true && !id.startsWith(alertCardPrefix)) return undefined;
  return state === 'open' ? 'alert' : 'over';
}

/** A card that was answered meanwhile is no news; neither is one that comes and goes within its period. */
function isNews(current: Card, type: MessageType, atMs: number): boolean {
  if (type === 'over') return current.state === 'expired' && !hasComeBack(current);
  return isOpen(current, atMs) && !hasComeBack(current);
}

async function readCard({ shared }: CrossProcessStore, id: string): Promise<Card | undefined> {
  const key = `card/${id}`;
  const [row] = (await shared.read(key, 1)).filter((each) => each.key === key);
  return (row?.state as Card | null | undefined) ?? undefined;
}
