/** The rows of breakers, tasks, timelines and stores as the API answers with them; the page reads the same types. */

import type { StandingApproval } from '../../chains/run/approval/standing-approval.ts';
import type { Entry } from '../../core/event.ts';
import type { MetricLayer } from '../../ports/process-counts.ts';
import type { StoreSize } from '../../ports/store-size.ts';

export type { StandingApproval };

/** A breaker of a store with its state now. */
export interface StoredBreaker {
  readonly key: string;
  readonly name: string;
  /** The scope that shares the breaker: `all`, a project, or an agent, session or task of a project. */
  readonly scope: string;
  readonly of: string;
  readonly project: string;
  readonly state: 'OPEN' | 'HALF_OPEN' | 'CLOSED';
  readonly held: boolean;
  /** Failures towards the next trip. */
  readonly failures: number;
  /** Failures in a row, also across trips. */
  readonly inARow: number;
  /** The class of the last error in the journal, with its message if the journal keeps texts. */
  readonly lastError?: string;
  /** Trips so far. */
  readonly trips: number;
  readonly cause: string;
  /** Grows with every change of phase. */
  readonly generation: number;
  /** Trips in the last hour. */
  readonly tripsPerHour: number;
  /** The share of failed calls in the window, as last stored; absent below the minimum of calls. */
  readonly failureRate?: number;
  /** Calls in the window and those that failed, as last stored. */
  readonly windowCalls?: number;
  readonly windowFailures?: number;
  /** Milliseconds in open since the breaker was last closed, the current period included. */
  readonly openMs: number;
  /** The time of the next probe; absent if only a reset closes the breaker, or if the breaker is not open. */
  readonly untilMs?: number;
  /** Since when the breaker is open or held. */
  readonly sinceMs?: number;
  /** Half-open probes that run now, and those that have succeeded since the breaker was open. */
  readonly probes: { readonly inFlight: number; readonly succeeded: number };
}

/** Failures and refusals of the last 10 minutes, oldest first, in steps of 20 seconds. */
export interface BreakerSeries {
  readonly stepMs: number;
  readonly failures: readonly number[];
  readonly refusals: readonly number[];
}

/** The last order of an operator about a breaker. */
export interface BreakerOrder {
  readonly order: 'trip' | 'reset' | 'hold' | 'release';
  readonly by: string;
  readonly reason: string;
  readonly wallMs: number;
}

/** The last call that a breaker counted as failed. */
export interface LastFailure {
  /** The class of the error, with its message if the journal keeps texts. */
  readonly error: string;
  readonly wallMs: number;
  readonly task?: string;
  readonly agent?: string;
}

/** What the journal tells about a breaker; each part is absent if the journal does not have it any more. */
export interface BreakerActivity {
  readonly series?: BreakerSeries;
  readonly lastFailure?: LastFailure;
  readonly lastOrder?: BreakerOrder;
  /** The wall time of the last trip. */
  readonly trippedWallMs?: number;
  /** Why the breaker is open, in words. */
  readonly why?: string;
}

/** A breaker with its activity. */
export type ActiveBreaker = StoredBreaker & BreakerActivity;

/** An entry about a breaker, for a person. */
export interface BreakerEntryRow {
  readonly seq: number;
  readonly wallMs: number;
  readonly type: Entry['type'];
  readonly words: string;
  readonly task?: string;
}

/** A task as the journal shows it. */
export interface JournalTask {
  readonly id: string;
  readonly agent: string;
  readonly session: string;
  readonly parent?: string;
  /** `lost`: no end is known, and its longest duration is over or no process works on its chain run: it is gone. */
  readonly state: 'running' | 'paused' | 'halted' | 'lost';
  readonly startedWallMs: number;
  readonly ageMs: number;
  /** The reason of the halt. */
  readonly halt?: { readonly code: string; readonly message: string };
}

/** What a task has used, and its limits; another limit that is off is absent. */
export interface TaskUsage {
  readonly toolCalls: number;
  /** `Number.MAX_SAFE_INTEGER` if the limit is off. */
  readonly maxToolCalls: number;
  readonly spendCents: number;
  readonly maxSpendCents: number;
  readonly tokens: number;
  readonly maxTokens?: number;
  /** The time that the task has run, without pauses; absent if an older version published the task. */
  readonly durationMs?: number;
  readonly maxDurationSecs?: number;
  /** The time since its last sign of life, which is known to about 10 seconds. */
  readonly idleMs?: number;
  readonly maxIdleSecs?: number;
}

/** A task as an operator sees it. */
export interface OperatorTask extends JournalTask {
  /** Usage and limits; absent if the task is known from the journal alone. */
  readonly used?: TaskUsage;
  /** The process that runs the task; absent for tasks of hooks, which run in many. */
  readonly owner?: string;
}

/** What a row marks: a refusal, a failure, the end of a task by a control, or something a person should look at. */
export type RowMark = 'refused' | 'failed' | 'halted' | 'notice';

/** One entry of a task or of a task below it. */
export interface TimelineRow {
  readonly seq: number;
  readonly atMs: number;
  readonly wallMs: number;
  readonly type: Entry['type'];
  readonly task: string;
  readonly agent: string;
  /** The track: the task itself, its models, its tools, or its workers and tasks below. */
  readonly track: 'task' | 'model' | 'tool' | 'child';
  /** The tool, model or worker; absent for entries about the task itself. */
  readonly name?: string;
  /** What happened, in words. */
  readonly words: string;
  readonly mark?: RowMark;
  /** The call that begins or ends here, by its id. */
  readonly call?: { readonly id: string; readonly phase: 'begin' | 'end'; readonly durationMs?: number };
  /** The cost that the entry adds, in millionths of a dollar. */
  readonly micros?: number;
  readonly tokens?: number;
  /** True if the entry adds a tool call to those of its task. */
  readonly counts?: true;
  /** A known total of the task, e.g. `spend_cents` at 80 % of its limit. */
  readonly gauge?: { readonly name: string; readonly actual: number; readonly limit: number };
}

/** A part of the timeline. */
export interface TimelineRows {
  /** Oldest first. */
  readonly rows: readonly TimelineRow[];
  /** The numbers between which the journal was read: earlier rows are before `first`, later ones after `last`. */
  readonly first: number;
  readonly last: number;
  /** Whether the journal may have earlier rows. */
  readonly hasEarlier: boolean;
}

/** A process with tasks. */
export interface StoreProcess {
  readonly id: string;
  /** `library`: a program that was given the store. The others are commands: `run`, `chain`, `mcp`, `gateway`. */
  readonly kind: MetricLayer;
  /** The process reports itself until this time of the store, and renews it. */
  readonly untilMs: number;
  readonly isAlive: boolean;
  /** Its tasks that are not lost, and the names of its agents. */
  readonly tasks: number;
  readonly agents: readonly string[];
}

/** An agent that a supervisor, hooks, a proxy or a gateway guard, and that runs on this machine. */
export interface StoreAgent {
  readonly by: 'run' | 'hooks' | 'mcp' | 'gateway' | 'server';
  readonly name: string;
  /** The task of a run, the session of hooks, or the name of a proxy. */
  readonly id: string;
  readonly pid?: number;
}

/** A time in which a process could not reach the store, or its end. */
export interface StoreOutage {
  readonly wallMs: number;
  readonly type: 'store-degraded' | 'store-recovered';
  readonly reason: string;
}

/** A store as a whole. */
export interface StoreSummary {
  readonly store: string;
  readonly health: { readonly state: 'shared' | 'degraded'; readonly reason: string };
  readonly atMs: number;
  /** The numbers of the first and the last entry; 0 without entries. */
  readonly journal: { readonly first: number; readonly last: number };
  readonly size: StoreSize;
  readonly processes: readonly StoreProcess[];
  readonly agents: readonly StoreAgent[];
  /** The last times that the journal tells of, the newest first. */
  readonly outages: readonly StoreOutage[];
}

/** A store as the API shows it: with how many alerts fire, and the webhooks that do not accept messages. */
export interface StoreAnswer extends StoreSummary {
  readonly alerts: { readonly firing: number; readonly failingWebhooks: readonly string[] };
}

/** The standing approvals of a store. */
export interface StandingAnswer {
  readonly standing: readonly StandingApproval[];
}
