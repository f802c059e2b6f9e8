/** Every metric: its type, labels and meaning, and whether a server or a process exports it. */

/** A metric of the table. */
export interface MetricDeclaration {
  readonly type: 'gauge' | 'counter' | 'histogram';
  readonly labels: readonly string[];
  /** One sentence. */
  readonly help: string;
}

/** The metrics on `/metrics` of a server, all read from the store. Names get the prefix `switchgear_`. */
export const serverMetrics = {
  store_up: { type: 'gauge', labels: [], help: 'Whether the store answers.' },
  breaker_state: {
    type: 'gauge',
    labels: ['breaker', 'state'],
    help: 'Breakers of this name in this state: closed, open, half_open; a held breaker is open, too.',
  },
  breaker_trip_count: {
    type: 'gauge',
    labels: ['breaker'],
    help: 'Trips since the breakers of this name were created or last reset.',
  },
  breaker_trips_per_hour: {
    type: 'gauge',
    labels: ['breaker'],
    help: 'Trips of the breakers of this name in the last hour.',
  },
  failure_rate: {
    type: 'gauge',
    labels: ['breaker'],
    help: 'Highest share of failed calls in the window, from 0 to 1, of the breakers of this name.',
  },
  time_in_open_state: {
    type: 'gauge',
    labels: ['breaker'],
    help: 'Longest time in open, in seconds, since the breakers of this name were last closed.',
  },
  breaker_calls_total: {
    type: 'counter',
    labels: ['breaker', 'outcome'],
    help: 'Calls that ended: success, failure, or neutral if the outcome says nothing about the callee.',
  },
  breaker_call_seconds_total: {
    type: 'counter',
    labels: ['breaker', 'outcome'],
    help: 'Duration of the calls that ended, in seconds.',
  },
  breaker_refusals_total: {
    type: 'counter',
    labels: ['breaker'],
    help: 'Calls that the breakers of this name refused.',
  },
  breaker_trips_total: { type: 'counter', labels: ['breaker'], help: 'Trips of the breakers of this name.' },
  breaker_transitions_total: {
    type: 'counter',
    labels: ['breaker', 'to'],
    help: 'Changes of breakers to open, half_open or closed; a reset closes, too.',
  },
  decisions_total: {
    type: 'counter',
    labels: ['layer', 'outcome'],
    help: 'Decisions about actions: allow, deny, ask, wait, halt; a call under a run with hooks is decided by both.',
  },
  degraded_decisions_total: {
    type: 'counter',
    labels: ['layer'],
    help: 'Decisions while the store did not answer, with one-second resolution.',
  },
  refusals_total: { type: 'counter', labels: ['code'], help: 'Refused actions, by the code of the refusal.' },
  halts_total: { type: 'counter', labels: ['code'], help: 'Halted tasks, by the code of the halt.' },
  spend_dollars_total: {
    type: 'counter',
    labels: ['scope'],
    help: 'Money that tasks spent, in US dollars; other scopes than task: the part under a budget of this scope.',
  },
  tokens_total: {
    type: 'counter',
    labels: ['scope'],
    help: 'Tokens that tasks used; other scopes than task: the part under a budget of this scope.',
  },
  budget_used: {
    type: 'gauge',
    labels: ['scope', 'unit', 'window_secs'],
    help: 'Used amount of the budgets of this kind, in their unit.',
  },
  budget_used_ratio: {
    type: 'gauge',
    labels: ['scope', 'unit', 'window_secs'],
    help: 'Highest used share of the budgets of this kind.',
  },
  inbox_pending: { type: 'gauge', labels: ['kind'], help: 'Open cards.' },
  inbox_oldest_seconds: {
    type: 'gauge',
    labels: ['kind'],
    help: 'Age of the oldest open card, as the journal has it.',
  },
  inbox_decisions_total: { type: 'counter', labels: ['decision'], help: 'Answers of people to cards.' },
  tasks: { type: 'gauge', labels: ['state'], help: 'Tasks of all processes: running, paused, halted, lost.' },
  internal_errors_total: {
    type: 'counter',
    labels: [],
    help: 'Errors that processes swallowed, so that no decision failed.',
  },
  settings_loosened_total: {
    type: 'counter',
    labels: [],
    help: 'Settings that the environment made to protect less than the policy.',
  },
  settings_rejected_total: {
    type: 'counter',
    labels: [],
    help: 'Settings and rules that were not applied, because they were unknown, invalid or would loosen.',
  },
} as const satisfies Readonly<Record<string, MetricDeclaration>>;

/** The name of a metric of a server, without its prefix. */
export type ServerMetric = keyof typeof serverMetrics;
