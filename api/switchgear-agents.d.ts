export interface AccountingOptions {
    readonly onHalt?: (halt: Refusal) => void;
    readonly isGuardedByHooks?: (tool: string) => boolean;
    readonly isMetered?: () => boolean;
    readonly subagentLimits?: Readonly<Record<string, Partial<TaskSettings>>> | undefined;
}

export interface AgentCommand {
    readonly cli: 'claude-code' | 'codex' | 'gemini' | 'opencode' | 'other';
    readonly headless: boolean;
    readonly stream: 'events' | 'asked' | 'text';
    readonly command: readonly string[];
    readonly added: readonly string[];
    readonly prompt: string | undefined;
    readonly model: string | undefined;
    readonly session: string | undefined;
    readonly signal: 'SIGINT' | 'SIGTERM';
    resume(session: string, prompt: string): readonly string[] | undefined;
    reader(): Reader;
}

export type AgentEvent = SessionFileEvent | AssistantEvent | ToolUseEvent | ToolResultEvent | UsageEvent | TotalEvent | UserEvent | SubagentStartedEvent | SubagentEndedEvent | StepEvent | HeartbeatEvent | ResultEvent | NoticeEvent | OutputEvent;

export interface AssistantEvent extends AgentScoped {
    readonly type: 'assistant';
    readonly text: string;
    readonly message?: string;
    readonly piece?: boolean;
    readonly toolUse?: boolean;
}

export interface BoundedLines {
    write(chunk: Uint8Array | string): void;
    end(): void;
    readonly skipped: number;
    readonly skippedLength: number;
}

export interface CodexSessionReader extends Reader {
    readonly thread: string | undefined;
    readonly parent: string | undefined;
}

export interface EventAccounting {
    account(event: AgentEvent): Refusal | undefined;
    readonly halt: Refusal | undefined;
    readonly session: string | undefined;
    readonly model: string | undefined;
    readonly result: ResultEvent | undefined;
    readonly spent: TokenSpend;
    readonly subagents: readonly Task[];
    pause(): void;
    resume(): void;
    end(): void;
}

export type EventMapping = {
    readonly as: (typeof mappedKinds)[number];
} & {
    readonly [F in MappedField]?: string;
};

export interface FileTail {
    poll(): boolean;
}

export interface FileTailOptions {
    readonly atEnd?: boolean;
    readonly from?: number;
}

export interface GeminiSessionOptions extends SessionReaderOptions {
    readonly agent?: string;
}

export interface HeartbeatEvent extends AgentScoped {
    readonly type: 'heartbeat';
}

export interface LineListener {
    line(line: string): void;
    skipped?(head: string, length: number): void;
}

export interface NoticeEvent {
    readonly type: 'notice';
    readonly level: 'info' | 'warning' | 'error';
    readonly text: string;
    readonly isAboutReading?: boolean;
}

export interface OutputEvent extends AgentScoped {
    readonly type: 'output';
    readonly text: string;
}

export interface Reader {
    read(line: string): readonly AgentEvent[];
    end(): readonly AgentEvent[];
}

export interface ReaderForOptions {
    readonly mapping?: StreamMapping;
    readonly heartbeats?: boolean;
}

export interface ResultEvent {
    readonly type: 'result';
    readonly ok: boolean;
    readonly final: boolean;
    readonly text?: string;
    readonly reason?: string;
}

export interface SessionFileEvent {
    readonly type: 'session';
    readonly id?: string;
    readonly model?: string;
}

export interface SessionReaderOptions {
    readonly besideStream?: boolean;
}

export interface SessionWatch {
    poll(): readonly AgentEvent[];
    close(): void;
}

export interface SessionWatchOptions {
    readonly session: string;
    readonly cwd: string;
    readonly home: string;
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly besideStream?: boolean;
    readonly resumed?: boolean;
    readonly sinceMs: number;
}

export interface StepEvent extends AgentScoped {
    readonly type: 'step';
    readonly on: boolean;
}

export interface StreamMapping {
    readonly kind?: string;
    readonly events: Readonly<Record<string, EventMapping>>;
}

export interface SubagentEndedEvent {
    readonly type: 'subagent_ended';
    readonly id: string;
    readonly ok: boolean;
    readonly reason?: string;
}

export interface SubagentStartedEvent {
    readonly type: 'subagent_started';
    readonly id: string;
    readonly name?: string;
    readonly prompt?: string;
    readonly parent?: string;
    readonly call?: string;
    readonly hidden?: boolean;
    readonly isPart?: boolean;
}

export interface TokenSpend extends Tokens {
    readonly costUsd: number;
}

export interface Tokens {
    readonly inputTokens: number;
    readonly outputTokens: number;
    readonly cacheReadTokens: number;
    readonly cacheWriteTokens: number;
    readonly cacheWrite1hTokens?: number;
}

export interface ToolResultEvent extends AgentScoped {
    readonly type: 'tool_result';
    readonly id: string;
    readonly ok?: boolean;
    readonly output?: unknown;
    readonly error?: string;
    readonly tookMs?: number;
}

export interface ToolUseEvent extends AgentScoped {
    readonly type: 'tool_use';
    readonly id: string;
    readonly name: string;
    readonly input: unknown;
    readonly message?: string;
}

export interface TotalEvent extends AgentScoped, Tokens {
    readonly type: 'total';
    readonly of: 'thread' | 'run';
    readonly model?: string;
    readonly calls: number;
    readonly resumed?: boolean;
}

export interface UsageEvent extends AgentScoped, Tokens {
    readonly type: 'usage';
    readonly id: string;
    readonly model?: string;
    readonly costUsd?: number;
}

export interface UserEvent extends AgentScoped {
    readonly type: 'user';
    readonly text: string;
    readonly by: 'person' | 'harness';
}

export declare function accountEvents(gear: Switchgear, task: Task, { onHalt, isGuardedByHooks, isMetered, subagentLimits }?: AccountingOptions): EventAccounting;

export declare function boundedLines(listener: LineListener, lengthMax?: number): BoundedLines;

export declare function claudeCodeReader(): Reader;

export declare function claudeSessionReader({ besideStream }?: SessionReaderOptions): Reader;

export declare function codexReader(options?: CodexOptions): Reader;

export declare function codexSessionReader({ besideStream }?: SessionReaderOptions): CodexSessionReader;

export declare function fallbackReader(heartbeats?: HeartbeatUse): Reader;

export declare function fileTail(path: string, line: (line: string) => void, { atEnd, from }?: FileTailOptions): FileTail;

export declare function geminiReader(): Reader;

export declare function geminiSessionReader({ besideStream, agent }?: GeminiSessionOptions): Reader;

export declare function heartbeatReader(inner: Reader, use?: HeartbeatUse): Reader;

export declare function mappedJsonReader(mapping: StreamMapping): Reader;

export declare function opencodeReader(options?: OpencodeOptions): Reader;

export declare function plainTextReader(): Reader;

export declare function readOpencodeExport(json: string, options?: SessionReaderOptions): readonly AgentEvent[];

export declare function readerFor(command: readonly string[], { mapping, heartbeats }?: ReaderForOptions): AgentCommand;

export declare function sessionWatch(cli: AgentCommand['cli'], options: SessionWatchOptions): SessionWatch | undefined;
