/** Reads the cards of a store again and again, without reading all of them each time. */

import type { Card } from '../../core/card.ts';
import { storeBatchMax } from '../../core/limits.ts';
import type { CrossProcessStore } from '../../ports/store.ts';
import { readCards } from '../cards.ts';

/** A reader that remembers cards. */
export interface CardReader {
  /** All cards; those that were invalidated are read from the store again. */
  read(): Promise<readonly Card[]>;
  /** Says that a card has changed in the store. */
  invalidate(id: string): void;
  close(): void;
}

/** How old the memory may be before all cards are read again in the background: a card may come without an entry. */
const refreshMs = 3_000;
/** The number of cards from which they are remembered; fewer are read each time. */
const rememberedMin = 2_000;
const prefix = 'card/';

/** Creates a reader. It learns of changes from the store's hints, and from callers that read the journal. */
export function createCardReader(store: CrossProcessStore, remembersFrom = rememberedMin): CardReader {
  const { shared, clock } = store;
  let cards: Map<string, Card> | undefined;
  let readAtMs = 0;
  let loading: Promise<void> | undefined;
  const changed = new Set<string>();
  const unwatch = shared.watch((hint) => {
    if (hint.type === 'recovered')
      cards = undefined; // The store may have lost data.
    else if (hint.type === 'cell-changed' && hint.key.startsWith(prefix)) changed.add(hint.key.slice(prefix.length));
  });

  /** Reads all cards. A card that changes meanwhile stays marked, and is read again. */
  function load(): Promise<void> {
    loading ??= (async () => {
      changed.clear();
      const all = await readCards(store);
      cards = new Map(all.map((card) => [card.id, card]));
      readAtMs = clock.nowMs();
    })().finally(() => {
      loading = undefined;
    });
    return loading;
  }

  async function readChanged(into: Map<string, Card>): Promise<void> {
    const ids = [...changed];
    changed.clear();
    const rows = await Promise.all(ids.map((id) => shared.read(prefix + id, 1)));
    for (const [at, id] of ids.entries()) {
      const [row] = rows[at]!;
      if (row?.key === prefix + id && row.state !== null) into.set(id, row.state as Card);
      else into.delete(id);
    }
  }

  return {
    async read() {
      if (cards === undefined || cards.size < remembersFrom || changed.size > storeBatchMax) await load();
      else if (clock.nowMs() - readAtMs > refreshMs) load().catch(() => undefined);
      if (cards !== undefined && changed.size > 0) await readChanged(cards);
      return [...(cards ?? new Map<string, Card>()).values()];
    },
    invalidate(id) {
      changed.add(id);
    },
    close: () => unwatch(),
  };
}
