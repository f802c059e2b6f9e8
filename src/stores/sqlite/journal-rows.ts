/** Entries as rows of the journal: a record has one of its own, the traces of a commit share some. */

import type { SQLOutputValue } from 'node:sqlite';
import type { Entry, EntryPlace } from '../../core/event.ts';
import type { PendingEntry } from '../../ports/store.ts';
import { keyedText } from '../cells/keyed-fingerprints.ts';

/** Traces that share a row: from here on a longer one saves nothing. */
const tracesPerRow = 32;

type Row = Readonly<Record<string, SQLOutputValue>>;

/** A row that some share has the number of the last: their places, then each with its time and which place it is. */
type TraceRow = [readonly EntryPlace[], ...(readonly [atMs: number, place: number, body: object])[]];

/** What becomes one row. */
interface Lines {
  readonly count: number;
  /** When the last of them was. */
  readonly atMs: number;
  readonly text: string;
}

export interface JournalLines {
  /** The text of one entry. */
  one(entry: PendingEntry): string;
  /** Texts of many. */
  many(entries: readonly PendingEntry[]): readonly Lines[];
}

/** @param secret Asked for when the first entry is written. */
export function journalLines(secret: () => string): JournalLines {
  let keyed: ((json: string) => string) | undefined;

  function key(json: string): string {
    keyed ??= keyedText(secret());
    return keyed(json);
  }

  function shared(entries: readonly PendingEntry[]): string {
    const places: EntryPlace[] = [];
    let text = '';
    for (const { body, place, atMs } of entries) {
      let at = places.findIndex((known) => isSame(known, place));
      if (at === -1) at = places.push(place) - 1;
      text += `,[${atMs},${at},${JSON.stringify(body)}]`;
    }
    return key(`[${JSON.stringify(places)}${text}]`);
  }

  return {
    one: ({ body, place }) => key(JSON.stringify({ ...place, ...body })),
    many(entries) {
      const rows: Lines[] = [];
      for (let at = 0; at < entries.length; at += tracesPerRow) {
        const some = entries.slice(at, at + tracesPerRow);
        rows.push({ count: some.length, atMs: some.at(-1)!.atMs, text: shared(some) });
      }
      return rows;
    },
  };
}

function isSame(a: EntryPlace, b: EntryPlace): boolean {
  return a.task === b.task && a.session === b.session && a.agent === b.agent && a.breaker === b.breaker;
}

/** The entries of a row, in their order. */
export function entriesOf({ seq, atMs, wallMs, entry }: Row): readonly Entry[] {
  const said = JSON.parse(String(entry)) as TraceRow | object;
  if (!Array.isArray(said)) return [{ seq, atMs, wallMs, ...said } as unknown as Entry];
  const [places, ...lines] = said as TraceRow;
  const first = Number(seq) - lines.length + 1;
  return lines.map(
    ([at, place, body], after) =>
      ({ seq: first + after, atMs: at, wallMs, ...places[place], ...body }) as unknown as Entry,
  );
}
