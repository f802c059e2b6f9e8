export interface RedisClient {
    connect(): Promise<unknown>;
    sendCommand(args: string[]): Promise<unknown>;
    subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
    on(event: string, listener: (error: Error) => void): unknown;
    destroy(): void;
    unref?(): void;
    readonly options?: {
        readonly RESP?: number;
    } | undefined;
}

export interface RedisOptions {
    readonly url?: string;
    readonly client?: () => RedisClient | Promise<RedisClient>;
    readonly prefix?: string;
    readonly deadlineMs?: number;
    readonly keysMax?: number;
    readonly journalMax?: number;
    readonly graceMs?: number;
    readonly clock?: Clock;
}

export type RedisStore = Store & {
    readonly shared: SharedStore;
};

export declare function redisStore(options: RedisOptions): Promise<RedisStore>;
