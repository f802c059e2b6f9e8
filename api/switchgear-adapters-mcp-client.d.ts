export interface McpClientLike {
    callTool(...args: never[]): PromiseLike<unknown>;
    getServerVersion?(): {
        readonly name: string;
    } | undefined;
}

export interface McpClientOptions extends FallbackOptions {
    readonly gear?: Switchgear;
    readonly task?: Task;
    readonly server?: string;
}

export declare function protect<C extends McpClientLike>(client: C, options?: McpClientOptions): C;
