export interface Cell<S = unknown> {
    readonly key: string;
    readonly state: S;
    readonly version: number;
}

export interface CellOptions<S> {
    adopt?(view: S, stored: S): S;
    join?(local: S, stored: S): S;
    readonly keepMs?: number;
}

export type CellUpdate<S> = {
    readonly state: S;
    readonly entries?: readonly PendingEntry[];
} | 'keep' | 'refuse';

export interface Change<S = unknown> {
    readonly cell: Cell<S>;
    update(state: S): CellUpdate<S>;
}

export interface CounterAdd {
    readonly key: string;
    readonly amount: number;
    readonly ceiling?: number;
    readonly keepMs?: number;
}

export interface PendingEntry {
    readonly body: EntryBody;
    readonly place: EntryPlace;
    readonly atMs: number;
}

export interface SharedStore {
    readonly process: string;
    readonly secret: string;
    readonly health: StoreHealth;
    readonly breakers: BreakerSharing;
    readonly workers: WorkerSharing;
    readonly rules: RuleSharing;
    subscribeToOrders<T extends OrderedTask>(gear: OrderTarget<T>): ApplyOrders;
    publishTasks?(gear: PublishedGear): TaskPublisher;
    readonly counters?: ProcessCounters;
    readCounters?(keys: readonly string[]): Promise<readonly number[]>;
    refresh(): void;
    commitNow(transaction: Transaction): TransactionResult;
    commit(transaction: Transaction): Promise<TransactionResult>;
    counter(key: string): number;
    windowCount(key: string, atMs: number, keepMs: number): WindowCount;
    read(prefix: string, most: number): Promise<readonly StoredCell[]>;
    entries(fromSeq: number, most: number): Promise<readonly Entry[]>;
    size?(): Promise<StoreSize>;
    watch(listener: (hint: StoreHint) => void): () => void;
    measure?(listener: (operation: string, ms: number) => void): () => void;
    evict?(key: string): void;
    settled(): Promise<void>;
}

export interface Sharing extends Pick<SharedStore, 'breakers' | 'workers' | 'rules' | 'subscribeToOrders'> {
    readonly publishTasks: NonNullable<SharedStore['publishTasks']>;
    readonly counters: ProcessCounters;
}

export interface SharingOptions {
    readonly process: string;
    readonly clock: Clock;
    readonly cell: Store['cell'];
    health(): StoreHealth;
    commitNow(transaction: Transaction): TransactionResult;
    commit(transaction: Transaction): Promise<TransactionResult>;
    windowCount(key: string, atMs: number, keepMs: number): WindowCount;
}

export interface Store {
    readonly clock: Clock;
    cell<S>(key: string, initial: () => S, options?: CellOptions<S>): Cell<S>;
    drop(key: string): void;
    keys(): Iterable<string>;
    append(body: EntryBody, place: EntryPlace, atMs: number): Entry;
    tail(fromSeq: number): readonly Entry[];
    putCard(card: Card): void;
    card(id: string): Card | undefined;
    cards(): readonly Card[];
    close(): void;
    readonly shared?: SharedStore;
}

export interface StoreHealth {
    readonly state: 'shared' | 'degraded';
    readonly reason: string;
}

export type StoreHint = {
    readonly type: 'cell-changed';
    readonly key: string;
} | {
    readonly type: 'degraded' | 'recovered';
    readonly reason: string;
};

export interface StoredCell {
    readonly key: string;
    readonly version: number;
    readonly state: unknown;
}

export interface Transaction {
    readonly changes?: readonly Change[];
    readonly adds?: readonly CounterAdd[];
    readonly marks?: readonly WindowMark[];
    readonly entries?: readonly PendingEntry[];
    readonly queueIfUnavailable?: boolean;
    onCommitted?(entries: readonly Entry[]): void;
}

export type TransactionResult = {
    readonly status: 'committed';
    readonly totals: readonly number[];
    readonly windowCounts: readonly WindowCount[];
} | {
    readonly status: 'rejected';
    readonly by: 'cell' | 'counter' | 'mark' | 'full';
    readonly key: string;
} | {
    readonly status: 'queued';
} | {
    readonly status: 'unavailable';
    readonly reason: string;
};

export interface WindowCount {
    readonly count: number;
    readonly oldestMs: number;
}

export interface WindowMark {
    readonly key: string;
    readonly id: string;
    readonly atMs: number;
    readonly keepMs: number;
    readonly cap: number;
    readonly most?: number;
}

export declare function createSharing(options: SharingOptions): Sharing;

export declare function memoryStore(clock?: Clock): Store;
