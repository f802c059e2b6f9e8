/** Deals that were kept while the store was away, delivered many at once. */

import type { Entry } from '../../core/event.ts';
import type { Change, Deal, Next, Note } from '../../ports/store.ts';

/** Several deals that must arrive, as one: nothing can be against what has happened. */
export function together(deals: readonly Deal[]): Deal {
  return {
    changes: deals.flatMap((deal) => {
      const { changes = [] } = deal;
      return changes.map(({ cell, step }, at) => ({
        cell,
        step: (state: unknown) => unopposed(deal, at, step, state),
      }));
    }),
    sums: deals.flatMap(({ sums = [] }) => sums.map(({ key, amount }) => ({ key, amount }))),
    marks: deals.flatMap(({ marks = [] }) => marks.map(({ most: _, ...mark }) => mark)),
    notes: deals.flatMap((deal) => (saidBefore.has(deal) ? [] : (deal.notes ?? []))),
    mustArrive: true,
  };
}

/** Deals whose notes are in the journal already, although they are not in the store. */
const saidBefore = new WeakSet<Deal>();

/** Lets the notes of a deal go ahead of it, once: they are not written again with it. False where they did already. */
export function sayAhead(deal: Deal): boolean {
  if (saidBefore.has(deal)) return false;
  saidBefore.add(deal);
  return true;
}

/** What the parts of a batch said when it was planned last. */
const writtenOf = new WeakMap<Deal, readonly Note[]>();

function unopposed(deal: Deal, at: number, step: Change['step'], state: unknown): Next<unknown> {
  try {
    const next = step(state);
    const notes = typeof next === 'object' ? (next.notes ?? []) : [];
    if (saidBefore.has(deal) && typeof next === 'object') return { state: next.state };
    writtenOf.set(deal, at === 0 ? notes : [...(writtenOf.get(deal) ?? []), ...notes]);
    return next === 'refuse' ? 'keep' : next;
  } catch {
    return 'keep'; // It would throw for its own caller, too.
  }
}

/** What was written into the journal at once, and the number of the last of it. */
export interface Numbered {
  readonly notes: readonly Note[];
  readonly lastSeq: number;
  readonly wallMs: number;
}

/** What a deal that was carried out, alone or in a batch, wrote into the journal. */
export function entriesOf(deal: Deal, alone: boolean, { notes, lastSeq, wallMs }: Numbered): readonly Entry[] {
  const own = alone ? notes : saidBefore.has(deal) ? [] : [...(writtenOf.get(deal) ?? []), ...(deal.notes ?? [])];
  return own.map((note) => {
    const seq = lastSeq + 1 - notes.length + notes.indexOf(note);
    return { seq, atMs: note.atMs, wallMs, ...note.place, ...note.body } as Entry;
  });
}
