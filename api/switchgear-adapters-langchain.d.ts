export interface LangChainOptions extends HidingOptions {
    readonly workers?: readonly string[];
}

export interface LangChainSettings {
    readonly model: unknown;
    readonly middleware?: readonly unknown[];
}

export declare function protect<const S extends LangChainSettings>(settings: S, options?: LangChainOptions): MutableSettings<S>;
