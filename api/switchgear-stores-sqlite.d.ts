export interface SqliteOptions {
    readonly path: string;
    readonly waitMs?: number;
    readonly retain?: {
        readonly days?: number;
        readonly megabytes?: number;
    };
    readonly keysMax?: number;
    readonly verify?: boolean;
    readonly skipCheckpoint?: boolean;
    readonly clock?: Clock;
}

export type SqliteStore = Store & {
    readonly shared: SharedStore;
};

export declare function sqliteStore(options: SqliteOptions): SqliteStore;
