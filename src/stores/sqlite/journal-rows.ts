/** Converts entries to journal rows and back: each record gets one row, traces are packed 32 to a row. */

import type { SQLOutputValue } from 'node:sqlite';
import type { Entry, EntryPlace } from '../../core/event.ts';
import type { PendingEntry } from '../../ports/store.ts';
import { createFingerprintRewriter } from '../cells/keyed-fingerprints.ts';
import type { prepareStatements } from './statements.ts';

/** The most traces in one row; longer rows save no more space. */
const tracesPerRow = 32;

type Row = Readonly<Record<string, SQLOutputValue>>;

/** The JSON of a trace row: the distinct places, then each trace. The row has the number of its last trace. */
type TraceRow = [readonly EntryPlace[], ...(readonly [atMs: number, place: number, body: object])[]];

/** The text of one row and the entries in it. */
interface RowText {
  readonly count: number;
  /** The time of the last entry of the row. */
  readonly atMs: number;
  readonly text: string;
}

/** Writes entries as row texts, with fingerprints keyed by the store's secret. */
export interface JournalRows {
  /** Returns the row text of one record. */
  recordText(entry: PendingEntry): string;
  /** Packs traces into as few rows as possible. */
  traceRows(entries: readonly PendingEntry[]): readonly RowText[];
}

/** Creates the row writer; `secret` is called when the first entry is written. */
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

/** Parses the entries of a row, oldest first. */
export function parseJournalRow({ seq, atMs, wallMs, entry }: Row): readonly Entry[] {
  const parsed = JSON.parse(String(entry)) as TraceRow | object;
  if (!Array.isArray(parsed)) return [{ seq, atMs, wallMs, ...parsed } as Entry];
  const [places, ...lines] = parsed as TraceRow;
  const first = Number(seq) - lines.length + 1;
  return lines.map(
    ([at, place, body], after) => ({ seq: first + after, atMs: at, wallMs, ...places[place], ...body }) as Entry,
  );
}

/** Deletes the oldest journal rows until `excessBytes` are freed; the newest row stays. Needs an open transaction. */
export function dropOldest(statements: ReturnType<typeof prepareStatements>, excessBytes: number): void {
  let freed = 0;
  let last = 0;
  for (const { seq, bytes } of statements.oldest.iterate()) {
    last = Number(seq);
    freed += Number(bytes);
    if (freed >= excessBytes) break;
  }
  statements.dropUpTo.run(last);
}
