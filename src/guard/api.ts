/** What a user of the library holds in hand: the gear, its tasks and breakers. Types only. */

import type { ActionKind, Outcome } from '../core/action.ts';
import type { Card } from '../core/card.ts';
import type { Ending } from '../core/classify.ts';
import type { Gauge } from '../core/control.ts';
import type { Entry } from '../core/event.ts';
import type { Refusal, Refused } from '../core/refusal.ts';
import type { BreakerSettings, Settings, TaskSettings } from '../core/settings.ts';
import type { Approver } from '../ports/approver.ts';
import type { Clock } from '../ports/clock.ts';
import type { JournalListener } from '../ports/journal.ts';
import type { Prices, Usage } from '../ports/prices.ts';
import type { Store } from '../ports/store.ts';

// biome-ignore lint/suspicious/noExplicitAny: a guarded function may have any parameters.
export type AnyFunction = (...args: any[]) => unknown;

/** The function with its refusals: sync stays sync, a promise stays a promise. */
export type Guarded<F extends AnyFunction> =
  ReturnType<F> extends PromiseLike<infer R>
    ? (...args: Parameters<F>) => Promise<R | Refused>
    : (...args: Parameters<F>) => ReturnType<F> | Refused;

export interface SwitchgearOptions {
  readonly agent?: string;
  readonly session?: string;
  /** A policy as written in a file, or a part of one: strict, an unknown or impossible setting is an error. */
  readonly policy?: PolicyInput;
  readonly store?: Store;
  readonly clock?: Clock;
  readonly prices?: Prices;
  readonly approver?: Approver;
  /** `observe` counts and reports, and refuses nothing. */
  readonly mode?: 'enforce' | 'observe';
  readonly onRefusal?: 'return' | 'throw';
  /** `trips` (default) prints trips and halts to stderr, `info` failures too, `silent` nothing. */
  readonly log?: 'silent' | 'trips' | 'info' | ((line: string) => void);
  /** Which calls share breakers across processes; the working directory unless said. */
  readonly project?: string;
  /** Environment to read overrides from; `process.env` unless said. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** A policy document: nested plain data, snake or camel case, checked when it is taken. */
export type PolicyInput = Readonly<Record<string, unknown>>;

export interface GuardOptions<F extends AnyFunction = AnyFunction> {
  readonly kind?: ActionKind;
  /** Overrides of the breaker's settings for this tool. */
  readonly breaker?: Partial<BreakerSettings>;
  /** Seconds; the policy's unless said. 0 = none. */
  readonly timeoutSecs?: number;
  /** Called instead of a refusal while the circuit is open. */
  readonly fallback?: (refusal: Refusal, ...args: Parameters<F>) => ReturnType<F>;
  /** Says what an ending means; undefined leaves it to the settings. */
  readonly classify?: (ending: Ending) => Outcome['kind'] | undefined;
  /** Upper bounds of what one call may cost. */
  readonly maxCost?:
    | { readonly cents?: number; readonly tokens?: number }
    | ((...args: Parameters<F>) => { readonly cents?: number; readonly tokens?: number });
  /** What one call cost, read from its result. */
  readonly usage?: (result: Awaited<ReturnType<F>>) => Usage | undefined;
  /** Says that the function returns a promise, where it is not declared `async`. */
  readonly async?: boolean;
}

export interface TaskOptions {
  readonly id?: string;
  readonly agent?: string;
  readonly session?: string;
  /** The parent, by id; the task around the call unless said. `null` starts a root. */
  readonly parent?: string | null;
  readonly limits?: Partial<TaskSettings>;
  /** Ends the task's calls from outside. */
  readonly signal?: AbortSignal;
}

/** What a task can be told. */
export type Observation =
  | { readonly type: 'assistant'; readonly text: string; readonly toolUse?: boolean }
  /** With its input, and its result told under the same id, loops of calls are found, too. */
  | { readonly type: 'tool_use'; readonly id?: string; readonly name: string; readonly input?: unknown }
  | { readonly type: 'tool_result'; readonly id: string; readonly ok?: boolean; readonly output?: unknown }
  /** The work got on: what was repeated until now was no loop. */
  | { readonly type: 'progress' }
  | ({ readonly type: 'usage'; readonly id?: string; readonly costUsd?: number } & Usage)
  | { readonly type: 'user'; readonly text: string }
  | { readonly type: 'heartbeat' };

export interface TaskResultDone<T> {
  readonly status: 'done';
  readonly value: T;
}
export interface TaskResultHalted<T> {
  readonly status: 'halted';
  readonly halt: Refusal;
  readonly value?: T;
}
export type TaskResult<T> = TaskResultDone<T> | TaskResultHalted<T>;

export interface Task {
  readonly id: string;
  readonly agent: string;
  readonly session: string;
  readonly parent: string | undefined;
  /** Aborts when the task halts. */
  readonly signal: AbortSignal;
  /** The refusal that ended it, once it is halted. */
  readonly halt: Refusal | undefined;
  /** Tells the task what happened. A halt comes back once it has one; it never throws. */
  observe(observation: Observation): Refusal | undefined;
  /** What the model should be told before anything is refused; once, where no result could carry it. */
  hint(): string | undefined;
  /** Runs a function inside this task. */
  run<T>(fn: () => T): T;
  /** Stands still: neither idle nor duration go on. */
  pause(): void;
  resume(): void;
  end(how?: 'done' | 'error'): void;
  snapshot(): TaskSnapshot;
  [Symbol.dispose](): void;
}

/** The call a guarded function runs in. */
export interface Call {
  readonly name: string;
  /** Aborts when the call's time is up, or its task halts. */
  readonly signal: AbortSignal;
  /** Says that the call is alive and getting on: its lease and its task's idle time start again. */
  progress(): void;
}

export interface BreakerHandle {
  readonly name: string;
  readonly state: 'CLOSED' | 'OPEN' | 'HALF_OPEN';
  readonly stats: BreakerStats;
  reset(): void;
  /** Opens it, until a time if given. */
  trip(untilMs?: number): void;
  /** Refuses everything until released, whatever the automatic state; that state lives on below. */
  hold(reason?: string): void;
  release(): void;
}

export interface BreakerStats {
  readonly consecutiveFailures: number;
  readonly halfOpenSuccesses: number;
  readonly totalFailures: number;
  readonly totalSuccesses: number;
  readonly totalNeutrals: number;
  readonly totalRequests: number;
  readonly rejectedRequests: number;
  readonly lateResults: number;
  readonly inFlight: number;
}

export interface TaskSnapshot {
  readonly id: string;
  readonly agent: string;
  readonly session: string;
  readonly parent?: string;
  readonly toolCalls: number;
  readonly spendCents: number;
  readonly tokens: number;
  readonly durationMs: number;
  readonly idleMs: number;
  readonly gauges: readonly Gauge[];
  readonly halt?: Refusal;
}

export interface BreakerSnapshot extends BreakerStats {
  readonly key: string;
  readonly name: string;
  readonly agent: string;
  readonly state: 'CLOSED' | 'OPEN' | 'HALF_OPEN';
  readonly held: boolean;
  readonly openUntilMs?: number;
  readonly healthCheck: 'none' | 'on' | 'off';
}

/** Everything as it is now. */
export interface Snapshot {
  readonly atMs: number;
  readonly mode: 'enforce' | 'observe';
  readonly tasks: readonly TaskSnapshot[];
  readonly breakers: readonly BreakerSnapshot[];
  readonly delegations: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly cards: readonly Card[];
  readonly internalErrors: number;
}

export interface DelegateOptions<T> {
  readonly limits?: Partial<TaskSettings>;
  /** Reads the worker's result; undefined leaves it to the detectors. */
  readonly judge?: (result: T) => { readonly failed: boolean; readonly reason?: string } | undefined;
  readonly timeoutSecs?: number;
  /** What the worker is asked: the same words back for the same request mean that it goes in circles. */
  readonly request?: unknown;
}

export interface RetryOptions {
  /** Attempts after the first; 3 unless said. */
  readonly retries?: number;
  /** The first wait; it doubles: 1, 2, 4 s. */
  readonly baseSecs?: number;
  readonly signal?: AbortSignal;
  /** Whether an error is worth another try; every error unless said. */
  readonly when?: (error: unknown) => boolean;
}

/** Anything that emits events in the manner of `fs.watch` or chokidar. */
export interface EventSource {
  on(event: string, listener: AnyFunction): unknown;
  close?(): unknown;
}

export interface WatchOptions {
  /** Events let through per window; one more trips. */
  readonly maxEvents?: number;
  readonly windowSecs?: number;
  /** The events to listen to. */
  readonly events?: readonly string[];
  /** Called once when the storm trips; the watcher may be paused for real here. */
  readonly onTrip?: (refusal: Refusal) => void;
}

export interface Watch {
  readonly paused: boolean;
  /** Starts again, by hand: a storm never ends by itself. */
  restart(): void;
  close(): void;
  [Symbol.dispose](): void;
}

export interface AdmitOptions {
  /** The host's own id of the call: entered again under it, the call counts once. */
  readonly id?: string;
  readonly kind?: ActionKind;
  /** The model turn it came in. */
  readonly turnId?: string;
  /** The task it belongs to, by id; the one around the code unless said. */
  readonly task?: string;
}

/** A guarded call in two steps, for hosts that run it themselves. */
export type Admission =
  | { readonly refused: undefined; settle(ending: Ending | { readonly cancelled: true }): void }
  | { readonly refused: Refused; readonly refusal: Refusal };

export interface Switchgear {
  readonly agent: string;
  readonly session: string;
  /** The policy in force. */
  readonly settings: Settings;
  guard<F extends AnyFunction>(name: string, fn: F, options?: GuardOptions<F>): Guarded<F>;
  guardAll<T extends Record<string, AnyFunction>>(tools: T, options?: GuardOptions): { [K in keyof T]: Guarded<T[K]> };
  task<T>(options: TaskOptions, run: (task: Task) => T | Promise<T>): Promise<TaskResult<T>>;
  /** A task without a function around it: end it, or hold it with `using`. */
  startTask(options?: TaskOptions): Task;
  /** The task around this code. */
  currentTask(): Task | undefined;
  /** The guarded call around this code. */
  currentCall(): Call | undefined;
  delegate<T>(worker: string, run: (task: Task) => T | Promise<T>, options?: DelegateOptions<T>): Promise<T | Refused>;
  breaker(name: string): BreakerHandle;
  snapshot(): Snapshot;
  /** Every entry, after the fact. */
  on(listener: JournalListener): () => void;
  /** The journal from a number on. */
  journal(fromSeq?: number): readonly Entry[];
  /** Halts a task, or every task, by hand. */
  halt(task: string | undefined, reason: string): void;
  resetAll(): void;
  dispose(): void;
  [Symbol.dispose](): void;
}
