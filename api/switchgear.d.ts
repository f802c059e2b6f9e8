export interface Action {
    readonly id: string | number;
    readonly kind: ActionKind;
    readonly name: string;
    readonly agent: string;
    readonly session: string;
    readonly task?: string;
    readonly fingerprint: number;
    readonly call?: number;
    readonly effect?: WorldEffect;
    readonly searches?: true;
    readonly waits?: true;
    readonly edit?: EditMarks;
    readonly afterModel?: true;
    readonly features?: Readonly<Record<string, number>>;
    readonly chances?: number;
    readonly worstMicros: number;
    readonly worstTokens: number;
    readonly patienceMs: number;
    readonly turnId?: string;
    readonly hits?: readonly RuleHit[];
    readonly isCounted?: boolean;
    readonly approvedBy?: string;
    readonly approvedFor?: {
        readonly rules: readonly string[];
        readonly controls?: readonly string[];
    };
}

export type ActionKind = 'tool' | 'model' | 'delegation' | 'step';

export interface ActionProposed extends At {
    readonly type: 'action-proposed';
    readonly action: Action;
}

export type Admission = {
    readonly refused: undefined;
    settle(ending: Ending | {
        readonly cancelled: true;
    }): void;
} | {
    readonly refused: Refused;
    readonly refusal: Refusal;
};

export interface AdmitOptions {
    readonly id?: string;
    readonly kind?: ActionKind;
    readonly turnId?: string;
    readonly task?: string;
}

export interface Answer {
    readonly approved: boolean;
    readonly by: string;
    readonly note?: string;
    readonly for?: 'once' | 'run' | 'always';
    readonly args?: readonly unknown[];
    readonly isEdited?: boolean;
}

export interface AnsweredCard extends Card {
    readonly request?: string;
}

export type AnyFunction = (...args: any[]) => unknown;

export interface Approver {
    readonly name: string;
    isAvailable?(): boolean;
    ask(card: QuestionCard, signal: AbortSignal): Promise<Answer>;
}

export interface BreakerHandle {
    readonly name: string;
    readonly state: 'CLOSED' | 'OPEN' | 'HALF_OPEN';
    readonly stats: BreakerStats;
    reset(): void;
    trip(untilMs?: number): void;
    hold(reason?: string): void;
    release(): void;
    metrics(): BreakerMetrics;
    checkHealth(check: () => boolean | Promise<boolean>): void;
}

export interface BreakerMetrics {
    readonly breaker_trip_count: number;
    readonly trips_per_hour: number;
    readonly failure_rate: number | undefined;
    readonly time_in_open_state: number;
    readonly alerts: readonly ('breaker_trip_count' | 'failure_rate' | 'time_in_open_state')[];
}

export interface BreakerSettings {
    readonly mode: 'enforce' | 'observe' | 'off';
    readonly trip: 'consecutive' | 'cumulative' | 'count_window' | 'time_window';
    readonly failureThreshold: number;
    readonly windowCalls: number;
    readonly monitorWindowSecs: number;
    readonly failureRateThreshold?: number;
    readonly rateWindow: 'calls' | 'time';
    readonly minimumCalls: number;
    readonly slowCallSecs?: number;
    readonly slowRateThreshold: number;
    readonly recovery: 'timed' | 'manual';
    readonly recoveryTimeoutSecs: number;
    readonly recoveryFactor: number;
    readonly recoveryMaxSecs: number;
    readonly recoveryJitter: number;
    readonly jitterSeed: number;
    readonly successThreshold: number;
    readonly halfOpenPermits: number;
    readonly leaseSecs: number;
    readonly leaseExpiry: 'failure' | 'neutral';
    readonly maxConcurrent?: number;
    readonly maxCalls?: number;
    readonly maxCallsSession?: number;
    readonly maxQueue: number;
    readonly queueTimeoutSecs: number;
    readonly retries: number;
    readonly retryBaseSecs: number;
    readonly retryMaxWaitSecs: number;
    readonly retryJitter: 'full' | 'equal' | 'none';
    readonly openOnRetryAfter: boolean;
    readonly sameErrorOnly: boolean;
    readonly countErrors: readonly string[];
    readonly ignoreErrors: readonly string[];
    readonly failure: 'reported' | 'throws-only';
    readonly timeoutSecs?: number;
    readonly enableHealthCheck: boolean;
    readonly healthCheckIntervalSecs: number;
    readonly gracefulDegradation: boolean;
    readonly scope: 'task' | 'session' | 'agent' | 'project' | 'shared';
}

export interface BreakerSnapshot extends BreakerStats {
    readonly key: string;
    readonly name: string;
    readonly agent: string;
    readonly state: 'CLOSED' | 'OPEN' | 'HALF_OPEN';
    readonly held: boolean;
    readonly openUntilMs?: number;
    readonly healthCheck: 'none' | 'on' | 'off';
}

export interface BreakerStats {
    readonly consecutiveFailures: number;
    readonly halfOpenSuccesses: number;
    readonly totalFailures: number;
    readonly totalSuccesses: number;
    readonly totalNeutrals: number;
    readonly totalRequests: number;
    readonly rejectedRequests: number;
    readonly lateResults: number;
    readonly inFlight: number;
}

export interface Call {
    readonly name: string;
    readonly signal: AbortSignal;
    progress(): void;
}

export interface Card {
    readonly id: string;
    readonly kind: 'halt' | 'ask' | 'notice';
    readonly task: string;
    readonly code: Code | 'notice';
    readonly counters: Counters;
    readonly evidence: readonly string[];
    readonly actions: readonly CardAction[];
    readonly state: 'open' | 'answered' | 'used' | 'expired';
    readonly answer?: CardAction;
    readonly by?: string;
    readonly from?: AnswerOrigin;
    readonly expiresAtMs?: number;
    readonly digest?: string;
    readonly alike?: string;
    readonly step?: CardStep;
    readonly agent?: string;
    readonly risk?: 'high' | 'medium' | 'low';
    readonly openedWallMs?: number;
    readonly answeredWallMs?: number;
    readonly counts?: readonly CardCounter[];
    readonly raise?: CardRaise;
    readonly raisedTo?: number;
    readonly note?: string;
    readonly snoozedUntilMs?: number;
}

export type CardAction = (typeof cardActions)[number];

export interface Cards {
    list(): readonly QuestionCard[];
    answer(cardId: string, answer: CardAction, by: string, request?: string): Card | undefined;
    waitForAnswer(cardId: string, options?: {
        readonly signal?: AbortSignal;
    }): Promise<AnsweredCard | undefined>;
}

export type CellOwner = 'self' | 'ancestor';

export interface Clock {
    nowMs(): number;
    wallMs(): number;
    after(delayMs: number, run: () => void, keepAlive?: boolean): () => void;
    hold?(): () => void;
}

export type Code =
    | 'circuit_open'
    | 'concurrency_limit'
    | 'tool_call_limit'
    | 'tree_call_limit'
    | 'token_spend_limit'
    | 'token_limit'
    | 'model_call_limit'
    | 'tool_limit'
    | 'duration_limit'
    | 'idle_timeout'
    | 'output_loop'
    | 'tool_loop'
    | 'denial_limit'
    | 'delegation_limit'
    | 'rule_abort'
    | 'rule_declined'
    | 'rule_unanswered'
    | 'rule_throttled'
    | 'storm'
    | 'task_paused'
    | 'operator_halt'
    | 'cancelled'
    | 'internal_error'
    | 'tool_not_allowed'
    | 'tool_changed'
    | 'unpriced_path'
    | 'model_not_allowed'
    | 'rate_limit';

export interface Control<S = unknown> {
    readonly name: string;
    readonly scope: ControlScope;
    initial(atMs: number): S;
    judge(state: S, proposal: ActionProposed, cellOwner: CellOwner): Verdict;
    judgeGrowth?(state: S, growth: Growth): Verdict;
    apply(state: S, event: ControlEvent, cellOwner: CellOwner): S;
    check?(state: S, atMs: number): Verdict;
    due?(state: S, action: Action): Verdict;
    hint?(state: S): {
        readonly counters: Counters;
    } | undefined;
    gauges?(state: S, atMs: number): readonly Gauge[];
    readonly ofDelegatedWork?: Control<S>;
}

export type ControlEvent = ActionDecided | ActionSettled | WorkEnded | ReservationChanged | PermitRenewed | TextObserved | UsageObserved | CallObserved | ResultObserved | ProgressObserved | UserObserved | SignObserved | TaskStopped | TaskResumed | LimitRaised | DelegationReturned;

export type ControlScope = 'task' | 'chain' | 'target' | 'session' | 'gear';

export interface Cost {
    readonly micros: number;
    readonly tokens: number;
    readonly guessed?: true;
    readonly estimated?: true;
}

export type Counters = Readonly<Record<string, number | string>>;

export interface Decision {
    readonly verdict: Verdict;
    readonly votes: readonly Vote[];
}

export interface DelegateOptions<T> {
    readonly limits?: Partial<TaskSettings>;
    readonly judge?: (result: T) => {
        readonly failed: boolean;
        readonly reason?: string;
    } | undefined;
    readonly timeoutSecs?: number;
    readonly request?: unknown;
}

export type Ending = {
    readonly value: unknown;
} | {
    readonly error: unknown;
};

export type Entry = {
    readonly seq: number;
    readonly atMs: number;
    readonly wallMs: number;
} & EntryPlace & EntryBody;

export type EntryBody = {
    readonly type: 'task-started';
    readonly parent?: string;
    readonly retryOf?: string;
    readonly own?: true;
    readonly key?: string;
    readonly limits: TaskSettings;
} | {
    readonly type: 'task-ended';
    readonly how: 'done' | 'error' | 'halted' | 'lost';
} | {
    readonly type: 'task-halted';
    readonly stop: Stop;
    readonly message: string;
    readonly cause?: string;
    readonly enforced: boolean;
} | {
    readonly type: 'task-stopped' | 'task-resumed';
} | {
    readonly type: 'limit-raised';
    readonly setting: string;
    readonly before: number;
    readonly limit: number;
    readonly tool?: string;
    readonly by: string;
} | {
    readonly type: 'task-missing';
    readonly name: string;
} | ({
    readonly type: 'action-allowed';
    readonly action: Action;
    readonly probe: boolean;
} & Quoting) | (Quoting & {
    readonly type: 'action-refused';
    readonly action: Action;
    readonly decision: Decision;
    readonly message: string;
    readonly enforced: boolean;
    readonly after?: 'wait' | 'ask' | 'depth';
}) | ({
    readonly type: 'action-waited' | 'action-asked';
    readonly action: Action;
    readonly decision: Decision;
} & Quoting) | {
    readonly type: 'action-settled';
    readonly permit: Permit;
    readonly outcome: Outcome;
    readonly durationMs: number;
    readonly cost?: Cost;
    readonly result?: ResultMark;
    readonly likeness?: number;
    readonly resultHits?: readonly RuleHit[];
    readonly stillRuns?: boolean;
} | {
    readonly type: 'work-ended';
    readonly permit: Permit;
    readonly cost?: Cost;
} | Omit<ReservationChanged, 'atMs'> | {
    readonly type: 'permit-renewed';
    readonly permit: Permit;
} | {
    readonly type: 'breaker-tuned';
    readonly name: string;
    readonly overrides: Readonly<Record<string, unknown>>;
} | {
    readonly type: 'failure-counted';
    readonly name: string;
    readonly error: string;
    readonly status?: number;
    readonly message?: string;
    readonly actual: number;
    readonly limit: number;
} | Omit<TextObserved, 'atMs'> | {
    readonly type: 'usage-observed';
    readonly model: string;
    readonly cost: Cost;
    readonly basis: string;
} | Omit<CallObserved, 'atMs'> | Omit<ResultObserved, 'atMs'> | {
    readonly type: 'user-observed' | 'progress-observed';
} | Omit<SignObserved, 'atMs'> | {
    readonly type: 'loop-suspected';
    readonly counters: Counters;
    readonly message: string;
} | {
    readonly type: 'delegation-returned';
    readonly worker: string;
    readonly failed: boolean;
    readonly reason: string;
    readonly actual: number;
    readonly limit: number;
} | {
    readonly type: 'breaker-opened';
    readonly key: string;
    readonly name: string;
    readonly generation: number;
    readonly cause: string;
    readonly untilMs: number;
    readonly counters: Counters;
} | {
    readonly type: 'breaker-half-opened' | 'breaker-closed' | 'breaker-reset' | 'breaker-held' | 'breaker-released' | 'breaker-shadowed';
    readonly key: string;
    readonly name: string;
    readonly generation: number;
} | {
    readonly type: 'health-checked';
    readonly key: string;
    readonly name: string;
    readonly healthy: boolean;
} | {
    readonly type: 'rule-rejected';
    readonly line: string;
    readonly reason: string;
} | RunEntryBody | {
    readonly type: 'notice';
    readonly gauge: Gauge;
    readonly message: string;
} | {
    readonly type: 'card-changed';
    readonly card: Card;
} | {
    readonly type: 'storm-tripped' | 'storm-restarted';
    readonly name: string;
    readonly counters: Counters;
} | {
    readonly type: 'price-unknown';
    readonly model: string;
    readonly assumed: string;
} | {
    readonly type: 'usage-estimated';
    readonly model: string;
    readonly cause: 'hidden' | 'cut';
    readonly remedy?: string;
} | {
    readonly type: 'access-refused';
    readonly name: string;
} | {
    readonly type: 'setting-ignored';
    readonly name: string;
    readonly value: string;
    readonly used: string;
    readonly message?: string;
} | {
    readonly type: 'setting-loosened';
    readonly name: string;
    readonly value: string;
    readonly before: string;
} | {
    readonly type: 'policy-reloaded';
    readonly changed: readonly string[];
} | {
    readonly type: 'policy-changed';
    readonly file: string;
    readonly waiting: readonly string[];
} | {
    readonly type: 'policy-trusted' | 'policy-distrusted';
    readonly file: string;
    readonly digest: string;
    readonly settings: readonly string[];
    readonly by: string;
} | {
    readonly type: 'store-degraded' | 'store-recovered';
    readonly reason: string;
} | {
    readonly type: 'order-given';
    readonly order: 'halt' | 'pause' | 'resume' | 'trip' | 'reset' | 'hold' | 'release';
    readonly target: string | null;
    readonly reason: string;
    readonly by: string;
    readonly from?: AnswerOrigin;
} | {
    readonly type: 'internal-error';
    readonly where: string;
    readonly message: string;
    readonly code: Code;
};

export type EntryOf<T extends EntryType> = Extract<Entry, {
    readonly type: T;
}>;

export type EntryType = EntryBody['type'];

export type FormedFunction<F extends AnyFunction> = [IsOverloaded<F>] extends [true] ? F : [keyof F] extends [never] ? 0 extends 1 & ReturnType<F> ? F : never : F;

export interface Gauge {
    readonly name: string;
    readonly actual: number;
    readonly limit: number;
}

export interface GuardOptions<F extends AnyFunction = AnyFunction> {
    readonly kind?: ActionKind;
    readonly breaker?: Partial<BreakerSettings>;
    readonly timeoutSecs?: number;
    readonly maxConcurrent?: number;
    readonly maxQueue?: number;
    readonly queueTimeoutSecs?: number;
    readonly retry?: number | GuardRetryOptions;
    readonly fallback?: (failure: Refusal | Error, ...args: Parameters<F>) => ReturnType<F> | Awaited<ReturnType<F>>;
    readonly signal?: AbortSignal;
    readonly classify?: (ending: Ending) => Outcome['kind'] | undefined;
    readonly maxCost?: MaxCost | ((...args: Parameters<F>) => MaxCost);
    readonly usage?: (result: Awaited<ReturnType<F>>) => Usage | undefined;
    readonly async?: boolean;
}

export type Guarded<F extends AnyFunction, R = Refused> = ([IsOverloaded<F>] extends [true] ? GuardedOverloads<F, R> : GuardedSignature<Parameters<F>, ReturnType<F>, R>) & ([keyof F] extends [never] ? unknown : Pick<F, keyof F>);

export type GuardedResult<T, R = Refused> = 0 extends 1 & T ? T : [T] extends [PromiseLike<infer V>] ? Promise<V | R> : T | R;

export interface GuardedRunOptions<F extends AnyFunction = AnyFunction> extends GuardOptions<F> {
    readonly args?: Readonly<Parameters<F>>;
}

export type HaltFacts = Refusal;

export interface HaltedResult {
    readonly switchgear?: HaltFacts;
}

export interface MaxCost {
    readonly usd?: number;
    readonly tokens?: number;
}

export type Observation = {
    readonly type: 'assistant';
    readonly text: string;
    readonly toolUse?: boolean;
}
 | {
    readonly type: 'tool_use';
    readonly id?: string;
    readonly name: string;
    readonly input?: unknown;
} | {
    readonly type: 'tool_result';
    readonly id: string;
    readonly ok?: boolean;
    readonly output?: unknown;
    readonly tookMs?: number;
}
 | {
    readonly type: 'progress';
} | ({
    readonly type: 'usage';
    readonly id?: string;
    readonly costUsd?: number;
    readonly estimated?: true;
} & Usage) | {
    readonly type: 'user';
    readonly text: string;
} | {
    readonly type: 'heartbeat';
};

export type Outcome = {
    readonly kind: 'success';
} | {
    readonly kind: 'failure';
    readonly error: string;
    readonly errorFingerprint: number;
    readonly retryAtMs?: number;
} | {
    readonly kind: 'neutral';
    readonly why: 'ignored' | 'unauthorized' | 'denied' | 'cancelled' | 'given-back' | 'lease-expired';
};

export interface Permit {
    readonly action: Action;
    readonly atMs: number;
    readonly generation: number;
    readonly probe: boolean;
    readonly reservedAtMs?: number;
}

export type PolicyDocument = {
    readonly $schema?: string;
    readonly preset?: PresetName;
    readonly circuitBreaker?: BreakerDocument | undefined;
    readonly circuit_breaker?: BreakerDocument | undefined;
    readonly tools?: Readonly<Record<string, BreakerDocument & {
        readonly preset?: PresetName;
    }>> | undefined;
    readonly agents?: Readonly<Record<string, AgentDocument>> | undefined;
    readonly rules?: readonly RuleDocument[] | undefined;
    readonly budgets?: readonly BudgetDocument[] | undefined;
    readonly mappings?: Readonly<Record<string, StreamMapping>> | undefined;
    readonly webhooks?: readonly WebhookDocument[] | undefined;
    readonly upstreams?: readonly UpstreamDocument[] | undefined;
    readonly mcp?: McpDocument | undefined;
} & Fields<Pick<Settings, 'mode' | 'sameErrorTools' | 'selfProtection'>> & {
    readonly [K in keyof PlainSections]?: Fields<PlainSections[K]> | undefined;
} & {
    readonly [K in keyof PlainSections & string as Snake<K>]?: Fields<PlainSections[K]> | undefined;
};

export type PolicyInput = (PolicyDocument & {
    readonly settings?: never;
    readonly provenance?: never;
}) | CheckedPolicy;

export interface Price {
    readonly costUsd: number;
    readonly basis: string;
}

export interface Prices {
    price(usage: Usage): Price | undefined;
    highestPrice(usage: Usage): Price;
}

export interface QuestionCard extends Card {
    readonly input?: string;
}

export interface Refusal {
    readonly code: Code;
    readonly control: string;
    readonly kind: 'deny' | 'halt';
    readonly counters: Counters;
    readonly message: string;
    readonly remediation: string;
    readonly explanation: string;
    readonly name: string;
    readonly lastError?: string;
    readonly retryAtMs?: number;
    readonly task?: string;
}

export type Refused = {
    readonly error: string;
    readonly agent_name: string;
    readonly session_id: string;
    readonly remediation: string;
} & {
    readonly [code in Code]?: true;
};

export declare class RefusedError extends Error {
    readonly refusal: Refusal;
    readonly code: Code;
    constructor(refusal: Refusal, withStack?: boolean);
}

export interface RetryOptions extends GuardRetryOptions {
    readonly signal?: AbortSignal;
}

export interface RuleHit {
    readonly rule: string;
    readonly seen: string;
}

export type Settings = BaseSettings & DeclaredSections;

export interface Snapshot {
    readonly atMs: number;
    readonly mode: 'enforce' | 'observe';
    readonly tasks: readonly TaskSnapshot[];
    readonly breakers: readonly BreakerSnapshot[];
    readonly delegations: Readonly<Record<string, Readonly<Record<string, number>>>>;
    readonly cards: readonly Card[];
    readonly internalErrors: number;
}

export interface Stop {
    readonly kind: 'wait' | 'ask' | 'deny' | 'halt';
    readonly code: Code;
    readonly control: string;
    readonly counters: Counters;
    readonly reason?: string;
    readonly retryAtMs?: number;
    readonly pending?: true;
    readonly waited?: true;
    readonly ends?: string;
    readonly rules?: readonly string[];
    readonly raise?: LimitRaise;
}

export interface Store {
    readonly clock: Clock;
    cell<S>(key: string, initial: () => S, options?: CellOptions<S>): Cell<S>;
    drop(key: string): void;
    keys(): Iterable<string>;
    append(body: EntryBody, place: EntryPlace, atMs: number): Entry;
    tail(fromSeq: number): readonly Entry[];
    putCard(card: Card): void;
    card(id: string): Card | undefined;
    cards(): readonly Card[];
    close(): void;
    readonly shared?: SharedStore;
}

export interface Switchgear<R = Refused> {
    readonly agent: string;
    readonly session: string;
    readonly settings: Settings;
    readonly cards: Cards;
    guard<F extends AnyFunction>(name: string, fn: F & FormedFunction<F>): Guarded<F, R>;
    guard<A extends unknown[], V>(name: string, fn: (...args: A) => PromiseLike<V>): (...args: A) => Promise<V | R>;
    guard<A extends unknown[], T>(name: string, fn: (...args: A) => T): (...args: A) => T | R;
    guard<F extends AnyFunction>(name: string, fn: F, options?: GuardOptions<F>): Guarded<F, R>;
    guardAll<T extends Record<string, AnyFunction>>(tools: T, options?: GuardOptions): {
        [K in keyof T]: Guarded<T[K], R>;
    };
    run<F extends AnyFunction>(name: string, fn: F, options?: GuardedRunOptions<F>): GuardedResult<ReturnType<F>, R>;
    task<T>(run: (task: Task) => T | Promise<T>): Promise<TaskResult<T>>;
    task<T>(options: TaskOptions, run: (task: Task) => T | Promise<T>): Promise<TaskResult<T>>;
    startTask(options?: TaskOptions): Task;
    currentTask(): Task | undefined;
    currentCall(): Call | undefined;
    delegate<T>(worker: string, run: (task: Task) => T | Promise<T>, options?: DelegateOptions<T>): Promise<T | R>;
    admit(name: string, args: readonly unknown[], options?: AdmitOptions): Admission;
    retry<T>(fn: () => T | Promise<T>, options?: RetryOptions): Promise<T>;
    watch(name: string, source: WatchSource, listener: (event: string, ...args: unknown[]) => void, options?: WatchOptions): Watch;
    breaker(name: string): BreakerHandle;
    addControl<S>(control: Control<S>): void;
    addModelRules(lines: readonly string[], chain?: string): readonly string[];
    reload(policy: PolicyInput): void;
    retryOptions(taskId: string): TaskOptions | undefined;
    snapshot(): Snapshot;
    on<T extends EntryType>(type: T, listener: (entry: EntryOf<T>) => void): () => void;
    onEntry(listener: JournalListener): () => void;
    journal(fromSeq?: number): readonly Entry[];
    halt(taskId: string, reason: string): void;
    haltAll(reason: string): void;
    resetAll(): void;
    dispose(): void;
    [Symbol.dispose](): void;
}

export declare class SwitchgearError extends Error {
    readonly code: string;
    constructor(code: string, message: string, options?: ErrorOptions);
}

export interface SwitchgearOptions {
    readonly agent?: string;
    readonly session?: string;
    readonly policy?: PolicyInput;
    readonly store?: Store;
    readonly clock?: Clock;
    readonly prices?: Prices;
    readonly approver?: Approver;
    readonly mode?: 'enforce' | 'observe';
    readonly onRefusal?: 'return' | 'throw';
    readonly log?: 'silent' | 'trips' | 'info' | 'debug' | ((line: string) => void);
    readonly project?: string;
    readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface Task {
    readonly id: string;
    readonly agent: string;
    readonly session: string;
    readonly parent: string | undefined;
    readonly signal: AbortSignal;
    readonly halt: Refusal | undefined;
    observe(observation: Observation): Refusal | undefined;
    hint(): string | undefined;
    run<T>(fn: () => T): T;
    pause(): void;
    resume(): void;
    end(how?: 'done' | 'error'): void;
    snapshot(): TaskSnapshot;
    [Symbol.dispose](): void;
}

export type TaskLimits = Partial<Omit<TaskSettings, 'maxToolCalls'>> & {
    readonly maxToolCalls?: number | 'none';
};

export interface TaskOptions {
    readonly id?: string;
    readonly agent?: string;
    readonly session?: string;
    readonly parent?: string | null;
    readonly limits?: TaskLimits;
    readonly signal?: AbortSignal;
}

export type TaskResult<T> = TaskResultDone<T> | TaskResultHalted<T>;

export interface TaskResultDone<T> {
    readonly status: 'done';
    readonly value: T;
}

export interface TaskResultHalted<T> {
    readonly status: 'halted';
    readonly halt: Refusal;
    readonly value?: T;
    readonly error?: unknown;
}

export interface TaskSettings {
    readonly maxToolCalls: number;
    readonly maxTreeCalls?: number;
    readonly maxModelCalls?: number;
    readonly maxSpendCents: number;
    readonly maxTokens?: number;
    readonly maxDurationSecs: number;
    readonly maxIdleSecs: number;
    readonly maxDenials: number;
    readonly noticeShare: number;
    readonly atLimit: 'close' | 'error' | 'ask';
}

export interface TaskSnapshot {
    readonly id: string;
    readonly agent: string;
    readonly session: string;
    readonly parent?: string;
    readonly toolCalls: number;
    readonly spendUsd: number;
    readonly guessedUsd?: number;
    readonly estimatedUsd?: number;
    readonly tokens: number;
    readonly durationMs: number;
    readonly idleMs: number;
    readonly gauges: readonly Gauge[];
    readonly halt?: Refusal;
}

export type ThrowingSwitchgear = {
    guard<F extends AnyFunction>(name: string, fn: F, options?: GuardOptions<F>): F;
    guardAll<T extends Record<string, AnyFunction>>(tools: T, options?: GuardOptions): T;
    run<F extends AnyFunction>(name: string, fn: F, options?: GuardedRunOptions<F>): ReturnType<F>;
} & Switchgear<never>;

export interface Usage {
    readonly model?: string;
    readonly inputTokens: number;
    readonly outputTokens: number;
    readonly cacheReadTokens?: number;
    readonly cacheWriteTokens?: number;
    readonly cacheWrite1hTokens?: number;
}

export type Verdict = Allow | Stop;

export interface Vote {
    readonly control: string;
    readonly verdict: Verdict;
}

export interface Watch {
    readonly paused: boolean;
    restart(): void;
    close(): void;
    [Symbol.dispose](): void;
}

export interface WatchOptions {
    readonly maxEvents?: number;
    readonly windowSecs?: number;
    readonly events?: readonly string[];
    readonly onTrip?: (refusal: Refusal) => void;
}

export interface WatchSource {
    on(event: string, listener: AnyFunction): unknown;
    close?(): unknown;
}

export declare const allow: Allow;

export declare function configureSwitchgear(options: SwitchgearOptions & {
    readonly onRefusal: 'throw';
}): ThrowingSwitchgear;
export declare function configureSwitchgear(options?: SwitchgearOptions): Switchgear;

export declare function createSwitchgear(options: SwitchgearOptions & {
    readonly onRefusal: 'throw';
}): ThrowingSwitchgear;
export declare function createSwitchgear(options?: SwitchgearOptions): Switchgear;

export declare function defaultSwitchgear(): Switchgear;

export declare function haltOf(value: unknown): Refusal | undefined;

export declare function isRefused(value: unknown): value is Refused;

export declare function memoryStore(clock?: Clock): Store;

export declare function refusalOf(value: unknown): Refusal | undefined;
