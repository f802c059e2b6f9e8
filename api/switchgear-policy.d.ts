export interface AgentDocument {
    readonly circuitBreaker?: BreakerDocument;
    readonly circuit_breaker?: BreakerDocument;
    readonly task?: Fields<TaskSettings>;
}

export type BreakerDocument = Fields<BreakerSettings> & {
    readonly [A in keyof Aliases]?: Written<BreakerSettings, Aliases[A] & keyof BreakerSettings>;
};

export interface BreakerQuery {
    readonly tool: string;
    readonly agent?: string | undefined;
    readonly overrides?: Partial<BreakerSettings> | undefined;
}

export type BudgetDocument = Omit<JointBudget, 'windowSecs'> & Fields<Pick<JointBudget, 'windowSecs'>>;

export type CheckedPolicy = {
    readonly settings: Settings;
    readonly provenance: ReadonlyMap<string, Provenance>;
};

export type EnvironmentPolicy = CheckedPolicy & {
    readonly ignored: readonly IgnoredVariable[];
    readonly loosened: readonly LoosenedSetting[];
};

export interface IgnoredVariable {
    readonly name: string;
    readonly value: string;
    readonly used?: unknown;
    readonly message: string;
}

export interface LoosenedSetting {
    readonly name: string;
    readonly value: string;
    readonly path: string;
    readonly before: unknown;
    readonly message: string;
}

export type MayLoosen = (name: string, value: string) => boolean;

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

export interface PolicySource {
    readonly file?: string;
    readonly lineOf?: (path: Path) => number | undefined;
}

export interface PolicyWatch {
    readonly policy: CheckedPolicy;
    stop(): void;
}

export type PresetName = keyof typeof namedPresets;

export interface Provenance {
    readonly value: unknown;
    readonly source: Source;
    readonly alias?: string;
    readonly line?: number;
    readonly note?: string;
}

export type RuleDocument = string | (Omit<RuleText, 'target'> & Partial<Pick<RuleText, 'target'>>);

export interface WatchPolicyOptions {
    readonly clock?: Pick<Clock, 'after'>;
    readonly onProblem?: (error: Error) => void;
}

export declare function applyEnvironment(policy: CheckedPolicy, env: Readonly<Record<string, string | undefined>>, mayLoosen?: MayLoosen): EnvironmentPolicy;

export declare function checkBreaker(input: unknown, where?: string): Partial<BreakerSettings>;

export declare function checkPolicy(input: unknown, source?: PolicySource): CheckedPolicy;

export declare function checkTask(input: unknown, where?: string): Partial<TaskSettings>;

export declare function explainPolicy(policy: CheckedPolicy): readonly string[];

export declare function findPolicy(folder: string, homes?: Homes): string | undefined;

export declare function listAdvice(settings: Settings): readonly string[];

export declare function loadPolicy(path?: string, name?: string | undefined): CheckedPolicy;

export declare function parsePolicy(text: string, file: string): CheckedPolicy;

export declare function policySchema(): JsonSchema;

export declare const presets: Readonly<Record<string, Preset>>;

export declare function resolveBreaker(settings: Settings, { tool, agent, overrides }: BreakerQuery): BreakerSettings;

export declare function resolveTask(settings: Settings, agent?: string, limits?: Partial<TaskSettings>): TaskSettings;

export declare function settingsReference(): string;

export declare function watchPolicy(path: string, onChange: (policy: CheckedPolicy) => void, options?: WatchPolicyOptions): PolicyWatch;
