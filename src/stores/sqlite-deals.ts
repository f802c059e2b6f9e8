/** Deals in the file: everything that is done inside one transaction, by statements that are prepared once. */

import type { DatabaseSync } from 'node:sqlite';
import { SwitchgearError } from '../core/error.ts';
import type { Entry } from '../core/event.ts';
import { cardsMax } from '../core/limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { Addition, Deal, Dealt, Marked, Marking, Note } from '../ports/store.ts';
import { cardPrefix, isForPeople, planDeal, type Refused } from './planning.ts';
import { DamagedRow } from './sqlite-error.ts';
import { sumOf } from './sqlite-file.ts';
import { journalLines } from './sqlite-lines.ts';
import { dropOldest } from './sqlite-retention.ts';
import { blockOf, migrations, newerThan } from './sqlite-schema.ts';
import { statementsOf } from './sqlite-statements.ts';
import { type Known, keepSpare, type View, type Views } from './views.ts';

/** What became of one deal, and what has to be learnt once it is committed. */
export interface Ran {
  readonly dealt: Dealt;
  readonly entries: readonly Entry[];
}

/** How long and how much the journal keeps, and how many cells there may be. */
export interface Retain {
  readonly days: number;
  readonly bytes: number;
  readonly cells: number;
}

const dayMs = 86_400_000;

/** Where the secret of a file lies. */
export const secretKey = 'secret';

export interface Deals {
  begin(): void;
  commit(): void;
  /** Runs a deal in the open transaction. Nothing is written where anything is against it. */
  run(deal: Deal): Ran;
  /** Makes the views show what was committed. */
  committed(): void;
  rolledBack(): void;
  /** Reads what others changed since the last look; what they are told of, it returns. */
  refresh(): readonly string[];
  known(key: string): Known | undefined;
  write(note: Note): Entry;
  /** Writes traces, which nobody waits for: in as few rows as may be. */
  trace(notes: readonly Note[]): void;
  sum(key: string): number;
  marked(key: string, atMs: number, keepMs: number): Marked;
  meta(key: string): string | undefined;
  setMeta(key: string, value: string): void;
  drop(key: string, untilMs: number): void;
  /** Removes what has had its time, a little at once. */
  sweep(atMs: number, wallMs: number, retain: Retain): void;
  /** The highest number of an entry. */
  readonly lastSeq: number;
  /** Whether there were too many cells for a new one when it was last swept. */
  readonly isFull: boolean;
  /** Tells a file that forgot what this process knows; in the open transaction. */
  offer(view: View, version: number, text: string): void;
  raise(key: string, atLeast: number): void;
}

export function createDeals(db: DatabaseSync, views: Views, { wallMs, nowMs }: Clock, secret: () => string): Deals {
  const lines = journalLines(() => metaOf(secretKey) ?? secret());
  const ask = statementsOf(db);
  let seenData = -1;
  let seenVersion = Number(ask.top.get()?.version ?? 0);
  let isFull = false;
  /** What the open transaction wrote, learnt once it is committed. */
  const pending = new Map<View, { version: number; text: string | undefined; state: unknown }>();
  let pendingVersion = 0;
  let pendingSeq = 0;
  let lastSeq = 0;

  function refresh(): readonly string[] {
    const [data] = ask.dataVersion.get() as unknown as [number];
    if (data === seenData) return none;
    const version = Number(ask.format.get()?.user_version);
    // A newer Switchgear took the file over while it was open here: two versions do not write one file.
    if (version > migrations.length) throw new SwitchgearError('store_newer', `it ${newerThan(version)}`);
    const changed: string[] = [];
    for (const row of ask.newer.all(blockOf(seenVersion), seenVersion)) {
      const key = String(row.key);
      const known = checked(key, row);
      seenVersion = known.version;
      const view = views.all.get(key);
      if (view !== undefined && views.learn(view, known.version, known.text)) changed.push(key);
    }
    lastSeq = Number(ask.lastSeq.get()?.seq ?? 0);
    seenData = data;
    return changed;
  }

  function checked(key: string, row: Readonly<Record<string, unknown>>): Known {
    const { version, state, crc } = row;
    if (sumOf(key, version, state ?? '') !== crc) throw new DamagedRow('cells', key);
    return { version: version as number, text: (state ?? undefined) as string | undefined };
  }

  function known(key: string): Known | undefined {
    const row = ask.one.get(key);
    return row === undefined ? undefined : checked(key, row);
  }

  function nextVersion(): number {
    if (pendingVersion === 0) pendingVersion = seenVersion;
    return ++pendingVersion;
  }

  function put(
    view: View | undefined,
    key: string,
    text: string | undefined,
    untilMs: number | null,
    state?: unknown,
  ): void {
    const version = nextVersion();
    const crc = sumOf(key, version, text ?? '');
    const block = blockOf(version);
    const row = [version, untilMs, text ?? null, crc, key, block] as const;
    // One that is known is mostly there, and often in its block; one that had its time is not.
    const isThere =
      view?.text !== undefined && blockOf(view.cell.version) === block && ask.again.run(...row).changes === 1;
    if (!isThere) ask.put.run(...row);
    if (view !== undefined) pending.set(view, { version, text, state });
  }

  function endOf({ options: { keepMs } }: View): number | null {
    return keepMs === undefined ? null : nowMs() + keepMs;
  }

  function totalOf(key: string): number {
    const row = ask.total.get(key);
    if (row === undefined) return 0;
    if (sumOf(key, row.total) !== row.crc) throw new DamagedRow('sums', key);
    return Number(row.total);
  }

  function setTotal(key: string, total: number, keepMs?: number): void {
    ask.setTotal.run(key, total, keepMs === undefined ? null : nowMs() + keepMs, sumOf(key, total));
  }

  function windowOf(key: string, id: string, atMs: number, keepMs: number): Marked {
    const row = ask.window.get(key, atMs - keepMs, id);
    return { count: Number(row?.n ?? 0), oldestMs: Number(row?.oldest ?? atMs) };
  }

  function mark({ key, id, atMs, keepMs, cap }: Marking): Marked {
    ask.mark.run(key, id, atMs, atMs + keepMs);
    const { count, oldestMs } = windowOf(key, '', atMs, keepMs);
    if (count <= cap) return { count, oldestMs };
    ask.trim.run(key, key, cap);
    return windowOf(key, '', atMs, keepMs);
  }

  function metaOf(name: string): string | undefined {
    const row = ask.meta.get(name);
    if (row === undefined) return undefined;
    if (sumOf(name, row.value) !== row.crc) throw new DamagedRow('meta', name);
    return String(row.value);
  }

  /** Gives numbers to so many entries; the last of them. */
  function nextSeq(count: number): number {
    if (pendingSeq === 0) pendingSeq = lastSeq;
    pendingSeq += count;
    return pendingSeq;
  }

  function write(note: Note): Entry {
    const { body, place, atMs } = note;
    const seq = nextSeq(1);
    const wall = wallMs();
    const text = lines.one(note);
    ask.write.run(seq, atMs, wall, text, sumOf(seq, text));
    return { seq, atMs, wallMs: wall, ...place, ...body } as Entry;
  }

  function trace(notes: readonly Note[]): void {
    const wall = wallMs();
    for (const { count, atMs, text } of lines.many(notes)) {
      const seq = nextSeq(count);
      ask.write.run(seq, atMs, wall, text, sumOf(seq, text));
    }
  }

  /** Cards are bounded; the oldest goes first. */
  function makeRoomForCards(): void {
    const end = `${cardPrefix.slice(0, -1)}0`;
    if (Number(ask.cards.get(cardPrefix, end)?.n) <= cardsMax) return;
    const key = ask.oldestCard.get(cardPrefix, end)?.key;
    if (typeof key === 'string') put(views.all.get(key), key, undefined, nowMs());
  }

  function refusal(deal: Deal, sums: ReadonlyMap<string, number>): Refused | undefined {
    for (const { key, id, atMs, keepMs, most } of deal.marks ?? []) {
      if (most !== undefined && windowOf(key, id, atMs, keepMs).count + 1 > most)
        return { status: 'refused', by: 'mark', key };
    }
    const added = new Map(sums);
    for (const { key, amount, ceiling } of deal.sums ?? []) {
      const total = added.get(key)! + amount;
      if (amount > 0 && ceiling !== undefined && total > ceiling) return { status: 'refused', by: 'sum', key };
      added.set(key, total);
    }
    return undefined;
  }

  function run(deal: Deal): Ran {
    const plan = planDeal(deal, views, (view) => (pending.has(view) ? pending.get(view)!.text : view.text));
    if ('status' in plan) return { dealt: plan, entries: none };
    const sums = new Map(deal.sums?.map(({ key }) => [key, totalOf(key)]));
    const against = deal.sums === undefined && deal.marks === undefined ? undefined : refusal(deal, sums);
    if (against !== undefined) return { dealt: against, entries: none };
    for (const { view } of plan.cells) {
      if (isFull && view.text === undefined && !pending.has(view) && !isForPeople(view.cell.key))
        return { dealt: { status: 'refused', by: 'full', key: view.cell.key }, entries: none };
    }
    for (const { view, text, state } of plan.cells) {
      put(view, view.cell.key, text, endOf(view), state);
      if (view.cell.key.startsWith(cardPrefix)) makeRoomForCards();
    }
    const totals = (deal.sums ?? none).map(({ key, amount, keepMs }: Addition) => {
      const total = sums.get(key)! + amount;
      sums.set(key, total);
      setTotal(key, total, keepMs);
      return total;
    });
    const marked = (deal.marks ?? none).map(mark);
    return { dealt: { status: 'done', totals, marked }, entries: plan.notes.map(write) };
  }

  return {
    begin: () => void ask.begin.run(),
    commit: () => void ask.commit.run(),
    run,
    refresh,
    known,
    write,
    trace,
    committed() {
      for (const [view, { version, text, state }] of pending) {
        views.learn(view, version, text);
        if (text !== undefined) keepSpare(views, { view, text, state });
      }
      if (pendingVersion > 0) seenVersion = pendingVersion;
      if (pendingSeq > 0) lastSeq = pendingSeq;
      pending.clear();
      pendingVersion = 0;
      pendingSeq = 0;
    },
    rolledBack() {
      pending.clear();
      pendingVersion = 0;
      pendingSeq = 0;
    },
    sum: totalOf,
    marked: (key, atMs, keepMs) => windowOf(key, '', atMs, keepMs),
    meta: metaOf,
    setMeta: (key, value) => void ask.setMeta.run(key, value, sumOf(key, value)),
    drop(key, untilMs) {
      if (ask.one.get(key) !== undefined) put(views.all.get(key), key, undefined, untilMs);
      ask.dropSum.run(key);
      ask.dropMarks.run(key);
    },
    offer(view, version, text) {
      if (pendingVersion < version) pendingVersion = Math.max(version, seenVersion);
      put(view, view.cell.key, text, endOf(view));
    },
    raise(key, atLeast) {
      if (totalOf(key) < atLeast) setTotal(key, atLeast);
    },
    sweep(atMs, wall, { days, bytes, cells }) {
      const top = Number(ask.top.get()?.version ?? 0);
      // The row of the highest number stays: from it the next one is counted.
      ask.dropEnded.run(atMs, top);
      ask.dropSums.run(atMs);
      ask.dropMarked.run(atMs);
      ask.dropAged.run(wall - days * dayMs);
      const pages = (name: string) => Number(db.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
      const used = (pages('page_count') - pages('freelist_count')) * pages('page_size');
      if (used > bytes) dropOldest(ask, used - bytes);
      isFull = Number(ask.count.get()?.n ?? 0) >= cells;
    },
    get lastSeq() {
      return lastSeq;
    },
    get isFull() {
      return isFull;
    },
  };
}

const none: readonly never[] = Object.freeze([]);
