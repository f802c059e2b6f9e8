/** The shapes of the API that the board reads; `operator/` makes them. */

/** A breaker with what the journal tells about it. */
export interface BoardBreaker {
  readonly key: string;
  readonly name: string;
  readonly scope: string;
  readonly of: string;
  readonly project: string;
  readonly state: 'OPEN' | 'HALF_OPEN' | 'CLOSED';
  readonly held: boolean;
  readonly failures: number;
  readonly trips: number;
  readonly tripsPerHour: number;
  readonly generation: number;
  readonly untilMs?: number;
  readonly probes: { readonly inFlight: number; readonly succeeded: number };
  readonly series?: {
    readonly stepMs: number;
    readonly failures: readonly number[];
    readonly refusals: readonly number[];
  };
  readonly lastFailure?: {
    readonly error: string;
    readonly wallMs: number;
    readonly task?: string;
    readonly agent?: string;
  };
  readonly lastOrder?: {
    readonly order: string;
    readonly by: string;
    readonly reason: string;
    readonly wallMs: number;
  };
  readonly why?: string;
}

/** An entry about a breaker. */
export interface BreakerEntryRow {
  readonly seq: number;
  readonly wallMs: number;
  readonly type: string;
  readonly words: string;
  readonly task?: string;
}

/** A task with its usage. */
export interface BoardTask {
  readonly id: string;
  readonly agent: string;
  readonly session: string;
  readonly parent?: string;
  readonly state: 'running' | 'paused' | 'halted' | 'lost';
  readonly startedWallMs: number;
  readonly ageMs: number;
  readonly halt?: { readonly code: string; readonly message: string };
  readonly used?: {
    readonly toolCalls: number;
    readonly maxToolCalls: number;
    readonly spendCents: number;
    readonly maxSpendCents: number;
    readonly tokens: number;
    readonly maxTokens?: number;
    readonly durationMs?: number;
    readonly maxDurationSecs?: number;
    readonly idleMs?: number;
    readonly maxIdleSecs?: number;
  };
}

/** The tasks of a store, and the pauses in force. */
export interface TasksAnswer {
  readonly tasks: readonly BoardTask[];
  readonly total: number;
  readonly pauses: readonly { readonly target: string | null; readonly reason: string }[];
  readonly atMs: number;
}

/** What a row of a timeline marks. */
export type RowMark = 'refused' | 'failed' | 'halted' | 'notice';

/** One entry of a timeline. */
export interface TimelineRow {
  readonly seq: number;
  readonly wallMs: number;
  readonly type: string;
  readonly task: string;
  readonly agent: string;
  readonly track: 'task' | 'model' | 'tool' | 'child';
  readonly name?: string;
  readonly words: string;
  readonly mark?: RowMark;
  readonly call?: { readonly id: string; readonly phase: 'begin' | 'end'; readonly durationMs?: number };
  readonly micros?: number;
  readonly tokens?: number;
  readonly counts?: true;
  readonly gauge?: { readonly name: string; readonly actual: number; readonly limit: number };
}

/** A part of a timeline. */
export interface RowsAnswer {
  readonly rows: readonly TimelineRow[];
  readonly first: number;
  readonly last: number;
  readonly hasEarlier: boolean;
}
