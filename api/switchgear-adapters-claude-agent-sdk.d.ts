export declare function protect<Q extends (params: never) => AsyncIterable<unknown>>(query: Q, options?: ProtectOptions): Q;
