/** Deals for which a file that is full has no room: they count in this process until it has some. */

import { keptDealsMax } from '../../core/limits.ts';
import type { Deal, Dealt } from '../../ports/store.ts';
import type { Views } from '../cells/cell-views.ts';
import type { Pulse } from '../cells/store-health.ts';
import { countHere, type Refused } from '../cells/transaction-plan.ts';

export interface FileRoom {
  /** What a deal comes to on a cell for which there is no room; undefined where it may be tried. */
  without(deal: Deal): Dealt | undefined;
  /** The deal as it ended; one that has happened and finds no room is kept. */
  ended(deal: Deal, dealt: Dealt): Dealt;
  /** Hands out all that is kept, to be tried again. */
  again(): readonly Deal[];
  readonly isMissed: boolean;
}

const reason =
  'the store is full: there are as many cells as keysMax says, and what is new counts in this process alone; ' +
  'raise keysMax, or use another file';

export function createFileRoom(views: Views, pulse: Pulse): FileRoom {
  const missed = new Set<Deal>();
  const keys = new Set<string>();

  return {
    without(deal) {
      if (keys.size === 0) return undefined;
      const key = deal.changes?.find(({ cell }) => keys.has(cell.key))?.cell.key;
      if (key === undefined) return undefined;
      return deal.mustArrive === true ? { status: 'refused', by: 'full', key } : { status: 'away', reason };
    },
    ended(deal, dealt) {
      if (deal.mustArrive !== true || !isFull(dealt)) return dealt;
      countHere(deal, views);
      keys.add(dealt.key);
      missed.add(deal);
      if (missed.size > keptDealsMax) missed.delete(missed.values().next().value!);
      pulse.degrade(reason);
      return { status: 'kept' };
    },
    again() {
      const all = [...missed];
      missed.clear();
      keys.clear();
      return all;
    },
    get isMissed() {
      return missed.size > 0;
    },
  };
}

function isFull(dealt: Dealt): dealt is Refused {
  return dealt.status === 'refused' && dealt.by === 'full';
}
