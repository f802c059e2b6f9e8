export interface AnthropicUsage {
    readonly input_tokens?: number | null;
    readonly output_tokens?: number | null;
    readonly cache_creation_input_tokens?: number | null;
    readonly cache_read_input_tokens?: number | null;
}

export interface BreakerConfig {
    readonly maxToolCallsPerTask: number;
    readonly maxTokenSpendCentsPerTask: number;
    readonly maxTaskDurationSecs: number;
    readonly maxIdleSecs: number;
    readonly similarityJaccardThreshold: number;
}

export declare class BreakerRegistry {
    #private;
    constructor(settings?: Partial<RuleSettings>);
    register(chainId: string, input: RuleInput): Rule;
    registerGlobal(input: RuleInput): Rule;
    rules(chainId?: string): readonly Rule[];
    recordExecution(chainId: string, atMs: number): void;
    executions(chainId: string): number;
    evaluate(step: BreakerStep): Evaluation;
    explain(step: BreakerStep): readonly RuleExplanation[];
}

export interface BreakerStep {
    readonly chainId: string;
    readonly ability: string;
    readonly outputs: Readonly<Record<string, unknown>>;
    readonly atMs: number;
    readonly args?: Readonly<Record<string, unknown>>;
    readonly params?: Readonly<Record<string, unknown>>;
}

export interface CircuitBreaker {
    readonly name: string;
    readonly state: 'CLOSED' | 'OPEN' | 'HALF_OPEN';
    readonly stats: CircuitBreakerStats;
    readonly config: SeedSettings;
    reset(): void;
}

export interface CircuitBreakerConfig extends Partial<SeedSettings>, Partial<Omit<BreakerSettings, 'timeoutSecs'>> {
    readonly recoveryTimeout?: number;
    readonly monitorWindow?: number;
    readonly healthCheckInterval?: number;
    readonly timeoutSecs?: number;
}

export interface CircuitBreakerStats {
    readonly failure_count: number;
    readonly success_count: number;
    readonly total_requests: number;
    readonly rejected_requests: number;
}

export declare const DEFAULT_BREAKER_CONFIG: BreakerConfig;

export interface DelegationBreaker {
    readonly maxFailures: number;
    recordDelegationFailure(state: DelegationFailuresState, worker: string, reason: string): DelegationFailuresUpdate;
    checkCircuitBreaker(state: DelegationFailuresState, worker: string): [mayDelegate: boolean, reason: string];
}

export interface DelegationFailuresState {
    readonly delegation_failures?: FailureCounts | null | undefined;
}

export interface DelegationFailuresUpdate {
    readonly delegation_failures: FailureCounts;
}

export interface Evaluation {
    readonly fired: readonly FiredRule[];
    readonly action: RuleAction | null;
    readonly reasons: readonly string[];
    readonly reason: string;
    readonly retryAfterMs?: number;
}

export interface FiredRule {
    readonly rule: Rule;
    readonly action: RuleAction;
    readonly reason: string;
}

export type HaltReason = {
    readonly kind: 'ToolCallLimit';
    readonly actual: number;
    readonly limit: number;
} | {
    readonly kind: 'TokenSpendLimit';
    readonly actualCents: number;
    readonly limitCents: number;
} | {
    readonly kind: 'DurationLimit';
    readonly actualSecs: number;
    readonly limitSecs: number;
} | {
    readonly kind: 'IdleTimeout';
    readonly idleSecs: number;
    readonly limitSecs: number;
} | {
    readonly kind: 'OutputLoop';
    readonly windowSize: number;
    readonly similarityJaccard: number;
    readonly threshold: number;
};

export declare const MAX_DELEGATION_FAILURES = 2;

export interface Nyaya {
    readonly lines: {
        readonly domain?: string;
        readonly goals?: string;
        readonly other: readonly string[];
    };
    readonly rules: readonly Rule[];
    readonly errors: readonly string[];
}

export interface OperationBreaker {
    readonly state: 'CLOSED' | 'OPEN' | 'HALF_OPEN';
    readonly failures: number;
    call<T>(operation: () => T): T;
    reset(): void;
}

export declare class OperationFailed extends Error {
    constructor(cause: unknown);
}

export type ParsedRule = {
    readonly rule: Rule;
    readonly error?: undefined;
} | (ParseFailure & {
    readonly rule?: undefined;
});

export interface Rule {
    readonly id: string;
    readonly target: string;
    readonly condition: Condition;
    readonly action: RuleAction;
    readonly reason: string | undefined;
    readonly origin: RuleOrigin;
}

export type RuleInput = Rule | string | Omit<RuleText, 'target'>;

export interface SeedSettings {
    readonly failure_threshold: number;
    readonly recovery_timeout: number;
    readonly success_threshold: number;
    readonly timeout: number | undefined;
    readonly monitor_window: number;
    readonly enable_health_check: boolean;
    readonly health_check_interval: number;
    readonly graceful_degradation: boolean;
}

export declare class SessionBreaker {
    #private;
    readonly config: BreakerConfig;
    constructor(config?: Partial<BreakerConfig>, options?: SessionBreakerOptions);
    observe(event: SessionEvent): HaltReason | null;
    sweep(nowMs?: number): readonly TaskHalt[];
    snapshot(): SessionSnapshot;
    slugOf(halt: HaltReason): string;
    dispose(): void;
    [Symbol.dispose](): void;
}

export interface SessionBreakerOptions extends Pick<SwitchgearOptions, 'clock' | 'prices' | 'env' | 'log'> {
    readonly onHalt?: (taskId: string, halt: HaltReason) => void;
}

export type SessionEvent = {
    readonly type: 'assistant';
    readonly text: string;
    readonly toolUse?: boolean;
    readonly taskId?: string;
} | {
    readonly type: 'tool_use';
    readonly name?: string;
    readonly id?: string;
    readonly taskId?: string;
} | {
    readonly type: '[heartbeat]' | 'heartbeat';
    readonly phase: string;
    readonly taskId?: string;
} | {
    readonly type: 'usage';
    readonly usage: AnthropicUsage;
    readonly model?: string;
    readonly id?: string;
    readonly taskId?: string;
};

export interface SessionSnapshot {
    readonly activeTasks: readonly string[];
    readonly tasks: readonly SessionTaskSnapshot[];
    readonly ignoredEvents: number;
    readonly internalErrors: number;
}

export interface SessionTaskSnapshot {
    readonly taskId: string;
    readonly toolCalls: number;
    readonly tokenSpendCents: number;
    readonly durationSecs: number;
    readonly idleSecs: number;
    readonly halt: HaltReason | null;
}

export interface TaskHalt {
    readonly taskId: string;
    readonly halt: HaltReason;
}

export declare function checkCircuitBreaker(state: DelegationFailuresState | null | undefined, worker: string, limit?: number): [mayDelegate: boolean, reason: string];

export declare function configFromEnv(env?: Environment, warn?: Warn): BreakerConfig;

export declare function createCircuitBreaker(threshold: number, timeoutSeconds: number, options?: Pick<SwitchgearOptions, 'clock' | 'log'> & {
    readonly name?: string;
}): OperationBreaker;

export declare function defaultSwitchgear(): Switchgear;

export declare function delegationBreaker(options?: {
    readonly maxFailures?: number;
    readonly log?: Log;
}): DelegationBreaker;

export declare function delegationPolicyPrompt(limit: number): string;

export declare function estimateUsageCents(usage: AnthropicUsage | null | undefined): number;

export declare function getCircuitBreaker(name: string, config?: CircuitBreakerConfig): CircuitBreaker;

export declare function hasInabilityPhrase(text: string): boolean;

export declare function parseNyaya(text: string, target?: string): Nyaya;

export declare function parseRule(text: string, source?: RuleSource): ParsedRule;

export declare function protocolPrompt(settings: Recovery | {
    readonly circuitBreaker: Recovery;
}): string;

export declare function recordDelegationFailure(state: DelegationFailuresState | null | undefined, worker: string, reason: string, log?: Log): DelegationFailuresUpdate;

export declare function resetAllCircuitBreakers(): void;
