/** Where state lives: cells that are looked at in this process, the journal, cards; and what a shared store adds. */

import type { Card } from '../core/card.ts';
import type { Entry, EntryBody, EntryPlace } from '../core/event.ts';
import type { Clock } from './clock.ts';
import type { ApplyOrders, OrderedTask, OrderTarget } from './orders.ts';
import type { PublishedGear, TaskPublisher } from './published-tasks.ts';
import type { BreakerSharing, RuleSharing, WorkerSharing } from './sharing.ts';

/** The local view of one piece of state; `state` is plain JSON. */
export interface Cell<S = unknown> {
  readonly key: string;
  readonly state: S;
  /** 0 = never stored; it only grows. */
  readonly version: number;
}

/** What a cell of a shared store needs beyond its first state. */
export interface CellOptions<S> {
  /** What this process sees, when somebody wrote `stored`; without it, `stored`. */
  adopt?(view: S, stored: S): S;
  /** What a store is told that forgot: `known` was written before, `stored` is there now. Without it, `known`. */
  join?(local: S, stored: S): S;
  /** How long it is kept after it was last written. */
  readonly keepMs?: number;
}

/** The contract of every store: all of it answers at once, on what this process knows. */
export interface Store {
  readonly clock: Clock;
  /** The local view of a cell; made by `initial` where there is none. The same object for the same key. */
  cell<S>(key: string, initial: () => S, options?: CellOptions<S>): Cell<S>;
  /** Forgets a cell, sum or mark. */
  drop(key: string): void;
  /** The cells that this process looks at. */
  keys(): Iterable<string>;
  /** Writes an entry. A record is durable at once where the store is local; traces are written in batches. */
  append(body: EntryBody, place: EntryPlace, atMs: number): Entry;
  /** Entries from a number on, oldest first. */
  tail(fromSeq: number): readonly Entry[];
  putCard(card: Card): void;
  card(id: string): Card | undefined;
  cards(): readonly Card[];
  close(): void;
  /** Present where other processes may look at the same state, and change it. */
  readonly shared?: SharedStore;
}

/** An entry to be written in the transaction that makes it true. */
export interface PendingEntry {
  readonly body: EntryBody;
  readonly place: EntryPlace;
  readonly atMs: number;
}

/** What a step makes of a cell: its next state with what is to be said of it; or it stays; or the whole deal is off. */
export type CellUpdate<S> = { readonly state: S; readonly entries?: readonly PendingEntry[] } | 'keep' | 'refuse';

/** A change of one cell. The step may write into the state it is given, and may run more than once. */
export interface Change<S = unknown> {
  readonly cell: Cell<S>;
  update(state: S): CellUpdate<S>;
}

/** Adds a whole number to a sum, unless it would pass the ceiling; what is taken back always passes. */
export interface CounterAdd {
  readonly key: string;
  readonly amount: number;
  readonly ceiling?: number;
  /** How long it is kept after the last addition. */
  readonly keepMs?: number;
}

/** Marks a moment in a window; refused where more than `most` marks would lie in it. The same id is marked once. */
export interface WindowMark {
  readonly key: string;
  readonly id: string;
  readonly atMs: number;
  readonly keepMs: number;
  /** Marks that are kept: the newest. */
  readonly cap: number;
  readonly most?: number;
}

/** Everything that has to become true together, or not at all. */
export interface Transaction {
  readonly changes?: readonly Change[];
  readonly adds?: readonly CounterAdd[];
  readonly marks?: readonly WindowMark[];
  readonly entries?: readonly PendingEntry[];
  /** It happened and must be told: where the store is away or full it counts here, and is delivered later. */
  readonly queueIfUnavailable?: boolean;
  /** Called once it is in the store, which may be much later, with its notes as the journal has them. */
  onCommitted?(entries: readonly Entry[]): void;
}

/** The marks of a window: how many, and when the oldest of them was made. */
export interface WindowCount {
  readonly count: number;
  readonly oldestMs: number;
}

/**
 * How a deal ended.
 * `done`: it is in the store. `refused`: nothing changed, and the views are fresh: judge again.
 * `kept`: this process counts it, and the store will hear of it. `away`: nothing changed, and nobody can say more now.
 */
export type TransactionResult =
  | { readonly status: 'committed'; readonly totals: readonly number[]; readonly windowCounts: readonly WindowCount[] }
  | { readonly status: 'rejected'; readonly by: 'cell' | 'counter' | 'mark' | 'full'; readonly key: string }
  | { readonly status: 'queued' }
  | { readonly status: 'unavailable'; readonly reason: string };

export interface StoreHealth {
  readonly state: 'shared' | 'degraded';
  /** One sentence, for the journal and for a person. */
  readonly reason: string;
}

/** Something happened in the store. A hint may be late or missing: no decision may depend on it. */
export type StoreHint =
  | { readonly type: 'cell-changed'; readonly key: string }
  | { readonly type: 'degraded' | 'recovered'; readonly reason: string };

export interface StoredCell {
  readonly key: string;
  readonly version: number;
  readonly state: unknown;
}

/** What a store adds whose state others see, too. */
export interface SharedStore {
  /** Unlike that of any other process, ever: the beginning of ids that must not collide. */
  readonly process: string;
  /** Made once per store: the key of fingerprints that leave the process. */
  readonly secret: string;
  readonly health: StoreHealth;
  readonly breakers: BreakerSharing;
  readonly workers: WorkerSharing;
  readonly rules: RuleSharing;
  /** Puts a gear under the orders that an operator gives through this store. */
  subscribeToOrders<T extends OrderedTask>(gear: OrderTarget<T>): ApplyOrders;
  /** Shows the tasks of a gear to other processes; without it they are seen through the journal alone. */
  publishTasks?(gear: PublishedGear): TaskPublisher;
  /** Brings the views up to date as far as that costs no waiting. Asked before every decision. */
  refresh(): void;
  /** The synchronous door: in this tick, or not now. */
  commitNow(transaction: Transaction): TransactionResult;
  /** The asynchronous door: with the others of this tick, and again where somebody was faster. It never rejects. */
  commit(transaction: Transaction): Promise<TransactionResult>;
  /** The last known total of a sum. */
  counter(key: string): number;
  /** The last known marks of a window. */
  windowCount(key: string, atMs: number, keepMs: number): WindowCount;
  /** What is stored under keys that begin so, whoever wrote it. */
  read(prefix: string, most: number): Promise<readonly StoredCell[]>;
  /** The journal of all processes, from a number on. */
  entries(fromSeq: number, most: number): Promise<readonly Entry[]>;
  watch(listener: (hint: StoreHint) => void): () => void;
  /** Looks at a cell no more; what is stored stays. For cells of which there are very many, one after the other. */
  evict?(key: string): void;
  /** Waits until everything handed in so far has arrived, as long as the store is there. */
  settled(): Promise<void>;
}

/** A store whose state other processes share. */
export type CrossProcessStore = Store & { readonly shared: SharedStore };
