/** The open file of a store: kept open, opened again when it was damaged or replaced, and asked without throwing. */

import type { DatabaseSync } from 'node:sqlite';
import type { Entry } from '../core/event.ts';
import type { Clock } from '../ports/clock.ts';
import type { Stored } from '../ports/store.ts';
import { machineClock } from './machine-clock.ts';
import { machineTime, type SavedTime } from './machine-time.ts';
import type { Pulse } from './pulse.ts';
import { createDeals, type Deals, secretKey } from './sqlite-deals.ts';
import { sentenceOf, troubleOf } from './sqlite-error.ts';
import { inodeOf, type OpenFile, openFile, setAside, sumOf } from './sqlite-file.ts';
import { entriesOf } from './sqlite-lines.ts';
import { readText, type Views } from './views.ts';

export interface Session {
  readonly clock: Clock;
  readonly db: DatabaseSync;
  readonly deals: Deals;
  /** Asks something; undefined where the file does not answer, which is then known. */
  attempt<T>(ask: (deals: Deals) => T): T | undefined;
  /** Deals with an error of the file; true where it was opened anew. */
  trouble(error: unknown): boolean;
  /** Opens the file anew where another lies under its name; true if so. */
  reopenIfReplaced(): boolean;
  /** A value that is made once per file; one that begins anew gets it, too. */
  once(key: string, make: () => string): string;
  readonly made: ReadonlyMap<string, string>;
  saveTime(): void;
  read(prefix: string, most: number): readonly Stored[];
  /** Entries from a number on; of more than `most` the newest, or the first. */
  entries(fromSeq: number, most: number, newest: boolean): readonly Entry[];
  close(): void;
}

export interface SessionOptions {
  readonly path: string;
  readonly verify: boolean;
  readonly views: Views;
  readonly pulse: Pulse;
  readonly clock: Clock | undefined;
}

export function createSession({ path, verify, views, pulse, clock: given }: SessionOptions): Session {
  let file: OpenFile = openFile(path, verify);
  const made = new Map<string, string>();
  const saved = readTime();
  const time = machineTime(saved);
  const clock = given ?? time.clock;
  let deals = makeDeals();
  let closed = false;
  if (file.aside !== undefined) sayAside(file.aside);

  function makeDeals(): Deals {
    return createDeals(file.db, views, clock, () => made.get(secretKey) ?? '');
  }

  function readTime(): SavedTime | undefined {
    const row = file.db.prepare("SELECT value FROM meta WHERE key = 'time'").get();
    return row === undefined ? undefined : (JSON.parse(String(row.value)) as SavedTime);
  }

  function sayAside(aside: string): void {
    const reason = `the file was damaged and is kept as ${JSON.stringify(aside)}; the store began anew`;
    pulse.degrade(reason);
    machineClock.after(0, () => pulse.recover(reason));
  }

  function reopen(): void {
    try {
      file.db.close();
    } catch {
      // A file that is broken may refuse even this; what it held is lost to this handle alone.
    }
    file = openFile(path, verify);
    deals = makeDeals();
    if (file.aside !== undefined) sayAside(file.aside);
  }

  function trouble(error: unknown): boolean {
    if (closed) return false;
    if (troubleOf(error) !== 'damaged') {
      pulse.degrade(sentenceOf(error, path));
      return false;
    }
    try {
      const aside = setAside(path, file.inode);
      reopen();
      if (aside !== undefined) sayAside(aside);
      return true;
    } catch (again) {
      pulse.degrade(sentenceOf(again, path));
      return false;
    }
  }

  function attempt<T>(ask: (deals: Deals) => T): T | undefined {
    try {
      return ask(deals);
    } catch (error) {
      if (troubleOf(error) !== 'busy') trouble(error);
      return undefined;
    }
  }

  return {
    clock,
    get db() {
      return file.db;
    },
    get deals() {
      return deals;
    },
    made,
    attempt,
    trouble,
    reopenIfReplaced() {
      if (closed || inodeOf(path) === file.inode) return false;
      try {
        reopen();
        return true;
      } catch (error) {
        pulse.degrade(sentenceOf(error, path));
        return false;
      }
    },
    once(key, make) {
      const { db } = file;
      const isNew = saved === undefined || saved.boot !== time.save().boot;
      let value = deals.meta(key);
      if (value !== undefined) made.set(key, value);
      if (value !== undefined && !isNew) return value;
      db.exec('PRAGMA busy_timeout = 2000; BEGIN IMMEDIATE');
      try {
        value = deals.meta(key) ?? make();
        deals.setMeta(key, value);
        if (isNew) deals.setMeta('time', JSON.stringify(time.save()));
        db.exec('COMMIT');
        made.set(key, value);
        return value;
      } catch (error) {
        if (db.isTransaction) db.exec('ROLLBACK');
        throw error;
      } finally {
        db.exec('PRAGMA busy_timeout = 0');
      }
    },
    saveTime() {
      deals.setMeta('time', JSON.stringify(time.save()));
    },
    read(prefix, most) {
      const rows = attempt(() =>
        file.db
          .prepare(
            'SELECT key, version, state FROM cells WHERE substr(key, 1, ?) = ? AND key >= ? AND state IS NOT NULL ' +
              'ORDER BY key LIMIT ?',
          )
          .all(prefix.length, prefix, prefix, most),
      );
      const read = (rows ?? []).map(({ key, version, state }) => ({
        key: String(key),
        version: Number(version),
        state: readText(String(state)),
      }));
      return read.filter(({ state }) => state !== undefined); // Whoever decides on one that is none of ours says so.
    },
    entries(fromSeq, most, newest) {
      const order = newest ? 'DESC' : 'ASC';
      const found: Entry[] = [];
      attempt(() => {
        const rows = file.db
          .prepare(`SELECT seq, atMs, wallMs, entry, crc FROM journal WHERE seq >= ? ORDER BY seq ${order} LIMIT ?`)
          .iterate(fromSeq, most);
        for (const row of rows) {
          // A line that the disk changed by itself says nothing: it is left out, and its numbers are missing.
          if (sumOf(row.seq, row.entry) !== row.crc) continue;
          const said = entriesOf(row).filter(({ seq }) => seq >= fromSeq);
          found.push(...(newest ? said.toReversed() : said));
          if (found.length >= most) break;
        }
      });
      found.length = Math.min(found.length, most);
      return newest ? found.reverse() : found;
    },
    close() {
      if (closed) return;
      closed = true;
      file.db.close();
    },
  };
}
