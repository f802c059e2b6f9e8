/** The effective settings of every control: plain, complete data, with the unit in each name. */

import type { DeclaredSections } from './controls/registry.ts';
import type { AbilitySettings } from './declare/ability-settings.ts';
import type { GatewaySettings } from './declare/gateway-settings.ts';
import type { McpSettings } from './declare/mcp-settings.ts';
import type { UpstreamSettings } from './declare/upstream-settings.ts';
import type { WebhookSettings } from './declare/webhook-settings.ts';
import type { StreamMapping } from './event-mapping.ts';

/** When the breaker of a failing tool opens, and when it lets probes through again. */
export interface BreakerSettings {
  /** `observe` counts and reports but never refuses; `off` admits every call uncounted. @default 'enforce' */
  readonly mode: 'enforce' | 'observe' | 'off';
  /** How failures are counted: in a row, ever, in the last calls, or in the monitor window. @default 'consecutive' */
  readonly trip: 'consecutive' | 'cumulative' | 'count_window' | 'time_window';
  /** Failures that open the circuit. @default 5 */
  readonly failureThreshold: number;
  /** Calls in the count window. @default 100 */
  readonly windowCalls: number;
  /** The length of the time window, which is also the window of the failure rate. @default 300 */
  readonly monitorWindowSecs: number;
  /** Share of failed calls in the window that also opens the circuit. @default undefined (off) */
  readonly failureRateThreshold?: number;
  /** Whether rates are computed over the monitor window or over the last calls. @default 'time' */
  readonly rateWindow: 'calls' | 'time';
  /** Calls a window must hold before a rate may trip or alert. @default 10 */
  readonly minimumCalls: number;
  /** A call longer than this is slow, finished or not. @default undefined (off) */
  readonly slowCallSecs?: number;
  /** Share of slow calls in the window that opens the circuit. @default 1 */
  readonly slowRateThreshold: number;
  /** `timed` admits a probe after the recovery timeout; `manual` stays open until a reset. @default 'timed' */
  readonly recovery: 'timed' | 'manual';
  /** Time in open before a probe is admitted. @default 60 */
  readonly recoveryTimeoutSecs: number;
  /** Each opening in a row multiplies the recovery timeout by this. @default 1 */
  readonly recoveryFactor: number;
  /** The longest multiplied recovery timeout; never less than the recovery timeout itself. @default 3600 */
  readonly recoveryMaxSecs: number;
  /** Share of the recovery timeout that is spread at random. @default 0 */
  readonly recoveryJitter: number;
  /** Seed of the random spread. @default 0 */
  readonly jitterSeed: number;
  /** Successes in half-open that close the circuit. @default 2 */
  readonly successThreshold: number;
  /** Probes at once in half-open. @default 1 */
  readonly halfOpenPermits: number;
  /** How long a probe may go without a sign of life from its process. @default 15 */
  readonly leaseSecs: number;
  /** Whether a probe whose lease expired counts as a failure of the tool or as neutral. @default 'failure' */
  readonly leaseExpiry: 'failure' | 'neutral';
  /** Calls at once; more wait in the queue, or are refused. @default undefined (any number) */
  readonly maxConcurrent?: number;
  /** Calls of one tool that a task may make; more are refused. @default undefined (any number) */
  readonly maxCalls?: number;
  /** Calls of one tool that all tasks of a session may make; more are refused. @default undefined (any number) */
  readonly maxCallsSession?: number;
  /** Calls that may wait for one of `maxConcurrent` to end, in this process; more are refused. @default 0 */
  readonly maxQueue: number;
  /** Time a call may wait in the queue. @default 30 */
  readonly queueTimeoutSecs: number;
  /** Attempts after the first, if a call fails; only for tools that may run twice. @default 0 */
  readonly retries: number;
  /** Time before the first retry; each further wait doubles. @default 1 */
  readonly retryBaseSecs: number;
  /** The longest wait before a retry; a call whose callee asks for a longer one is not retried. @default 30 */
  readonly retryMaxWaitSecs: number;
  /**
   * How waits are spread at random: `full` from nothing to the whole wait, `equal` from half of it.
   * @default 'full'
   */
  readonly retryJitter: 'full' | 'equal' | 'none';
  /** Open on the first Retry-After, until the time it names. @default false */
  readonly openOnRetryAfter: boolean;
  /** Count only the same error in a row. @default false */
  readonly sameErrorOnly: boolean;
  /**
   * Names of errors that count; unlisted errors count too.
   * @default ['ToolError', 'NetworkError', 'RateLimitExceeded']
   */
  readonly countErrors: readonly string[];
  /**
   * Names of errors that never count, also when they are in both lists.
   * @default ['InvalidArguments', 'FileNotFound']
   */
  readonly ignoreErrors: readonly string[];
  /**
   * `reported` also reads a returned value: `isError: true`, an object that is nothing but `{ ok: false }` or
   * `{ error }`, an HTTP response with an error status. With `throws-only` every returned value is a success.
   * @default 'reported'
   */
  readonly failure: 'reported' | 'throws-only';
  /**
   * Time a call may take; a call past this time is a failure. A model has one only if `tools` or the code sets it.
   * @default 30
   */
  readonly timeoutSecs?: number;
  /** Run the health check of a tool that has one while its circuit is open. @default true */
  readonly enableHealthCheck: boolean;
  /** Time between two health checks. @default 30 */
  readonly healthCheckIntervalSecs: number;
  /** Refusals are returned as values; false throws them. @default true */
  readonly gracefulDegradation: boolean;
  /** Which calls share one breaker. @default 'agent' */
  readonly scope: 'task' | 'session' | 'agent' | 'project' | 'shared';
}

/** When an agent that repeats itself is warned, refused and halted. */
export interface LoopSettings {
  /** Whether the loop control looks for repetition. @default true */
  readonly enabled: boolean;
  /** Similarity from which two outputs are alike. @default 0.95 */
  readonly similarityJaccardThreshold: number;
  /** Outputs in a row that must be alike. @default 3 */
  readonly windowSize: number;
  /** Tokens of each output that are compared. @default 512 */
  readonly tokenCap: number;
  /** Whether a row of alike outputs continues across calls that brought nothing new. @default false */
  readonly rowAcrossCalls: boolean;
  /** Whether an output that comes again after others counts, if no call came between. @default true */
  readonly rowAcrossOutputs: boolean;
  /** Times that an unchanged call is refused; the next repeat halts the task. @default 2 */
  readonly refusedRepeats: number;
  /** Model turns whose points are added up. @default 11 */
  readonly turns: number;
  /** Points at which the model is told that it repeats itself. @default 12 */
  readonly notePoints: number;
  /** Points at which a person gets a card that halts nothing. @default 24 */
  readonly cardPoints: number;
  /** Times that a call may bring the same, or fail, with nothing new in between; then it is refused. @default 5 */
  readonly repeats: number;
  /** Similarity from which two texts, or two calls, are nearly the same. @default 0.76 */
  readonly nearThreshold: number;
  /** Whether nearly the same text counts as a repeat even if the call differs. @default false */
  readonly wordsAlone: boolean;
  /** Points of a turn that makes the same call again at once and gets the same result. @default 3 */
  readonly repeatPoints: number;
  /** Points of a turn that makes the same call again after others and gets the same result. @default 2 */
  readonly cyclePoints: number;
  /** Points of a turn that gets the same error of a tool again. @default 4 */
  readonly errorPoints: number;
  /** Points of a turn that gets another error. @default 2 */
  readonly otherErrorPoints: number;
  /** Points of a turn that gets the same answer to nearly the same call. @default 7 */
  readonly sameAnswerPoints: number;
  /** Points of a turn with nearly the same text and call, and another answer. @default 4 */
  readonly nearCallPoints: number;
  /** Points of a turn with nearly the same text and call, and another error. @default 6 */
  readonly nearErrorPoints: number;
  /** Points of a turn that repeats a text and makes no call. @default 8 */
  readonly wordsPoints: number;
  /** Time of waiting inside a call after which the same answer is no repeat. @default 5 */
  readonly pollSecs: number;
  /**
   * Tools that are meant to be repeated: `poll`, `wait` or `off`; tools that only `read`, or `change` something. A name
   * may contain `*`.
   * @default {}
   */
  readonly tools: Readonly<Record<string, 'poll' | 'wait' | 'read' | 'change' | 'off'>>;
}

/** The limits of one task; a task past a limit halts. */
export interface TaskSettings {
  /** Tool calls of a task; one more halts the task. `Number.MAX_SAFE_INTEGER` if the policy says "none". @default 50 */
  readonly maxToolCalls: number;
  /**
   * Tool calls of all delegated work below a root task; one more halts the root. Delegated work is done by workers,
   * subagents and nested agents, not by child tasks that a program opens itself.
   * @default undefined (ten times `maxToolCalls` of the root, 500 if that is off)
   */
  readonly maxTreeCalls?: number;
  /** Model calls of a task; one more halts the task. @default undefined (no limit) */
  readonly maxModelCalls?: number;
  /** Money a task may spend on models, in cents. @default 5000 */
  readonly maxSpendCents: number;
  /** Tokens a task may use. @default undefined (no cap) */
  readonly maxTokens?: number;
  /** Time a task may take. @default 1800 */
  readonly maxDurationSecs: number;
  /** Time a task may be silent. @default 300 */
  readonly maxIdleSecs: number;
  /** Refusals in a row that halt a task. @default 5 */
  readonly maxDenials: number;
  /** Share of a limit at which a notice is given. @default 0.8 */
  readonly noticeShare: number;
  /**
   * What happens at a limit: `close` halts the task, and adapters let the model close its answer; `error` also makes
   * `gear.task` and the adapters throw; `ask` first asks a person whether a limit of calls, tokens or money may be
   * doubled, at most three times for a task.
   * @default 'close'
   */
  readonly atLimit: 'close' | 'error' | 'ask';
}

/** A limit of a task that can be raised. */
export type RaisedLimit = Exclude<keyof TaskSettings, 'atLimit'>;

/** How often work may be delegated to a worker that fails. */
export interface DelegationSettings {
  /** Failures of one worker in a session at which the worker trips. @default 2 */
  readonly maxFailures: number;
  /** Other limits for single workers or tools, by name. @default {} */
  readonly workerLimits: Readonly<Record<string, number>>;
  /** `deny` refuses this worker only; `halt` ends the root task. @default 'deny' */
  readonly onTrip: 'deny' | 'halt';
  /** `end` halts on the first failure. @default 'retry' */
  readonly onFailure: 'retry' | 'end';
  /** Failures are cleared when the last one is older than this. @default undefined (never) */
  readonly resetAfterSecs?: number;
  /** Wait 2, 4, 8 ... seconds before the next delegation to a worker that failed. @default false */
  readonly backoff: boolean;
  /** Whether plain tools count as workers, too. @default false */
  readonly tools: boolean;
  /** Whether a worker's text is searched for phrases of inability. @default true */
  readonly phrases: boolean;
  /**
   * `reported` counts an inability that a worker reports of itself, without a success; `anywhere` counts the words.
   * @default 'reported'
   */
  readonly phraseMatch: 'reported' | 'anywhere';
  /** Workers to suggest instead of a tripped one, by name. @default {} */
  readonly alternatives: Readonly<Record<string, string>>;
  /** Depth of delegations below the root. @default 5 */
  readonly maxDepth?: number;
}

/** A budget that the tasks of a session, an agent, a project or a whole store share, or calls with one key or model. */
export interface JointBudget {
  /** The tasks or calls that share the budget; `key` is a key of the gateway. */
  readonly scope: 'session' | 'agent' | 'project' | 'global' | 'key' | 'model';
  /** The unit: admitted tool calls or model calls, tokens, or money in cents. */
  readonly unit: 'calls' | 'model_calls' | 'tokens' | 'spend_cents';
  /** The limit, in the unit. */
  readonly limit: number;
  /** The length of a rolling window; without one the limit is for the life of the scope. @default undefined */
  readonly windowSecs?: number;
  /** `observe` counts and reports, and refuses nothing. @default 'enforce' */
  readonly mode?: 'enforce' | 'observe';
}

/** How written rules read values and throttle actions. */
export interface RuleSettings {
  /**
   * What a threshold rule does when its key is missing: fire, or wait until a step could have written the key.
   * @default 'fire'
   */
  readonly onMissing: 'fire' | 'pending';
  /** Where rules look for a key, in this order. @default ['outputs'] */
  readonly lookup: readonly ('outputs' | 'args' | 'params')[];
  /** Whether a throttled action is refused with a retry time (`skip`) or delayed (`delay`). @default 'skip' */
  readonly throttle: 'skip' | 'delay';
  /** The longest delay of a throttled action. @default 10 */
  readonly maxDelaySecs: number;
  /** Interval between actions throttled by a rule without a frequency. @default 60 */
  readonly minIntervalSecs: number;
}

/** How long a person has to answer a question. */
export interface ApprovalSettings {
  /** Time a person has to answer; without an answer the action is refused. @default 120 */
  readonly timeoutSecs: number;
  /** Names of arguments whose values a question masks, beside those that look like secrets. @default [] */
  readonly redact: readonly string[];
  /**
   * Whether commands that answer may run without a terminal while an agent runs. Needs a trusted policy.
   * @default false
   */
  readonly unattended: boolean;
}

/** The cost of a model call whose price is unknown. */
export interface PriceSettings {
  /**
   * Count the dearest price of the model's family, halt, or rely on `task.max_tokens`, which must then be set.
   * @default 'assume_dearest'
   */
  readonly onUnknownPrice: 'assume_dearest' | 'halt' | 'token_cap_only';
  /** Models that cost nothing, by name, such as `llama*`. @default [] */
  readonly free: readonly string[];
}

/** Which entries the journal keeps, and how much of the arguments. */
export interface JournalSettings {
  /** `refusals` writes refusals and changes only; `all` writes every decision. @default 'refusals' */
  readonly level: 'refusals' | 'all';
  /**
   * How much of the arguments is kept: nothing, 200 characters without secrets, or up to 4,096 as they are.
   * @default 'none'
   */
  readonly content: 'none' | 'redacted' | 'full';
}

/** The values above which an alert is raised; `none` in a document switches one off. */
export interface AlertSettings {
  /** More trips of a breaker than this in an hour raise an alert. @default 5 */
  readonly tripsPerHour: number;
  /** A share of failed calls above this raises an alert. @default 0.1 */
  readonly failureRate: number;
  /** A longer time in open than this raises an alert. @default 300 */
  readonly timeInOpenSecs: number;
  /** A used share of a budget from this on raises a first alert. @default 0.8 */
  readonly spendShare: number;
  /** A used share of a budget from this on raises a second alert. @default 0.95 */
  readonly spendShareHigh: number;
  /** An agent that waits longer than this for a person raises an alert. @default 900 */
  readonly waitingSecs: number;
  /** A store that is away longer than this raises an alert. @default 60 */
  readonly storeAwaySecs: number;
  /** The shortest time between two alerts of one cause. @default 3600 */
  readonly periodSecs: number;
}

/** All settings of one gear. The sections of newer controls are typed by their declarations. */
export type Settings = BaseSettings & DeclaredSections;

/** The settings whose types are written out. */
export interface BaseSettings {
  /** `observe` counts and reports, and refuses nothing. @default 'enforce' */
  readonly mode: 'enforce' | 'observe';
  /** The breaker settings of every tool, model and worker. */
  readonly circuitBreaker: BreakerSettings;
  /**
   * Tools whose failures are data (shells, SQL, tests): only the same error in a row counts. A name may contain `*`.
   * @default ['Bash', 'shell', '*_sql', 'python', 'run_test*', ...] (`defaultSettings.sameErrorTools`)
   */
  readonly sameErrorTools: readonly string[];
  /**
   * Whether calls that would change the store, the policy or the hooks, or decide in the inbox, are asked about or
   * refused.
   * @default true
   */
  readonly selfProtection: boolean;
  /**
   * Breaker settings of single tools, by name; a name may contain `*`. The checker sorts the least specific name first.
   * @default {}
   */
  readonly tools: Readonly<Record<string, Partial<BreakerSettings>>>;
  /** Breaker settings and task limits of single agents, by name. @default {} */
  readonly agents: Readonly<
    Record<string, { readonly circuitBreaker?: Partial<BreakerSettings>; readonly task?: Partial<TaskSettings> }>
  >;
  /** The limits of every task. */
  readonly task: TaskSettings;
  /** The settings of the loop control. */
  readonly loop: LoopSettings;
  /** The settings of the delegation control. */
  readonly delegation: DelegationSettings;
  /** Budgets that several tasks share. @default [] */
  readonly budgets: readonly JointBudget[];
  /** The rules of the operator. @default [] */
  readonly rules: readonly RuleText[];
  /**
   * How `switchgear run` reads the output of programs without a built-in reader, by program name.
   * @default undefined
   */
  readonly mappings?: Readonly<Record<string, StreamMapping>>;
  /** Where `switchgear serve` sends alerts, halts and questions. @default undefined */
  readonly webhooks?: readonly WebhookSettings[];
  /** The hosts that `switchgear gateway` reaches. @default undefined (those of the three providers) */
  readonly upstreams?: readonly UpstreamSettings[];
  /** How rules read values and throttle actions. */
  readonly ruleSettings: RuleSettings;
  /** How a person is asked. */
  readonly approval: ApprovalSettings;
  /** The cost of model calls without a known price. */
  readonly prices: PriceSettings;
  /** Which entries the journal keeps. */
  readonly journal: JournalSettings;
  /** The values above which an alert is raised. */
  readonly alerts: AlertSettings;
  /** The built-in abilities that chain steps may use. */
  readonly abilities: AbilitySettings;
  /** How tools of MCP servers are listed and called through `switchgear mcp`. */
  readonly mcp: McpSettings;
  /** How `switchgear gateway` treats model calls. */
  readonly gateway: GatewaySettings;
}

/** A rule as it is written in a policy. */
export interface RuleText {
  /** The chain, tool or agent: `*`, `chain:<id>`, `tool:<glob>`, `agent:<glob>`, or a bare name. */
  readonly target: string;
  /** When the rule fires, e.g. `amount>500` or `frequency>10/1h`. */
  readonly condition: string;
  /** `abort`, `confirm` or `throttle`. */
  readonly action: 'abort' | 'confirm' | 'throttle';
  /** The text for the model and the person; by default the observed value. */
  readonly reason?: string;
}
