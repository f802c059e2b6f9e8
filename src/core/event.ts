/** Everything that can happen: what controls learn from, and the numbered lines of the journal. */

import type { Action, Cost, Outcome, Permit, RuleHit } from './action.ts';
import type { Card } from './card.ts';
import type { Gauge } from './control.ts';
import type { ResultMark } from './controls/loop/result-mark.ts';
import type { TaskSettings } from './settings.ts';
import type { Code, Counters, Decision, Stop, Verdict } from './verdict.ts';

/** Time is in the event: `atMs` is the store's time, and nothing in the core asks for another. */
interface At {
  readonly atMs: number;
}

export interface ActionProposed extends At {
  readonly type: 'action-proposed';
  readonly action: Action;
}

export interface ActionDecided extends At {
  readonly type: 'action-decided';
  readonly action: Action;
  readonly verdict: Verdict;
}

export interface ActionSettled extends At {
  readonly type: 'action-settled';
  readonly permit: Permit;
  readonly outcome: Outcome;
  /** Known where the caller reports what it really cost; the reservation is given back in any case. */
  readonly cost?: Cost;
  readonly result?: ResultMark;
  /** How alike the call is to the likest of the last calls of its tool; absent where nobody looked. */
  readonly likeness?: number;
  /** Output rules whose condition on the result holds. */
  readonly resultHits?: readonly RuleHit[];
  /** The call was given up, but its work goes on and keeps its slot until `work-ended`. */
  readonly stillRuns?: boolean;
}

/** The work of a call that had been given up really ended. */
export interface WorkEnded extends At {
  readonly type: 'work-ended';
  readonly permit: Permit;
}

/** The permit's owner still lives: its lease goes on. */
export interface PermitRenewed extends At {
  readonly type: 'permit-renewed';
  readonly permit: Permit;
}

/** An assistant text was seen. The text stays outside; its likeness to the one before it is what counts. */
export interface TextObserved extends At {
  readonly type: 'text-observed';
  /** Jaccard similarity to the previous text, or -1 for the first. */
  readonly similarity: number;
  /** Nearly the same as one of the last texts. */
  readonly recurs?: boolean;
  /** Whether calls came with it; absent where that shows later. */
  readonly calls?: boolean;
  /** The prompt before it had been sent before. */
  readonly asked?: boolean;
}

export interface UsageObserved extends At {
  readonly type: 'usage-observed';
  readonly cost: Cost;
}

/** A tool call that somebody else let through was seen in a stream. */
export interface CallObserved extends At {
  readonly type: 'call-observed';
  readonly name: string;
  /** Equal for equal name and arguments; absent where nobody looked. */
  readonly call?: number;
}

/** The result of a call that somebody else let through was seen in a stream. */
export interface ResultObserved extends At {
  readonly type: 'result-observed';
  readonly name: string;
  readonly call: number;
  readonly result: ResultMark;
  /** How alike the call is to the likest of the last calls of its tool. */
  readonly likeness?: number;
}

/** The host says that the work got on: what was repeated until now was no loop. */
export interface ProgressObserved extends At {
  readonly type: 'progress-observed';
}

/** A person said something new; a harness prompt that was seen before is a `sign-observed`. */
export interface UserObserved extends At {
  readonly type: 'user-observed';
}

/** Any other sign of life: a heartbeat, a stream chunk, progress. */
export interface SignObserved extends At {
  readonly type: 'sign-observed';
}

/** A person is being asked, or the task is paused: clocks stand still until `task-resumed`. */
export interface TaskStopped extends At {
  readonly type: 'task-stopped';
}

export interface TaskResumed extends At {
  readonly type: 'task-resumed';
}

/** A delegation came back; `failed` with the reason, or not. */
export interface DelegationReturned extends At {
  readonly type: 'delegation-returned';
  readonly worker: string;
  readonly failed: boolean;
  readonly reason: string;
}

/** What controls learn from. */
export type ControlEvent =
  | ActionDecided
  | ActionSettled
  | WorkEnded
  | PermitRenewed
  | TextObserved
  | UsageObserved
  | CallObserved
  | ResultObserved
  | ProgressObserved
  | UserObserved
  | SignObserved
  | TaskStopped
  | TaskResumed
  | DelegationReturned;

/** What an entry says about where it belongs; set by the guard, absent where it does not apply. */
export interface EntryPlace {
  readonly task?: string;
  readonly session?: string;
  readonly agent?: string;
  /** The key of the breaker that the call runs under. */
  readonly breaker?: string;
}

/** What a proposal was to be called with; only where the policy says that a journal holds it. */
interface Quoting {
  readonly args?: string;
}

/** What a journal line can say. Noun-verb, past tense; API, never renamed. */
export type EntryBody =
  | {
      readonly type: 'task-started';
      readonly parent?: string;
      readonly retryOf?: string;
      readonly limits: TaskSettings;
    }
  | { readonly type: 'task-ended'; readonly how: 'done' | 'error' | 'halted' | 'lost' }
  | {
      readonly type: 'task-halted';
      readonly stop: Stop;
      readonly message: string;
      /** The task whose halt ended this one, where it was not its own. */
      readonly cause?: string;
      /** False where the gear only observes: reported, nothing ended. */
      readonly enforced: boolean;
    }
  | { readonly type: 'task-stopped' | 'task-resumed' }
  | { readonly type: 'task-missing'; readonly name: string }
  | ({ readonly type: 'action-allowed'; readonly action: Action; readonly probe: boolean } & Quoting)
  | (Quoting & {
      readonly type: 'action-refused';
      readonly action: Action;
      readonly decision: Decision;
      readonly message: string;
      readonly enforced: boolean;
      /** The verdict it had before, where nobody could wait or nobody said yes; or that it was too deep. */
      readonly after?: 'wait' | 'ask' | 'depth';
    })
  | ({
      readonly type: 'action-waited' | 'action-asked';
      readonly action: Action;
      readonly decision: Decision;
    } & Quoting)
  | {
      readonly type: 'action-settled';
      readonly permit: Permit;
      readonly outcome: Outcome;
      readonly durationMs: number;
      readonly cost?: Cost;
      readonly result?: ResultMark;
      readonly likeness?: number;
      readonly resultHits?: readonly RuleHit[];
      readonly stillRuns?: boolean;
    }
  | { readonly type: 'work-ended' | 'permit-renewed'; readonly permit: Permit }
  | { readonly type: 'breaker-tuned'; readonly name: string; readonly overrides: Readonly<Record<string, unknown>> }
  | {
      readonly type: 'failure-counted';
      readonly name: string;
      readonly error: string;
      readonly actual: number;
      readonly limit: number;
    }
  | Omit<TextObserved, 'atMs'>
  | { readonly type: 'usage-observed'; readonly model: string; readonly cost: Cost; readonly basis: string }
  | Omit<CallObserved, 'atMs'>
  | Omit<ResultObserved, 'atMs'>
  | { readonly type: 'user-observed' | 'sign-observed' | 'progress-observed' }
  | { readonly type: 'loop-suspected'; readonly counters: Counters; readonly message: string }
  | {
      readonly type: 'delegation-returned';
      readonly worker: string;
      readonly failed: boolean;
      readonly reason: string;
      readonly actual: number;
      readonly limit: number;
    }
  | {
      readonly type: 'breaker-opened';
      readonly key: string;
      readonly name: string;
      readonly generation: number;
      readonly cause: string;
      readonly untilMs: number;
      readonly counters: Counters;
    }
  | {
      readonly type:
        | 'breaker-half-opened'
        | 'breaker-closed'
        | 'breaker-reset'
        | 'breaker-held'
        | 'breaker-released'
        | 'breaker-shadowed';
      readonly key: string;
      readonly name: string;
      readonly generation: number;
    }
  | { readonly type: 'health-checked'; readonly key: string; readonly name: string; readonly healthy: boolean }
  | { readonly type: 'rule-rejected'; readonly line: string; readonly reason: string }
  | RunEntryBody
  | { readonly type: 'notice'; readonly gauge: Gauge; readonly message: string }
  | { readonly type: 'card-changed'; readonly card: Card }
  | { readonly type: 'storm-tripped' | 'storm-restarted'; readonly name: string; readonly counters: Counters }
  | { readonly type: 'price-unknown'; readonly model: string; readonly assumed: string }
  | { readonly type: 'setting-ignored'; readonly name: string; readonly value: string; readonly used: string }
  | { readonly type: 'policy-reloaded'; readonly changed: readonly string[] }
  | { readonly type: 'store-degraded' | 'store-recovered'; readonly reason: string }
  | {
      readonly type: 'order-given';
      readonly order: 'halt' | 'pause' | 'resume' | 'trip' | 'reset';
      /** The task or tool; null = all of them. */
      readonly target: string | null;
      readonly reason: string;
      readonly by: string;
    }
  | { readonly type: 'internal-error'; readonly where: string; readonly message: string; readonly code: Code };

/** One numbered line of the journal. */
export type Entry = { readonly seq: number; readonly atMs: number; readonly wallMs: number } & EntryPlace & EntryBody;

export type EntryType = EntryBody['type'];

const traces: ReadonlySet<EntryType> = new Set(['action-allowed', 'action-settled', 'work-ended', 'permit-renewed']);

/**
 * Whether an entry exists at level `all` only; a crash may lose the last of them. What was observed is a trace, and so
 * are plain allows and settlements; everything else is a record.
 */
export function isTrace(type: EntryType): boolean {
  return traces.has(type) || type.endsWith('-observed');
}

/** What one rule saw before a step of a chain; the value only where content is held. */
export interface RuleRow {
  readonly rule: string;
  readonly fired: boolean;
  readonly limit: string;
  readonly value?: string;
}

/** Entries about runs of chains: progress, rules checked, standing approvals. */
export type RunEntryBody =
  | { readonly type: 'rules-checked'; readonly run: string; readonly step: string; readonly rows: readonly RuleRow[] }
  | {
      readonly type: 'run-started' | 'run-resumed' | 'run-cancelled' | 'run-resolved';
      readonly run: string;
      readonly chain: string;
      /** Who said so, and how a step in doubt was settled. */
      readonly by?: string;
      readonly how?: 'done' | 'redo';
    }
  | {
      readonly type: 'run-ended';
      readonly run: string;
      readonly chain: string;
      readonly status: string;
      readonly code?: string;
    }
  | {
      readonly type: 'step-started';
      readonly run: string;
      readonly step: string;
      readonly attempt: number;
      /** Who approved it, now or before, where a rule asked. */
      readonly approvedBy?: string;
    }
  | { readonly type: 'step-ended'; readonly run: string; readonly step: string; readonly status: string }
  | {
      readonly type: 'standing-given' | 'standing-dropped';
      readonly chain: string;
      readonly rules: readonly string[];
      readonly by: string;
    };
