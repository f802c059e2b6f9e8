export interface Ability {
    readonly name: string;
    readonly scope: 'shared' | 'agent';
    readonly identify?: (args: AbilityCall['args']) => unknown;
    run(call: AbilityCall): Promise<unknown>;
}

export type AbilityAftermath = (stop: AbortSignal) => Promise<LeftBehind | undefined>;

export interface AbilityCall {
    readonly name: string;
    readonly args: Readonly<Record<string, unknown>>;
    readonly signal: AbortSignal;
    readonly attemptKey: string;
    readonly approvedIdentity?: string;
    readonly afterwards?: (work: AbilityAftermath) => void;
}

export declare class AbilityError extends Error {
    readonly code?: string | number;
    readonly status?: number;
    readonly retryAfterMs?: number;
    constructor(message: string, { name, code, status, retryAfterMs, cause }?: AbilityFacts);
}

export interface AbilityFacts {
    readonly name?: 'ToolError' | 'HttpError' | 'NetworkError' | 'InvalidArguments' | 'PolicyDenied';
    readonly code?: string | number;
    readonly status?: number;
    readonly retryAfterMs?: number;
    readonly cause?: unknown;
}

export type AbilityFunction = (args: AbilityCall['args'], call: Pick<AbilityCall, 'signal' | 'attemptKey'>) => unknown | Promise<unknown>;

export interface AbilitySource {
    find(name: string): Promise<Ability | undefined>;
    names(): Promise<readonly string[]>;
    close(): Promise<void>;
}

export interface Chain {
    readonly id: string;
    readonly name?: string;
    readonly description?: string;
    readonly params: readonly Param[];
    readonly rules: readonly RuleText[];
    readonly ruleSettings: Partial<Pick<RuleSettings, 'onMissing' | 'lookup'>>;
    readonly steps: readonly ChainStep[];
}

export interface ChainReading {
    readonly chain?: Chain;
    readonly problems: readonly Problem[];
    readonly warnings: readonly Problem[];
}

export interface ChainStep {
    readonly id: string;
    readonly ability: string;
    readonly args: Readonly<Record<string, unknown>>;
    readonly outputKey?: string;
    readonly condition?: StepCondition;
    readonly timeoutSecs?: number;
    readonly circuitBreaker?: Partial<BreakerSettings>;
    readonly idempotent: boolean;
}

export interface Chains {
    run(chain: Chain, params?: Readonly<Record<string, unknown>>, options?: RunOptions): Promise<RunState>;
    resume(id: string, options?: Pick<RunOptions, 'signal' | 'wait'>): Promise<RunState>;
    list(): Promise<readonly RunSummary[]>;
    show(id: string): Promise<RunState>;
    outputs(id: string): Promise<Readonly<Record<string, unknown>>>;
    cancel(id: string, by: string): Promise<RunState>;
    resolve(id: string, how: 'done' | 'redo', options: ResolveOptions): Promise<RunState>;
    close(): Promise<void>;
}

export interface ChainsOptions extends SwitchgearOptions {
    readonly abilities: readonly AbilitySource[];
    readonly onRun?: RunListener;
}

export interface HttpOptions {
    readonly lookup?: DnsLookup;
}

export type McpOptions = Partial<McpEnvironment>;

export interface Param {
    readonly name: string;
    readonly type: ParamType;
    readonly description?: string;
    readonly required: boolean;
    readonly default?: string | number | boolean;
}

export type ParamType = 'text' | 'number' | 'boolean';

export type ParamValues = Readonly<Record<string, string | number | boolean>>;

export interface Problem extends SourcePosition {
    readonly path: string;
    readonly message: string;
}

export interface ResolveOptions {
    readonly by: string;
    readonly output?: unknown;
}

export interface RuleCheck {
    readonly rule: string;
    readonly action: 'abort' | 'confirm' | 'throttle';
    readonly fired: boolean;
    readonly value: string;
    readonly limit: string;
    readonly reason?: string;
}

export interface RunEnd {
    readonly code: Code | 'ability_failed' | 'cancelled' | 'store_away';
    readonly message: string;
    readonly rules?: readonly string[];
    readonly retryAtMs?: number;
}

export type RunEvent = {
    readonly type: 'run-started' | 'run-resumed' | 'run-ended';
    readonly run: RunState;
}
 | {
    readonly type: 'rules-checked';
    readonly run: string;
    readonly step: string;
    readonly rows: readonly RuleCheck[];
} | {
    readonly type: 'step-started';
    readonly run: string;
    readonly step: StepState;
    readonly ability: string;
} | {
    readonly type: 'step-ended';
    readonly run: string;
    readonly step: StepState;
    readonly ability: string;
}
 | {
    readonly type: 'programs-left';
    readonly run: string;
    readonly step: string;
    readonly lines: readonly string[];
}
 | {
    readonly type: 'question-asked';
    readonly run: string;
    readonly step: string;
    readonly card: Card;
    readonly waitMs: number;
}
 | {
    readonly type: 'approval-found';
    readonly run: string;
    readonly step: string;
    readonly by: string;
    readonly for: 'run' | 'always';
} | {
    readonly type: 'question-answered';
    readonly run: string;
    readonly step: string;
    readonly card: Card;
}
 | {
    readonly type: 'step-held';
    readonly run: string;
    readonly step: string;
    readonly reason: string;
} | {
    readonly type: 'store-away';
    readonly run: string;
    readonly reason: string;
} | {
    readonly type: 'store-back';
    readonly run: string;
};

export type RunListener = (event: RunEvent) => void;

export interface RunOptions {
    readonly id?: string;
    readonly modelText?: string;
    readonly origin?: string;
    readonly signal?: AbortSignal;
    readonly wait?: boolean;
}

export interface RunOwner {
    readonly process: string;
    readonly untilMs: number;
    readonly pid: number;
    readonly machine: string;
}

export interface RunState {
    readonly format: 1;
    readonly id: string;
    readonly status: RunStatus;
    readonly chain: Chain;
    readonly params: ParamValues;
    readonly modelRules: readonly string[];
    readonly origin?: string;
    readonly startedWallMs: number;
    readonly endedWallMs?: number;
    readonly steps: readonly StepState[];
    readonly end?: RunEnd;
    readonly owner?: RunOwner;
    readonly admitted?: true;
    readonly approved: readonly RunApproval[];
    readonly card?: string;
}

export type RunStatus = 'running' | 'waiting' | 'in-doubt' | 'done' | 'failed' | 'aborted' | 'throttled' | 'cancelled';

export type RunSummary = Pick<RunState, 'id' | 'status' | 'startedWallMs' | 'endedWallMs' | 'end' | 'card' | 'owner'> & {
    readonly chain: string;
    readonly passed: number;
    readonly steps: number;
};

export interface ShellOptions {
    readonly cwd?: string;
    readonly env?: Environment;
    readonly leftBehind?: 'end' | 'leave' | 'wait';
    readonly graceSecs?: number;
}

export interface StepCondition {
    readonly refKey: string;
    readonly op: StepOp;
    readonly value?: unknown;
}

export type StepOp = 'equals' | 'not_equals' | 'less_than' | 'less_or_equal' | 'greater_than' | 'greater_or_equal' | 'contains' | 'not_contains' | 'starts_with' | 'ends_with' | 'matches' | 'in' | 'exists' | 'not_exists' | 'is_empty' | 'is_not_empty';

export interface StepState {
    readonly id: string;
    readonly status: StepStatus;
    readonly attempts: number;
    readonly startedWallMs?: number;
    readonly endedWallMs?: number;
    readonly outputBytes?: number;
    readonly reason?: string;
    readonly leftBehind?: readonly LeftProcess[];
}

export type StepStatus = 'pending' | 'running' | 'done' | 'skipped' | 'failed' | 'in-doubt';

export interface TemplateScope {
    readonly params: ParamValues;
    readonly outputs: Readonly<Record<string, unknown>>;
}

export declare function chainRules(chain: Pick<Chain, 'id' | 'rules'>, params: ParamValues): readonly RuleText[];

export declare function chainSchema(): JsonSchema;

export declare function createChains(options: ChainsOptions): Chains;

export declare function evaluateCondition(condition: StepCondition, scope: TemplateScope): boolean;

export declare function fillTemplates<T>(value: T, scope: TemplateScope): T;

export declare function functionAbilities(table: Readonly<Record<string, AbilityFunction>>): AbilitySource;

export declare function httpAbilities({ http: isOn, httpHosts }: HttpSettings, { lookup }?: HttpOptions): AbilitySource;

export declare function loadChain(path: string, name?: string): Chain;

export declare function mcpAbilities(config: unknown, options?: McpOptions): AbilitySource;

export declare function readChain(text: string, file?: string, settings?: LookupSettings): ChainReading;

export declare function readParams(chain: Chain, input?: Readonly<Record<string, unknown>>): ParamValues;

export declare function renderGraph(chain: Chain): string;

export declare function shellAbilities({ shell: isOn }: Pick<AbilitySettings, 'shell'>, options?: ShellOptions): AbilitySource;
