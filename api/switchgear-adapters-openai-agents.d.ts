export interface OpenAiAgentsOptions extends ProtectOptions, FallbackOptions {
    readonly workers?: readonly string[];
}

export declare function protect<P extends SchemaLike, R, T extends ToolOptionsLike<P>>(tool: T & {
    readonly parameters: P;
    execute(input: OutputOf<P>, context?: Loose, details?: Loose): R;
}, options?: OpenAiAgentsOptions): T;
export declare function protect<T extends object>(thing: T, options?: OpenAiAgentsOptions): T;
