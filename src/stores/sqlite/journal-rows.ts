/** Entries as rows of the journal: a record has one of its own, the traces of a commit share some. */

import type { SQLOutputValue } from 'node:sqlite';
import type { Entry, EntryPlace } from '../../core/event.ts';
import type { PendingEntry } from '../../ports/store.ts';
import { createFingerprintRewriter } from '../cells/keyed-fingerprints.ts';

/** Traces that share a row: from here on a longer one saves nothing. */
const tracesPerRow = 32;

type Row = Readonly<Record<string, SQLOutputValue>>;

/** A row that some share has the number of the last: their places, then each with its time and which place it is. */
type TraceRow = [readonly EntryPlace[], ...(readonly [atMs: number, place: number, body: object])[]];

/** What becomes one row. */
interface RowText {
  readonly count: number;
  /** When the last of them was. */
  readonly atMs: number;
  readonly text: string;
}

export interface JournalRows {
  /** The text of one entry. */
  recordText(entry: PendingEntry): string;
  /** Texts of many. */
  traceRows(entries: readonly PendingEntry[]): readonly RowText[];
}

/** @param secret Asked for when the first entry is written. */
export function createJournalRows(secret: () => string): JournalRows {
  let rewrite: ((json: string) => string) | undefined;

  function keyFingerprints(json: string): string {
    rewrite ??= createFingerprintRewriter(secret());
    return rewrite(json);
  }

  function traceRowText(entries: readonly PendingEntry[]): string {
    const places: EntryPlace[] = [];
    let text = '';
    for (const { body, place, atMs } of entries) {
      let at = places.findIndex((candidate) => isSame(candidate, place));
      if (at === -1) at = places.push(place) - 1;
      text += `,[${atMs},${at},${JSON.stringify(body)}]`;
    }
    return keyFingerprints(`[${JSON.stringify(places)}${text}]`);
  }

  return {
    recordText: ({ body, place }) => keyFingerprints(JSON.stringify({ ...place, ...body })),
    traceRows(entries) {
      const rows: RowText[] = [];
      for (let at = 0; at < entries.length; at += tracesPerRow) {
        const chunk = entries.slice(at, at + tracesPerRow);
        rows.push({ count: chunk.length, atMs: chunk.at(-1)!.atMs, text: traceRowText(chunk) });
      }
      return rows;
    },
  };
}

function isSame(a: EntryPlace, b: EntryPlace): boolean {
  return a.task === b.task && a.session === b.session && a.agent === b.agent && a.breaker === b.breaker;
}

/** The entries of a row, in their order. */
export function parseJournalRow({ seq, atMs, wallMs, entry }: Row): readonly Entry[] {
  const parsed = JSON.parse(String(entry)) as TraceRow | object;
  if (!Array.isArray(parsed)) return [{ seq, atMs, wallMs, ...parsed } as unknown as Entry];
  const [places, ...lines] = parsed as TraceRow;
  const first = Number(seq) - lines.length + 1;
  return lines.map(
    ([at, place, body], after) =>
      ({ seq: first + after, atMs: at, wallMs, ...places[place], ...body }) as unknown as Entry,
  );
}
