export interface FunctionsOptions extends FallbackOptions {
    readonly gear?: Switchgear;
    readonly task?: Task;
    readonly async?: boolean;
}

export declare function protect<T extends object>(functions: T, options?: FunctionsOptions): T;
