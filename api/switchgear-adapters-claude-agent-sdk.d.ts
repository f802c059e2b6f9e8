export type GuardedQuery<R> = R extends AsyncGenerator<infer M, infer V, infer N> ? Omit<R, ReadingKey> & AsyncGenerator<WithHalt<M>, V, N> : R extends AsyncIterable<infer M> ? Omit<R, ReadingKey> & AsyncIterable<WithHalt<M>> : R;

export type WithHalt<M> = M extends {
    readonly type: 'result';
} ? M & HaltedResult : M;

export declare function protect<P, R extends AsyncIterable<unknown>>(query: (params: P) => R, options?: ProtectOptions): (params: P) => GuardedQuery<R>;
