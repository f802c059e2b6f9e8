/** The interface of stores: cells, journal and cards, and what a shared store adds. */

import type { Card } from '../core/card.ts';
import type { Entry, EntryBody, EntryPlace } from '../core/event.ts';
import type { Clock } from './clock.ts';
import type { ApplyOrders, OrderedTask, OrderTarget } from './orders.ts';
import type { ProcessCounters } from './process-counters.ts';
import type { PublishedGear, TaskPublisher } from './published-tasks.ts';
import type { BreakerSharing, RuleSharing, WorkerSharing } from './sharing.ts';
import type { StoreSize } from './store-size.ts';

/** The local view of one piece of state; `state` is plain JSON. */
export interface Cell<S = unknown> {
  readonly key: string;
  readonly state: S;
  /** The version of the stored state; 0 = never stored. It only grows. */
  readonly version: number;
}

/** How a shared store treats a cell. */
export interface CellOptions<S> {
  /** Returns the new view after another process wrote `stored`. Default: `stored`. */
  adopt?(view: S, stored: S): S;
  /** Returns the state for a store that lost data; `local` was stored before, `stored` is now. Default: `local`. */
  join?(local: S, stored: S): S;
  /**
   * How long the cell is retained after its last write; absent = until it is dropped.
   * @default until the cell is dropped
   */
  readonly keepMs?: number;
}

/** The contract of every store; all methods answer at once from what this process knows. */
export interface Store {
  readonly clock: Clock;
  /** Returns the local view of a cell, created by `initial` if there is none. The same key gives the same object. */
  cell<S>(key: string, initial: () => S, options?: CellOptions<S>): Cell<S>;
  /** Removes a cell, counter or window. */
  drop(key: string): void;
  /** Returns the keys of the cells that are open in this process. */
  keys(): Iterable<string>;
  /** Writes an entry. A local store writes records at once and traces in batches. */
  append(body: EntryBody, place: EntryPlace, atMs: number): Entry;
  /** Returns the entries from a sequence number on, oldest first. */
  tail(fromSeq: number): readonly Entry[];
  /** Writes a card. A shared store keeps the later of two states of one card. */
  putCard(card: Card): void;
  /** Returns a card; undefined if the id is unknown. */
  card(id: string): Card | undefined;
  /** Returns every card, open or answered. */
  cards(): readonly Card[];
  /** Ends timers and connections. The state of a shared store stays. */
  close(): void;
  /** Present if other processes can read and change the same state. */
  readonly shared?: SharedStore;
}

/** An entry that a transaction writes together with its changes. */
export interface PendingEntry {
  readonly body: EntryBody;
  readonly place: EntryPlace;
  readonly atMs: number;
}

/** The result of an update: the next state with its entries, 'keep' = no change, 'refuse' = reject the transaction. */
export type CellUpdate<S> = { readonly state: S; readonly entries?: readonly PendingEntry[] } | 'keep' | 'refuse';

/** A change of one cell. The update may write into its argument, and may run more than once. */
export interface Change<S = unknown> {
  readonly cell: Cell<S>;
  /** Returns the result of the change for the stored state. */
  update(state: S): CellUpdate<S>;
}

/** Adds a whole number to a counter; rejected if the total would pass the ceiling. Negative amounts always pass. */
export interface CounterAdd {
  readonly key: string;
  readonly amount: number;
  readonly ceiling?: number;
  /** How long the counter is retained after the last addition. */
  readonly keepMs?: number;
}

/** Adds a mark to a window; rejected if the window would hold more than `most` marks. Equal ids count once. */
export interface WindowMark {
  readonly key: string;
  readonly id: string;
  readonly atMs: number;
  readonly keepMs: number;
  /** The most marks that the store retains; it removes the oldest. */
  readonly cap: number;
  readonly most?: number;
}

/** A set of changes that the store makes all together or not at all. */
export interface Transaction {
  readonly changes?: readonly Change[];
  readonly adds?: readonly CounterAdd[];
  readonly marks?: readonly WindowMark[];
  readonly entries?: readonly PendingEntry[];
  /** If the store is unavailable or full, apply the transaction to the local view and deliver it later. */
  readonly queueIfUnavailable?: boolean;
  /** Called with the numbered entries once the transaction is stored, which may be much later. */
  onCommitted?(entries: readonly Entry[]): void;
}

/** The number of marks in a window, and the time of the oldest one. */
export interface WindowCount {
  readonly count: number;
  readonly oldestMs: number;
}

/**
 * The result of a transaction.
 * `committed`: the changes are in the store. `rejected`: nothing changed, and the views are fresh.
 * `queued`: the local view has the changes, and the store gets them later. `unavailable`: nothing changed, because the
 * store did not answer.
 */
export type TransactionResult =
  | { readonly status: 'committed'; readonly totals: readonly number[]; readonly windowCounts: readonly WindowCount[] }
  | { readonly status: 'rejected'; readonly by: 'cell' | 'counter' | 'mark' | 'full'; readonly key: string }
  | { readonly status: 'queued' }
  | { readonly status: 'unavailable'; readonly reason: string };

/** Whether the store answers. */
export interface StoreHealth {
  readonly state: 'shared' | 'degraded';
  /** One sentence for the journal and for people. */
  readonly reason: string;
}

/** A notification of the store. Hints may be late or missing, so no decision may depend on them. */
export type StoreHint =
  | { readonly type: 'cell-changed'; readonly key: string }
  | { readonly type: 'degraded' | 'recovered'; readonly reason: string };

/** A cell as it is stored. */
export interface StoredCell {
  readonly key: string;
  readonly version: number;
  readonly state: unknown;
}

/** The additional part of a store whose state several processes share. */
export interface SharedStore {
  /** A name that no other process ever has; ids that must not collide start with it. */
  readonly process: string;
  /** The key of fingerprints that leave the process; created once per store. */
  readonly secret: string;
  readonly health: StoreHealth;
  readonly breakers: BreakerSharing;
  readonly workers: WorkerSharing;
  readonly rules: RuleSharing;
  /** Returns the function that applies the operator orders of this store to a gear. */
  subscribeToOrders<T extends OrderedTask>(gear: OrderTarget<T>): ApplyOrders;
  /** Publishes the tasks of a gear; without this method other processes see them through the journal alone. */
  publishTasks?(gear: PublishedGear): TaskPublisher;
  /** The counters of this process, which the store adds to its totals; absent if the store keeps no metrics. */
  readonly counters?: ProcessCounters;
  /** Returns the stored totals of counters, 0 for one that was never added to. Throws if the store is unavailable. */
  readCounters?(keys: readonly string[]): Promise<readonly number[]>;
  /** Updates the views as far as possible without waiting. Called before every decision. */
  refresh(): void;
  /** Commits in this tick, or returns 'unavailable' or 'queued'. */
  commitNow(transaction: Transaction): TransactionResult;
  /** Commits together with other transactions of this tick, and retries lost races. The promise never rejects. */
  commit(transaction: Transaction): Promise<TransactionResult>;
  /** Returns the last known total of a counter. */
  counter(key: string): number;
  /** Returns the last known count of a window. */
  windowCount(key: string, atMs: number, keepMs: number): WindowCount;
  /** Returns all cells with this key prefix, from any process. */
  read(prefix: string, most: number): Promise<readonly StoredCell[]>;
  /** Returns the entries of all processes from a sequence number on. Throws if the store is unavailable. */
  entries(fromSeq: number, most: number): Promise<readonly Entry[]>;
  /** Measures the store, for people. */
  size?(): Promise<StoreSize>;
  /** Registers a listener for hints and returns a function that removes it. */
  watch(listener: (hint: StoreHint) => void): () => void;
  /** Calls a listener with the kind and duration of each operation of the store; returns a function that removes it. */
  measure?(listener: (operation: string, ms: number) => void): () => void;
  /** Closes the view of a cell, unless changes of it are on their way; the stored state stays. */
  evict?(key: string): void;
  /** Resolves once all transactions and entries so far are stored, or the store is unavailable. */
  settled(): Promise<void>;
}

/** A store whose state other processes share. */
export type CrossProcessStore = Store & { readonly shared: SharedStore };
