export interface MastraOptions extends ProtectOptions, FallbackOptions {
    readonly workers?: readonly string[];
}

export interface MastraSettings {
    readonly name: string;
    readonly hooks?: unknown;
    readonly tools?: unknown;
    readonly inputProcessors?: unknown;
    readonly outputProcessors?: unknown;
}

export declare function protect<S extends MastraSettings>(settings: S, options?: MastraOptions): S;
