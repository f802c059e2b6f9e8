/**
 * Sends new cards to one webhook, in the order of the journal. The store has the place up to which everything was sent,
 * so that a restart neither forgets nor repeats; a message is sent again until it was received or is given up. It is in
 * the store before it is sent, so that a server that takes over sends the same message with the same id.
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
import { alertCardPrefix, requireLease } from '../../operator/alerts/update-alerts.ts';
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
  /** What was sent, once this card is. */
  readonly told: Told;
}

/** The open cards that were sent, and the alerts whose end was sent. */
type Told = Required<Pick<WebhookProgress, 'told' | 'ended'>>;

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
  /** The stored progress as this server knows it. */
  let storedText = '';
  let isBusy = false;

  async function load(): Promise<WebhookProgress> {
    const stored = (await readWebhookProgress(store)).get(webhook.name);
    const last = await findLastSeq(shared);
    // A webhook that is new begins with what comes; a journal that begins anew is read from its start.
    const cursor = stored === undefined ? last : Math.min(stored.cursor, last);
    storedCursor = stored === undefined ? -1 : cursor;
    storedText = JSON.stringify(stored ?? null);
    if (stored === undefined) return { cursor, failures: 0, attempts: 0, nextTryMs: 0, dropped: 0, deliveries: [] };
    return stored.cursor === cursor ? stored : { ...withoutMessage(stored), cursor };
  }

  async function save(next: WebhookProgress): Promise<void> {
    progress = next;
    const key = webhookPrefix + webhook.name;
    const change: Change<WebhookProgress | null> = {
      cell: store.cell<WebhookProgress | null>(key, () => null),
      // Another server may have had the lease meanwhile.
      update: (stored) => (JSON.stringify(stored) === storedText ? { state: next } : 'refuse'),
    };
    const { status } = await shared.commit({ changes: [requireLease(store), change as Change] });
    shared.evict?.(key);
    if (status === 'committed') {
      storedCursor = next.cursor;
      storedText = JSON.stringify(next);
    } else progress = undefined; // Another server has or had the lease: its place counts.
  }

  async function prepare(): Promise<void> {
    progress ??= await load();
    if (storedCursor < 0) await save(progress);
  }

  async function run(): Promise<void> {
    await prepare();
    if (progress === undefined || clock.nowMs() < progress.nextTryMs) return;
    const { underWay, cursor } = progress;
    const limit = underWay === undefined ? scanEntriesMax : Math.min(scanEntriesMax, underWay.lastSeq - cursor);
    const read = await readJournalEntries(shared, cursor + 1, limit);
    const last = underWay?.lastSeq ?? read.at(-1)?.seq ?? cursor;
    const entries = read.filter(({ seq }) => seq <= last);
    const { found, told } = await findCards(store, webhook, entries, progress);
    const context = { pageUrl: pageUrl(), wallMs: clock.wallMs(), webhook: webhook.name };
    if (found.length > 0 && (underWay?.isDigest ?? found.length > digestMin)) {
      const digest = makeDigest(found, context);
      await send({ ...digest, id: underWay?.id ?? digest.id }, '', { seq: last, told });
      return;
    }
    for (const each of found)
      if (!(await send(makeCardMessage(each.card, each.type, each.agent, context), each.card.id, each))) return;
    if (progress === undefined) return;
    const next = { ...withoutMessage(progress), ...told, cursor: last };
    // The card of a message that was begun is no news any more.
    if (progress.underWay !== undefined || last - storedCursor >= cursorStepMax) await save(next);
    else progress = next;
  }

  /** Sends one message and stores how it went; false if the messages after it must wait. */
  async function send(message: Message, card: string, after: Pick<Found, 'seq' | 'told'>): Promise<boolean> {
    if (progress === undefined) return false;
    const underWay = { id: message.id, lastSeq: after.seq, isDigest: message.type === 'digest' };
    await save({ ...progress, underWay });
    return progress === undefined ? false : sendBegun(progress, message, card, after);
  }

  async function sendBegun(
    before: WebhookProgress,
    message: Message,
    card: string,
    after: Pick<Found, 'seq' | 'told'>,
  ): Promise<boolean> {
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
      ...(isDone
        ? { ...withoutMessage(before), ...after.told, cursor: after.seq }
        : { ...before, attempts, firstTryMs }),
      failures: isDelivered ? 0 : before.failures + 1,
      nextTryMs: isDelivered ? 0 : atMs + waitMs,
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

/** The progress without the message that was begun. */
function withoutMessage({ underWay: _, firstTryMs: __, ...progress }: WebhookProgress): WebhookProgress {
  return { ...progress, attempts: 0 };
}

/** The cards of some entries that the webhook wants and that are still news; each open card is sent once. */
async function findCards(
  store: CrossProcessStore,
  { name, events }: Webhook,
  entries: readonly Entry[],
  before: WebhookProgress,
): Promise<{ readonly found: readonly Found[]; readonly told: Told }> {
  let { told = [], ended = [] } = before;
  const changed = entries.flatMap((entry) => (entry.type === 'card-changed' ? [{ ...entry, card: entry.card }] : []));
  const records = changed.some(({ card }) => isWanted(card, events)) ? await readAlertRecords(store) : new Map();
  const found: Found[] = [];
  for (const { seq, card, agent } of changed) {
    const { id } = card;
    const isOpened = card.state === 'open';
    const isAlert = id.startsWith(alertCardPrefix);
    if (isOpened && told.includes(id)) continue;
    // The end of an alert is sent once, and only if its beginning was.
    if (!isOpened && isAlert && (!told.includes(id) || ended.includes(id))) continue;
    // A later card may have the same id; that of an alert stays, because the alert may come back.
    if (!isOpened && !isAlert) told = told.filter((each) => each !== id);
    const type = isWanted(card, events) ? findType(card, records, name) : undefined;
    const current = type && (await readCard(store, id));
    if (type === undefined || current === undefined || !isNews(current, type, store.clock.nowMs())) continue;
    if (isOpened) told = [...told, id].slice(-toldCardsMax);
    else ended = [...ended, id].slice(-toldCardsMax);
    found.push({ seq, card: type === 'over' ? current : card, type, agent, told: { told, ended } });
  }
  return { found, told: { told, ended } };
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

/** A card that was answered meanwhile is no news; neither is the end of an alert that came back. */
function isNews(current: Card, type: MessageType, atMs: number): boolean {
  return type === 'over' ? current.state === 'expired' : isOpen(current, atMs);
}

async function readCard({ shared }: CrossProcessStore, id: string): Promise<Card | undefined> {
  const key = `card/${id}`;
  const [row] = (await shared.read(key, 1)).filter((each) => each.key === key);
  return (row?.state as Card | null | undefined) ?? undefined;
}
