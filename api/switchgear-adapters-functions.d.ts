export interface FunctionsOptions {
    readonly gear?: Switchgear;
    readonly task?: Task;
}

export declare function protect<T extends object>(functions: T, options?: FunctionsOptions): T;
