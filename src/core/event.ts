/** All events: the input of controls, and the entries of the journal. */

import type { Action, Cost, Outcome, Permit, RuleHit } from './action.ts';
import type { AnswerOrigin, Card } from './card.ts';
import type { Gauge } from './control.ts';
import type { WorldEffect } from './controls/loop/effect.ts';
import type { EditMarks } from './controls/loop/past-calls.ts';
import type { ResultMark } from './controls/loop/result-mark.ts';
import type { RunEntryBody } from './controls/rules/run-entry.ts';
import type { TaskSettings } from './settings.ts';
import type { Code, Counters, Decision, Stop, Verdict } from './verdict.ts';

/** Time is in the event: `atMs` is the store's time, and the core reads no other clock. */
interface At {
  readonly atMs: number;
}

/** An agent proposes an action. */
export interface ActionProposed extends At {
  readonly type: 'action-proposed';
  readonly action: Action;
}

/** The controls decided about an action. */
export interface ActionDecided extends At {
  readonly type: 'action-decided';
  readonly action: Action;
  readonly verdict: Verdict;
}

/** An allowed action ended. */
export interface ActionSettled extends At {
  readonly type: 'action-settled';
  readonly permit: Permit;
  readonly outcome: Outcome;
  /** The actual cost if the caller reports it; the reservation is released in any case. */
  readonly cost?: Cost;
  readonly result?: ResultMark;
  /** The highest similarity to a recent call of the same tool; absent = not computed. */
  readonly likeness?: number;
  /** Output rules whose condition holds for the result. */
  readonly resultHits?: readonly RuleHit[];
  /** The call passed its time limit, but its work still runs and keeps its slot until `work-ended`. */
  readonly stillRuns?: boolean;
}

/** The work of a call that was given up has ended: at its time limit, or when its task halted. */
export interface WorkEnded extends At {
  readonly type: 'work-ended';
  readonly permit: Permit;
  /** What the call costs: its usage, or what was reserved if its usage is unknown. */
  readonly cost?: Cost;
}

/** A running call reserves more or less than before, as the answer of a model grows; `permit` is that before. */
export interface ReservationChanged extends At, Pick<Cost, 'micros' | 'tokens'> {
  readonly type: 'reservation-changed';
  readonly permit: Permit;
}

/** The owner of a permit is alive: its lease is renewed. */
export interface PermitRenewed extends At {
  readonly type: 'permit-renewed';
  readonly permit: Permit;
}

/** An assistant text was observed. The event holds its similarity to the previous text, not the text. */
export interface TextObserved extends At {
  readonly type: 'text-observed';
  /** Jaccard similarity to the previous text, or -1 for the first. */
  readonly similarity: number;
  /** How often an alike text came since a call brought something new, with this one; absent = once. */
  readonly times?: number;
  /** Whether the text is nearly the same as a recent one. */
  readonly recurs?: boolean;
  /** Whether the text apologises. */
  readonly isSorry?: boolean;
  /** Whether calls belong to the text; absent if a later event shows it. */
  readonly calls?: boolean;
  /** Whether the prompt before the text is a repeat. */
  readonly asked?: boolean;
}

/** The cost of a model call was observed in a stream. */
export interface UsageObserved extends At {
  readonly type: 'usage-observed';
  readonly cost: Cost;
}

/** A tool call that another gate admitted was observed in a stream. */
export interface CallObserved extends At {
  readonly type: 'call-observed';
  readonly name: string;
  /** Whether the text before the call is empty: the turn has no words (R20). */
  readonly silent?: boolean;
  /** Equal for equal name and arguments; absent = not computed. */
  readonly call?: number;
}

/** The result of a call that another gate admitted was observed in a stream. */
export interface ResultObserved extends At {
  readonly type: 'result-observed';
  readonly name: string;
  readonly call: number;
  readonly result: ResultMark;
  /** The highest similarity to a recent call of the same tool. */
  readonly likeness?: number;
  /** What the call does to the world, as in `Action`. */
  readonly effect?: WorldEffect;
  readonly waits?: true;
  readonly edit?: EditMarks;
  /** The time between the begin of the call and its result, if known: the model was not asked then. */
  readonly tookMs?: number;
}

/** The host reports progress: earlier repetition was no loop. */
export interface ProgressObserved extends At {
  readonly type: 'progress-observed';
}

/** A person wrote a new prompt; a repeated prompt of a harness is a `sign-observed`. */
export interface UserObserved extends At {
  readonly type: 'user-observed';
}

/** Any other sign of life: a heartbeat, a stream chunk, progress. */
export interface SignObserved extends At {
  readonly type: 'sign-observed';
  /** Whether it is the end of an answer of the model. */
  readonly isAnswer?: boolean;
}

/** A person is asked, or the task is paused: clocks stand still until `task-resumed`. */
export interface TaskStopped extends At {
  readonly type: 'task-stopped';
}

/** The clocks of a task run again. */
export interface TaskResumed extends At {
  readonly type: 'task-resumed';
}

/** A person raised a limit that a task had reached. */
export interface LimitRaised extends At {
  readonly type: 'limit-raised';
  /** The setting of the limit: one of a task, or `maxCalls` of a tool. */
  readonly setting: string;
  readonly before: number;
  readonly limit: number;
  readonly tool?: string;
}

/** A delegation returned; `failed` has a reason. */
export interface DelegationReturned extends At {
  readonly type: 'delegation-returned';
  readonly worker: string;
  readonly failed: boolean;
  readonly reason: string;
}

/** The events that controls apply. */
export type ControlEvent =
  | ActionDecided
  | ActionSettled
  | WorkEnded
  | ReservationChanged
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
  | LimitRaised
  | DelegationReturned;

/** The location of an entry; set by the guard, absent if not applicable. */
export interface EntryPlace {
  readonly task?: string;
  readonly session?: string;
  readonly agent?: string;
  /** The key of the call's breaker. */
  readonly breaker?: string;
}

/** The arguments of a proposal; only if the policy's `journal.content` includes them. */
interface Quoting {
  readonly args?: string;
}

/** The bodies of journal entries. Noun-verb, past tense; part of the API, never renamed. */
export type EntryBody =
  | {
      readonly type: 'task-started';
      readonly parent?: string;
      readonly retryOf?: string;
      readonly own?: true; // A child task that the program opened itself: its calls are not delegated work.
      readonly key?: string; // The name of the key of the gateway that pays for it.
      readonly limits: TaskSettings;
    }
  | { readonly type: 'task-ended'; readonly how: 'done' | 'error' | 'halted' | 'lost' }
  | {
      readonly type: 'task-halted';
      readonly stop: Stop;
      readonly message: string;
      /** The task whose halt ended this task, if not its own. */
      readonly cause?: string;
      /** False if the gear only observes: the halt is reported, and the task continues. */
      readonly enforced: boolean;
    }
  | { readonly type: 'task-stopped' | 'task-resumed' }
  | {
      readonly type: 'limit-raised';
      readonly setting: string;
      readonly before: number;
      readonly limit: number;
      readonly tool?: string;
      /** The person who raised it. */
      readonly by: string;
    }
  | { readonly type: 'task-missing'; readonly name: string }
  | ({ readonly type: 'action-allowed'; readonly action: Action; readonly probe: boolean } & Quoting)
  | (Quoting & {
      readonly type: 'action-refused';
      readonly action: Action;
      readonly decision: Decision;
      readonly message: string;
      readonly enforced: boolean;
      /** The earlier verdict, if a wait was impossible or a question unanswered; `depth` if the task was too deep. */
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
  | { readonly type: 'work-ended'; readonly permit: Permit; readonly cost?: Cost }
  | Omit<ReservationChanged, 'atMs'>
  | { readonly type: 'permit-renewed'; readonly permit: Permit }
  | { readonly type: 'breaker-tuned'; readonly name: string; readonly overrides: Readonly<Record<string, unknown>> }
  | {
      readonly type: 'failure-counted';
      readonly name: string;
      readonly error: string;
      /** The HTTP status of the error, if it has one. */
      readonly status?: number;
      /** The message of the error, cut and without secrets; only if `journal.content` keeps texts. */
      readonly message?: string;
      readonly actual: number;
      readonly limit: number;
    }
  | Omit<TextObserved, 'atMs'>
  | { readonly type: 'usage-observed'; readonly model: string; readonly cost: Cost; readonly basis: string }
  | Omit<CallObserved, 'atMs'>
  | Omit<ResultObserved, 'atMs'>
  | { readonly type: 'user-observed' | 'progress-observed' }
  | Omit<SignObserved, 'atMs'>
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
  | {
      /** The host reported no usage of a model call, so its tokens are estimated; once for each model and cause. */
      readonly type: 'usage-estimated';
      readonly model: string;
      /** `hidden`: a whole answer came without usage. `cut`: the answer broke off. */
      readonly cause: 'hidden' | 'cut';
      /** The setting that makes the host report the usage. */
      readonly remedy?: string;
    }
  | { readonly type: 'access-refused'; readonly name: string }
  | {
      readonly type: 'setting-ignored';
      readonly name: string;
      readonly value: string;
      readonly used: string;
      /** The reason, in one sentence. */
      readonly message?: string;
    }
  | { readonly type: 'setting-loosened'; readonly name: string; readonly value: string; readonly before: string }
  | { readonly type: 'policy-reloaded'; readonly changed: readonly string[] }
  | {
      /** The policy of a session is another one than at its beginning. */
      readonly type: 'policy-changed';
      /** Empty if there is no policy file any more. */
      readonly file: string;
      /** Settings that hold with the next session, or once the file is trusted. */
      readonly waiting: readonly string[];
    }
  | {
      readonly type: 'policy-trusted' | 'policy-distrusted';
      readonly file: string;
      readonly digest: string;
      /** The settings of the file that protect less than the defaults. */
      readonly settings: readonly string[];
      readonly by: string;
    }
  | { readonly type: 'store-degraded' | 'store-recovered'; readonly reason: string }
  | {
      readonly type: 'order-given';
      readonly order: 'halt' | 'pause' | 'resume' | 'trip' | 'reset' | 'hold' | 'release';
      /** The task or tool; null = all. */
      readonly target: string | null;
      readonly reason: string;
      readonly by: string;
      /** The process that the order came from. */
      readonly from?: AnswerOrigin;
    }
  | { readonly type: 'internal-error'; readonly where: string; readonly message: string; readonly code: Code };

/** One numbered entry of the journal. */
export type Entry = { readonly seq: number; readonly atMs: number; readonly wallMs: number } & EntryPlace & EntryBody;

/** The type of a journal entry. */
export type EntryType = EntryBody['type'];

const traces = new Set('action-allowed action-settled work-ended reservation-changed permit-renewed'.split(' '));

/**
 * Whether an entry exists at level `all` only; a crash may lose the last of them. Observations, plain allows and
 * settlements are traces; all other entries are records.
 */
export function isTrace(type: EntryType): boolean {
  return traces.has(type) || type.endsWith('-observed');
}
