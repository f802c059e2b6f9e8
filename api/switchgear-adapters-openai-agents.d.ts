export interface OpenAiAgentsOptions extends ProtectOptions {
    readonly workers?: readonly string[];
}

export declare function protect<T extends object>(thing: T, options?: OpenAiAgentsOptions): T;
