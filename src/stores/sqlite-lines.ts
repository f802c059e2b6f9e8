/** Entries as rows of the journal: a record has one of its own, the traces of a commit share some. */

import type { SQLOutputValue } from 'node:sqlite';
import type { Entry, EntryPlace } from '../core/event.ts';
import type { Note } from '../ports/store.ts';
import { keyedText } from './keyed.ts';

/** Traces that share a row: from here on a longer one saves nothing. */
const tracesPerRow = 32;

/** What a row says: an entry, or a list of them with their times, of which the last has the number of the row. */
type Row = Readonly<Record<string, SQLOutputValue>>;

/** What becomes one row. */
interface Lines {
  readonly count: number;
  /** When the last of them was. */
  readonly atMs: number;
  readonly text: string;
}

export interface JournalLines {
  /** The text of one entry. */
  one(note: Note): string;
  /** Texts of many. */
  many(notes: readonly Note[], wallMs: number): readonly Lines[];
}

export function journalLines(secret: string): JournalLines {
  const key = keyedText(secret);
  let last: EntryPlace = {};
  let opening = '{';

  /** Most entries are where the one before them was: that is not written out again. */
  function plain({ body, place }: Note): string {
    const { task, session, agent, breaker } = place;
    if (task !== last.task || session !== last.session || agent !== last.agent || breaker !== last.breaker) {
      last = place;
      const whole = JSON.stringify(place).slice(0, -1);
      opening = whole === '{' ? whole : `${whole},`;
    }
    return opening + JSON.stringify(body).slice(1);
  }

  return {
    one: (note) => key(plain(note)),
    many(notes, wallMs) {
      const rows: Lines[] = [];
      for (let at = 0; at < notes.length; at += tracesPerRow) {
        const some = notes.slice(at, at + tracesPerRow);
        const list = some.map((note) => `[${note.atMs},${wallMs},${plain(note)}]`);
        rows.push({ count: some.length, atMs: some.at(-1)!.atMs, text: key(`[${list.join(',')}]`) });
      }
      return rows;
    },
  };
}

/** The entries of a row, in their order. */
export function entriesOf({ seq, atMs, wallMs, entry }: Row): readonly Entry[] {
  const said: unknown = JSON.parse(String(entry));
  if (!Array.isArray(said)) return [{ seq, atMs, wallMs, ...(said as object) } as unknown as Entry];
  const first = Number(seq) - said.length + 1;
  return (said as [number, number, object][]).map(
    ([at, wall, body], after) => ({ seq: first + after, atMs: at, wallMs: wall, ...body }) as unknown as Entry,
  );
}
