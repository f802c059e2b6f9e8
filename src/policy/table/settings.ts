/** The table of all settings: source of the checker, the schema, the environment variables and the reference page. */

import {
  budgetLimitMax,
  budgetWindowMaxSecs,
  halfOpenPermitsMax,
  leaseMs,
  loopWindowMax,
  pastCallsMax,
  pointsMax,
  refusedCallsMax,
  taskDepthMax,
  tokensMax,
  turnsMax,
  windowCallsMax,
} from '../../core/limits.ts';
import type {
  AbilitySettings,
  AlertSettings,
  ApprovalSettings,
  BreakerSettings,
  DelegationSettings,
  JointBudget,
  JournalSettings,
  LoopSettings,
  PriceSettings,
  RuleSettings,
  Settings,
  TaskSettings,
} from '../../core/settings.ts';
import { choice, type FieldsOf, flag, map, type SectionFields, secs, share, texts, wholeNumber } from './setting.ts';

/** The habits of tools that are meant to be repeated. */
const habitNames = ['poll', 'wait', 'page', 'move', 'off'];

/** Shorter names of breaker settings that documents may use, in snake and camel case, with the setting they mean. */
export const breakerAliases = {
  monitor_window: 'monitorWindowSecs',
  monitorWindow: 'monitorWindowSecs',
  recovery_timeout: 'recoveryTimeoutSecs',
  recoveryTimeout: 'recoveryTimeoutSecs',
  reset_timeout_seconds: 'recoveryTimeoutSecs',
  resetTimeoutSeconds: 'recoveryTimeoutSecs',
  timeout: 'timeoutSecs',
  health_check_interval: 'healthCheckIntervalSecs',
  healthCheckInterval: 'healthCheckIntervalSecs',
} as const satisfies Readonly<Record<string, keyof BreakerSettings>>;

const breaker = {
  mode: choice('enforce', 'observe', 'off'),
  trip: choice('consecutive', 'cumulative', 'count_window', 'time_window'),
  failure_threshold: wholeNumber(5),
  window_calls: wholeNumber(100, { max: windowCallsMax }),
  monitor_window_secs: secs(300, { aliases: ['monitor_window'] }),
  failure_rate_threshold: share(undefined),
  rate_window: choice('time', 'calls'),
  minimum_calls: wholeNumber(10, { max: windowCallsMax }),
  slow_call_secs: secs(undefined),
  slow_rate_threshold: share(1),
  recovery: choice('timed', 'manual'),
  recovery_timeout_secs: secs(60, { aliases: ['recovery_timeout', 'reset_timeout_seconds'] }),
  recovery_factor: secs(1, { min: 1, max: 100 }),
  recovery_max_secs: secs(3600),
  recovery_jitter: { kind: 'number', default: 0, min: 0, max: 1 },
  jitter_seed: wholeNumber(0, { min: 0, max: 0xffff_ffff }),
  success_threshold: wholeNumber(2),
  half_open_permits: wholeNumber(1, { max: halfOpenPermitsMax }),
  // Leases are renewed once a second, so a shorter one would expire under a healthy owner.
  lease_secs: secs(leaseMs / 1000, { min: 2 }),
  lease_expiry: choice('failure', 'neutral'),
  max_concurrent: wholeNumber(undefined),
  open_on_retry_after: flag(false),
  same_error_only: flag(false),
  count_errors: texts(['ToolError', 'NetworkError', 'RateLimitExceeded']),
  ignore_errors: texts(['InvalidArguments', 'FileNotFound']),
  timeout_secs: secs(30, { aliases: ['timeout'], optional: true }),
  enable_health_check: flag(true),
  health_check_interval_secs: secs(30, { aliases: ['health_check_interval'] }),
  graceful_degradation: flag(true),
  scope: choice('agent', 'task', 'session', 'project', 'shared'),
} as const satisfies FieldsOf<BreakerSettings>;

const task = {
  max_tool_calls: wholeNumber(50, { env: 'BB_CIRCUIT_BREAKER_TOOL_CAP' }),
  max_spend_cents: wholeNumber(5000, { env: 'BB_CIRCUIT_BREAKER_COST_CAP_CENTS' }),
  max_tokens: wholeNumber(undefined, { max: Number.MAX_SAFE_INTEGER }),
  max_duration_secs: wholeNumber(1800, { env: 'BB_CIRCUIT_BREAKER_DURATION_SECS' }),
  max_idle_secs: wholeNumber(300, { env: 'BB_CIRCUIT_BREAKER_IDLE_SECS' }),
  max_denials: wholeNumber(5),
  notice_share: share(0.8),
} as const satisfies FieldsOf<TaskSettings>;

const loop = {
  enabled: flag(true),
  similarity_jaccard_threshold: share(0.95, { env: 'BB_CIRCUIT_BREAKER_JACCARD' }),
  window_size: wholeNumber(3, { min: 2, max: loopWindowMax }),
  token_cap: wholeNumber(tokensMax, { max: tokensMax }),
  row_across_calls: flag(true),
  refused_repeats: wholeNumber(2, { max: refusedCallsMax }),
  turns: wholeNumber(11, { min: 2, max: turnsMax }),
  note_points: wholeNumber(12, { max: pointsMax }),
  refuse_points: wholeNumber(18, { max: pointsMax }),
  halt_points: wholeNumber(24, { max: pointsMax }),
  failed_repeats: wholeNumber(5, { max: pastCallsMax }),
  near_threshold: share(0.76),
  words_alone: flag(false),
  repeat_points: wholeNumber(3, { max: pointsMax }),
  cycle_points: wholeNumber(2, { max: pointsMax }),
  error_points: wholeNumber(4, { max: pointsMax }),
  other_error_points: wholeNumber(2, { max: pointsMax }),
  same_answer_points: wholeNumber(7, { max: pointsMax }),
  near_call_points: wholeNumber(4, { max: pointsMax }),
  near_error_points: wholeNumber(6, { max: pointsMax }),
  words_points: wholeNumber(8, { max: pointsMax }),
  poll_secs: secs(5),
  tools: map('names', habitNames),
} as const satisfies FieldsOf<LoopSettings>;

const delegation = {
  max_failures: wholeNumber(2),
  worker_limits: map('counts'),
  on_trip: choice('halt', 'deny'),
  on_failure: choice('retry', 'end'),
  reset_after_secs: secs(undefined),
  backoff: flag(false),
  tools: flag(false),
  phrases: flag(true),
  alternatives: map('names'),
  max_depth: wholeNumber(undefined, { max: taskDepthMax }),
} as const satisfies FieldsOf<DelegationSettings>;

const rules = {
  on_missing: choice('fire', 'pending'),
  lookup: texts(['outputs'], ['outputs', 'args', 'params']),
  throttle: choice('skip', 'delay'),
  max_delay_secs: secs(10),
  min_interval_secs: secs(60),
} as const satisfies FieldsOf<RuleSettings>;

const approval = { timeout_secs: secs(120) } as const satisfies FieldsOf<ApprovalSettings>;

const prices = {
  on_unknown_price: choice('assume_dearest', 'halt', 'token_cap_only'),
} as const satisfies FieldsOf<PriceSettings>;

const journal = {
  level: choice('refusals', 'all'),
  content: choice('none', 'redacted', 'full'),
} as const satisfies FieldsOf<JournalSettings>;

const alerts = {
  trips_per_hour: wholeNumber(5),
  failure_rate: share(0.1),
  time_in_open_secs: secs(300),
} as const satisfies FieldsOf<AlertSettings>;

/** The fields of a joint budget. All but the window are required. */
export const budgetFields = {
  scope: choice('session', 'agent', 'project', 'global'),
  unit: choice('calls', 'tokens', 'spend_cents'),
  limit: wholeNumber(1, { max: budgetLimitMax }),
  window_secs: secs(undefined, { max: budgetWindowMaxSecs }),
} as const satisfies FieldsOf<JointBudget>;

const abilities = {
  http: flag(false),
  http_hosts: texts([]),
  shell: flag(false),
} as const satisfies FieldsOf<AbilitySettings>;

/** Settings outside any section. The tools are the shells of known agents, and tools with the names that R24 lists. */
export const topFields = {
  mode: choice('enforce', 'observe'),
  same_error_tools: texts([
    'Bash',
    'bash',
    'PowerShell',
    'shell',
    'shell.execute',
    'local_shell',
    'exec_command',
    'run_shell_command',
    'run_command',
    'execute_command',
    'terminal',
    '*_sql',
    'sql_*',
    'python',
    'run_python',
    'run_code',
    'execute_code',
    'code_interpreter',
    'run_test*',
    '*browser_*',
  ]),
} as const satisfies FieldsOf<Pick<Settings, 'mode' | 'sameErrorTools'>>;

/** Every section, by its name in files. */
export const sections: Readonly<Record<string, SectionFields>> = {
  circuit_breaker: breaker,
  task,
  loop,
  delegation,
  rule_settings: rules,
  approval,
  prices,
  journal,
  alerts,
  abilities,
} satisfies Omit<
  FieldsOf<Settings>,
  'mode' | 'same_error_tools' | 'tools' | 'agents' | 'budgets' | 'rules' | 'mappings'
> extends infer S
  ? Record<keyof S, SectionFields>
  : never;

/** The fields that a tool, or an agent's breaker, may override. */
export const breakerFields: SectionFields = breaker;

/** The fields that an agent's task may override. */
export const taskFields: SectionFields = task;
