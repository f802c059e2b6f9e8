/** Deals for which a full store has no room: they count in this process, say what they say, and are tried again. */

import { keptDealsMax } from '../../core/limits.ts';
import type { Deal, Dealt } from '../../ports/store.ts';
import { notesHere } from '../cells/transaction-plan.ts';
import { sayAhead, together } from './batch.ts';

export interface Room {
  /** The cell of a deal for which there was none: it is decided here, like those before it. */
  missedBy(deal: Deal): string | undefined;
  /** Keeps a deal that found none for a cell. */
  miss(key: string, deal: Deal): void;
  /** Tries them again, cell by cell, until one finds none. */
  tryAgain(): Promise<void>;
  /** How many wait. */
  readonly size: number;
}

export interface RoomOptions {
  attempt(deal: Deal, counted?: boolean, parts?: readonly Deal[]): Promise<Dealt>;
  /** There is none, or there is some again. */
  changed(isFull: boolean): void;
}

export function createRoom({ attempt, changed }: RoomOptions): Room {
  const missed = new Map<string, Deal[]>();
  let size = 0;
  let trying = false;

  function put(key: string, deals: readonly Deal[]): void {
    const all = [...deals, ...(missed.get(key) ?? [])].slice(-keptDealsMax);
    size += all.length - (missed.get(key)?.length ?? 0);
    missed.set(key, all);
    for (const [oldest, theirs] of missed) {
      if (size <= keptDealsMax) break;
      size -= theirs.length; // Of too many cells the one that waits longest goes first.
      missed.delete(oldest);
    }
  }

  return {
    missedBy: ({ changes = [] }) =>
      missed.size === 0 ? undefined : changes.find(({ cell }) => missed.has(cell.key))?.cell.key,
    miss(key, deal) {
      if (missed.size === 0) changed(true);
      const waiting = missed.get(key) ?? [];
      missed.delete(key);
      size -= waiting.length;
      put(key, [...waiting, deal]);
      const notes = notesHere(deal);
      // The journal has room: whoever reads it is not to wait for that of the cell.
      if (notes.length === 0 || !sayAhead(deal)) return;
      void attempt({ notes, mustArrive: true, ...(deal.arrived && { arrived: deal.arrived }) });
    },
    async tryAgain() {
      if (trying) return;
      trying = true;
      try {
        for (const [key, deals] of [...missed]) {
          missed.delete(key);
          size -= deals.length;
          const dealt = await attempt(together(deals), true, deals);
          if (dealt.status === 'refused' && dealt.by === 'full') put(key, deals); // Else the cell was dropped.
          if (dealt.status !== 'done') return;
        }
        if (missed.size === 0) changed(false);
      } finally {
        trying = false;
      }
    },
    get size() {
      return size;
    },
  };
}
