export interface FetchOptions {
    readonly gear?: Switchgear;
    readonly task?: Task;
}

export declare function protect<F>(fetch: F, options?: FetchOptions): F;
