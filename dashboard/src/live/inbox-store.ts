/** The open cards: read from the API in pages, and kept current by the live connection. */

import { computed, signal } from '@preact/signals';
import { apiGet, errorText } from '../api.ts';
import {
  applyEntries,
  cardsLoadedMax,
  cardsPerRequest,
  dropCards,
  type InboxState,
  mergeCards,
  type PageCard,
  takeReading,
} from '../logic/inbox-model.ts';
import { learnStoreTime, storeNowMs } from '../state.ts';
import { onEntries, onResync } from './stream.ts';

/** The open cards. */
export const inbox = signal<InboxState>({ cards: [], total: 0 });

/** Whether the first answer came, and the error of the last reading. */
export const inboxLoading = signal<{ readonly isLoaded: boolean; readonly error?: string }>({ isLoaded: false });

/** How many cards are snoozed. */
export const snoozedCount = signal(0);

/** How many cards are open, for the title and the navigation. */
export const openCount = computed(() => inbox.value.total);

/** A page of cards of the API. */
export interface CardsAnswer {
  readonly cards: readonly PageCard[];
  readonly total: number;
  readonly atMs: number;
  /** Absent if the server knows no snoozed cards. */
  readonly wallMs?: number;
}

/** At most one reading per so many milliseconds: for a few cards, and for many. */
const restMs = 150;
const restOfManyMs = 1_500;
/** Cards also change without an entry: a snooze ends. */
const everyMs = 30_000;

let timer: ReturnType<typeof setTimeout> | undefined;
let isReading = false;
let isStale = false;
let isReadingMore = false;
/** Cards whose entries came since the last reading began. */
let changed = new Set<string>();
/** Answers to an earlier session are not taken. */
let epochs = 0;

/** Reads the open cards and keeps them current. Call once per session; returns a function that ends it. */
export function startInbox(): () => void {
  void reloadInbox();
  const stops = [
    onEntries((entries) => {
      if (!entries.some(({ type }) => type === 'card-changed')) return;
      for (const entry of entries) if (entry.type === 'card-changed') changed.add(entry.card.id);
      inbox.value = applyEntries(inbox.peek(), entries, storeNowMs.peek());
      reloadSoon();
    }),
    onResync(() => void reloadInbox()),
    storeNowMs.subscribe((atMs) => {
      inbox.value = dropCards(inbox.peek(), ({ expiresAtMs }) => expiresAtMs !== undefined && expiresAtMs <= atMs);
    }),
  ];
  const regular = setInterval(reloadSoon, everyMs);
  return () => {
    for (const stop of stops) stop();
    clearInterval(regular);
    clearTimeout(timer);
    timer = undefined;
    epochs++;
    isReading = false;
    inbox.value = { cards: [], total: 0 };
    inboxLoading.value = { isLoaded: false };
  };
}

/** Reads the cards anew in a moment. */
function reloadSoon(): void {
  const delayMs = inbox.peek().cards.length > cardsPerRequest ? restOfManyMs : restMs;
  timer ??= setTimeout(() => void reloadInbox(), delayMs);
}

/** Reads all cards anew that are loaded now, at least the first page; a reading under way is followed by another. */
export async function reloadInbox(): Promise<void> {
  clearTimeout(timer);
  timer = undefined;
  if (isReading) {
    isStale = true;
    return;
  }
  isReading = true;
  const epoch = epochs;
  do {
    isStale = false;
    await readInbox(epoch);
  } while (isStale && epoch === epochs);
  if (epoch === epochs) isReading = false;
}

async function readInbox(epoch: number): Promise<void> {
  const wanted = Math.min(cardsLoadedMax, Math.max(cardsPerRequest, inbox.peek().cards.length));
  changed = new Set();
  try {
    const { cards, total, atMs, wallMs } = await readPage(0, wanted);
    if (epoch !== epochs) return;
    learnStoreTime(atMs);
    inbox.value = takeReading(inbox.peek(), cards, total, changed);
    inboxLoading.value = { isLoaded: true };
    if (wallMs === undefined) return;
    const snoozed = await apiGet<CardsAnswer>('/api/cards?state=snoozed&limit=1').catch(() => undefined);
    if (epoch === epochs) snoozedCount.value = snoozed?.total ?? 0;
  } catch (error) {
    if (epoch === epochs) inboxLoading.value = { ...inboxLoading.peek(), error: errorText(error) };
  }
}

/** Reads the next page, when the end of the loaded cards comes into view. */
export async function loadMoreCards(): Promise<void> {
  const { cards, total } = inbox.peek();
  if (isReadingMore || cards.length >= total || cards.length >= cardsLoadedMax) return;
  isReadingMore = true;
  const epoch = epochs;
  try {
    const page = await readPage(cards.length, cardsPerRequest);
    if (epoch === epochs) inbox.value = mergeCards(inbox.peek(), page.cards, page.total);
  } catch (error) {
    inboxLoading.value = { ...inboxLoading.peek(), error: errorText(error) };
  } finally {
    isReadingMore = false;
  }
}

function readPage(offset: number, limit: number): Promise<CardsAnswer> {
  return apiGet<CardsAnswer>(`/api/cards?state=open&offset=${offset}&limit=${limit}`);
}
