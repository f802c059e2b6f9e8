/** The effective settings of every control: plain data, complete, in the units their names say. */

import type { StreamMapping } from './event-mapping.ts';

export interface BreakerSettings {
  /** `off` lets everything pass uncounted, `observe` counts and reports but never refuses. */
  readonly mode: 'enforce' | 'observe' | 'off';
  /** How failures are counted towards the threshold. */
  readonly trip: 'consecutive' | 'cumulative' | 'count_window' | 'time_window';
  readonly failureThreshold: number;
  /** Calls in the count window. */
  readonly windowCalls: number;
  /** Seconds of the time window, which also feeds the failure rate. */
  readonly monitorWindowSecs: number;
  /** Share of failed calls in the window that trips as well; absent = off. */
  readonly failureRateThreshold?: number;
  /** Which window the rates look at. */
  readonly rateWindow: 'calls' | 'time';
  /** Calls a window must hold before a rate may trip. */
  readonly minimumCalls: number;
  /** A call longer than this is slow, finished or not; absent = nobody looks. */
  readonly slowCallSecs?: number;
  readonly slowRateThreshold: number;
  /** `manual` never leaves open by time. */
  readonly recovery: 'timed' | 'manual';
  readonly recoveryTimeoutSecs: number;
  /** Each opening in a row multiplies the wait by this, up to the maximum. */
  readonly recoveryFactor: number;
  readonly recoveryMaxSecs: number;
  /** Share of the wait that is spread at random, from the seed and the generation. */
  readonly recoveryJitter: number;
  readonly jitterSeed: number;
  readonly successThreshold: number;
  readonly halfOpenPermits: number;
  readonly leaseSecs: number;
  /** What an expired lease says about the callee. */
  readonly leaseExpiry: 'failure' | 'neutral';
  /** Calls at once; absent = any number. Refused beyond, never queued. */
  readonly maxConcurrent?: number;
  /** Open at once, until the time the callee named, on the first Retry-After. */
  readonly openOnRetryAfter: boolean;
  /** Count only the same normalised error in a row: for tools whose failures are data (shell, SQL, tests). */
  readonly sameErrorOnly: boolean;
  readonly countErrors: readonly string[];
  readonly ignoreErrors: readonly string[];
  readonly timeoutSecs?: number;
  readonly enableHealthCheck: boolean;
  readonly healthCheckIntervalSecs: number;
  /** Refusals come back as values; false throws them. */
  readonly gracefulDegradation: boolean;
  /** Which calls share one breaker. */
  readonly scope: 'task' | 'session' | 'agent' | 'project' | 'shared';
}

export interface LoopSettings {
  readonly enabled: boolean;
  readonly similarityJaccardThreshold: number;
  /** Outputs in a row that must be alike. */
  readonly windowSize: number;
  /** Tokens of each output that are compared. */
  readonly tokenCap: number;
  /** Whether outputs may be alike in a row although calls that brought nothing new lie between them. */
  readonly rowAcrossCalls: boolean;
  /** Unchanged proposals of a refused call before its time: this many are refused, the next one halts. */
  readonly refusedRepeats: number;
  /** Turns that are weighed together. */
  readonly turns: number;
  /** Points among them at which the model is told, a repeated call is refused, and the task halts. */
  readonly notePoints: number;
  readonly refusePoints: number;
  readonly haltPoints: number;
  /** Failures that a tool is granted before a loop of failures counts (R29). */
  readonly failedRepeats: number;
  /** How alike words, and calls, are nearly the same. */
  readonly nearThreshold: number;
  /** Whether nearly the same words are enough, although the call is another. */
  readonly wordsAlone: boolean;
  /** What a turn weighs: the same call and result, at once or in a cycle. */
  readonly repeatPoints: number;
  readonly cyclePoints: number;
  /** The same error as before, and another one. */
  readonly errorPoints: number;
  readonly otherErrorPoints: number;
  /** The same answer to nearly the same call. */
  readonly sameAnswerPoints: number;
  /** Nearly the same words and call, with another answer or another error. */
  readonly nearCallPoints: number;
  readonly nearErrorPoints: number;
  /** The same words without a call. */
  readonly wordsPoints: number;
  /** A tool that polls may ask again after this. */
  readonly pollSecs: number;
  /** How tools are used whose purpose is to be repeated, by name; a name may hold `*`. */
  readonly tools: Readonly<Record<string, 'poll' | 'wait' | 'page' | 'move' | 'off'>>;
}

export interface TaskSettings {
  readonly maxToolCalls: number;
  readonly maxSpendCents: number;
  /** Absent = no token cap. */
  readonly maxTokens?: number;
  readonly maxDurationSecs: number;
  readonly maxIdleSecs: number;
  /** Calls refused in a row before the task halts. */
  readonly maxDenials: number;
  /** Share of a limit at which a notice is written. */
  readonly noticeShare: number;
}

export interface DelegationSettings {
  readonly maxFailures: number;
  /** Limits of single workers or tools, by name. */
  readonly workerLimits: Readonly<Record<string, number>>;
  /** `halt` ends the root of the session, `deny` refuses this worker only. */
  readonly onTrip: 'halt' | 'deny';
  /** `end` halts on the first failure already. */
  readonly onFailure: 'retry' | 'end';
  /** Forget failures when the last is older than this; absent = never. */
  readonly resetAfterSecs?: number;
  /** Wait 2^failures seconds before the next try of a worker that failed. */
  readonly backoff: boolean;
  /** Whether plain tools are counted as workers, too. */
  readonly tools: boolean;
  /** Read inability from a worker's words. */
  readonly phrases: boolean;
  /** Workers to try instead of a tripped one. */
  readonly alternatives: Readonly<Record<string, string>>;
  /** Depth of delegations below the root, absent = any. */
  readonly maxDepth?: number;
}

/** What a session, an agent, a project or everybody on a store may use together. */
export interface JointBudget {
  readonly scope: 'session' | 'agent' | 'project' | 'global';
  readonly unit: 'calls' | 'tokens' | 'spend_cents';
  readonly limit: number;
  /** The length of a rolling window; absent = for the life of the scope. */
  readonly windowSecs?: number;
}

export interface RuleSettings {
  /** What a threshold rule does when its key is missing. */
  readonly onMissing: 'fire' | 'pending';
  /** Where rules look for a key, in this order. */
  readonly lookup: readonly ('outputs' | 'args' | 'params')[];
  readonly throttle: 'skip' | 'delay';
  /** The longest a throttled action is made to wait. */
  readonly maxDelaySecs: number;
  /** Spacing of actions throttled by a rule that is not about frequency. */
  readonly minIntervalSecs: number;
}

export interface ApprovalSettings {
  readonly timeoutSecs: number;
}

export interface PriceSettings {
  readonly onUnknownPrice: 'assume_dearest' | 'halt' | 'token_cap_only';
}

export interface JournalSettings {
  readonly level: 'refusals' | 'all';
  readonly content: 'none' | 'redacted' | 'full';
}

/** Beyond these a breaker asks for attention. */
export interface AlertSettings {
  readonly tripsPerHour: number;
  /** Share of failed calls in the monitor window. */
  readonly failureRate: number;
  readonly timeInOpenSecs: number;
}

/** Which built-in abilities the steps of chains may use. */
export interface AbilitySettings {
  /** `http.get` and `http.post`. */
  readonly http: boolean;
  /** The hosts they may reach, by name or glob; none = every public one. */
  readonly httpHosts: readonly string[];
  /** `shell.execute`. */
  readonly shell: boolean;
}

/** All of it, for one gear. */
export interface Settings {
  readonly mode: 'enforce' | 'observe';
  readonly circuitBreaker: BreakerSettings;
  /** Tools whose failures are data: only the same error in a row counts for them. A name may hold `*`. */
  readonly sameErrorTools: readonly string[];
  /** Overrides by tool name; a name may hold `*`. The checker puts the least specific name first. */
  readonly tools: Readonly<Record<string, Partial<BreakerSettings>>>;
  readonly agents: Readonly<
    Record<string, { readonly circuitBreaker?: Partial<BreakerSettings>; readonly task?: Partial<TaskSettings> }>
  >;
  readonly task: TaskSettings;
  readonly loop: LoopSettings;
  readonly delegation: DelegationSettings;
  /** Budgets beyond one task; none unless a policy says so. */
  readonly budgets: readonly JointBudget[];
  readonly rules: readonly RuleText[];
  /** How `switchgear run` reads programs that it does not know, by their names. */
  readonly mappings?: Readonly<Record<string, StreamMapping>>;
  readonly ruleSettings: RuleSettings;
  readonly approval: ApprovalSettings;
  readonly prices: PriceSettings;
  readonly journal: JournalSettings;
  readonly alerts: AlertSettings;
  readonly abilities: AbilitySettings;
}

/** A rule as it is written in a policy. */
export interface RuleText {
  readonly target: string;
  readonly condition: string;
  readonly action: string;
  readonly reason?: string;
}
