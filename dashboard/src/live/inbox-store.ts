/** The open cards: read from the API in pages, and kept current by the live connection. */

import { computed, signal } from '@preact/signals';
import { apiGet, errorText } from '../api.ts';
import {
  applyEntries,
  cardsLoadedMax,
  cardsPerRequest,
  type InboxState,
  mergeCards,
  type PageCard,
} from '../logic/inbox-model.ts';
import { learnStoreTime } from '../state.ts';
import { onEntries, onResync } from './stream.ts';

/** The open cards. */
export const inbox = signal<InboxState>({ cards: [], total: 0 });

/** Whether the first answer came, and the error of the last reading. */
export const inboxLoading = signal<{ readonly isLoaded: boolean; readonly error?: string }>({ isLoaded: false });

/** How many cards are open, for the title and the navigation. */
export const openCount = computed(() => inbox.value.total);

interface CardsAnswer {
  readonly cards: readonly PageCard[];
  readonly total: number;
  readonly atMs: number;
}

/** More changed cards than these at once are read as a list. */
const singlesMax = 8;
/** At most one reading per so many milliseconds. */
const restMs = 250;

const stale = new Set<string>();
let timer: ReturnType<typeof setTimeout> | undefined;
let readings = 0;
let isReadingMore = false;

/** Reads the open cards and keeps them current. Call once per session. */
export function startInbox(): () => void {
  void reloadInbox();
  const stops = [
    onEntries((entries) => {
      const { state, incomplete } = applyEntries(inbox.peek(), entries);
      inbox.value = state;
      for (const id of incomplete) stale.add(id);
      if (stale.size > 0) timer ??= setTimeout(readStale, restMs);
    }),
    onResync(() => void reloadInbox()),
  ];
  return () => {
    for (const stop of stops) stop();
    clearTimeout(timer);
    timer = undefined;
  };
}

/** Reads all cards anew that are loaded now, at least the first page. */
export async function reloadInbox(): Promise<void> {
  const reading = ++readings;
  const wanted = Math.min(cardsLoadedMax, Math.max(cardsPerRequest, inbox.peek().cards.length));
  try {
    let state: InboxState = { cards: [], total: 0 };
    for (let offset = 0; offset < wanted; offset += cardsPerRequest) {
      const { cards, total, atMs } = await readPage(offset);
      learnStoreTime(atMs);
      if (reading !== readings) return;
      state = mergeCards(state, cards, total);
      if (cards.length < cardsPerRequest) break;
    }
    stale.clear();
    inbox.value = state;
    inboxLoading.value = { isLoaded: true };
  } catch (error) {
    if (reading === readings) inboxLoading.value = { ...inboxLoading.peek(), error: errorText(error) };
  }
}

/** Reads the next page, when the end of the loaded cards comes into view. */
export async function loadMoreCards(): Promise<void> {
  const { cards, total } = inbox.peek();
  if (isReadingMore || cards.length >= total || cards.length >= cardsLoadedMax) return;
  isReadingMore = true;
  try {
    const page = await readPage(cards.length);
    inbox.value = mergeCards(inbox.peek(), page.cards, page.total);
  } catch (error) {
    inboxLoading.value = { ...inboxLoading.peek(), error: errorText(error) };
  } finally {
    isReadingMore = false;
  }
}

function readPage(offset: number): Promise<CardsAnswer> {
  return apiGet<CardsAnswer>(`/api/cards?state=open&offset=${offset}&limit=${cardsPerRequest}`);
}

/** Reads the details of cards that the journal reported. */
async function readStale(): Promise<void> {
  timer = undefined;
  const ids = [...stale];
  stale.clear();
  if (ids.length > singlesMax) {
    await reloadInbox();
    return;
  }
  const answers = await Promise.all(
    ids.map((id) => apiGet<{ card: PageCard }>(`/api/cards/${encodeURIComponent(id)}`).catch(() => undefined)),
  );
  const cards = answers.flatMap((answer) => answer?.card ?? []);
  const known = new Set(inbox.peek().cards.map(({ id }) => id));
  const shown = cards.filter(({ id }) => known.has(id));
  inbox.value = mergeCards(inbox.peek(), shown, inbox.peek().total);
}
