/** The public types of the gear, its tasks and its breakers. */

import type { Card } from '../core/card.ts';
import type { Control, Gauge } from '../core/control.ts';
import type { BreakerMetrics } from '../core/controls/breaker/metrics.ts';
import type { BreakerStats } from '../core/controls/breaker/stats.ts';
import type { Entry, EntryType } from '../core/event.ts';
import type { Refusal, Refused } from '../core/refusal.ts';
import type { Settings, TaskSettings } from '../core/settings.ts';
import type { CheckedPolicy } from '../policy/check/check-policy.ts';
import type { PolicyDocument } from '../policy/table/policy-document.ts';
import type { Approver } from '../ports/approver.ts';
import type { Clock } from '../ports/clock.ts';
import type { JournalListener } from '../ports/journal.ts';
import type { Prices, Usage } from '../ports/prices.ts';
import type { Store } from '../ports/store.ts';
import type {
  Admission,
  AdmitOptions,
  DelegateOptions,
  GuardedRunOptions,
  GuardOptions,
  RetryOptions,
  Watch,
  WatchOptions,
  WatchSource,
} from './call-options.ts';
import type { Cards } from './cards-api.ts';
import type { FormedFunction, Guarded, GuardedResult } from './guarded.ts';

/** A function that can be guarded. */
// biome-ignore lint/suspicious/noExplicitAny: a guarded function may have any parameters.
export type AnyFunction = (...args: any[]) => unknown;

/** Options of `createSwitchgear`. */
export interface SwitchgearOptions {
  /** The name of the agent in refusals, entries and breaker keys. @default 'agent' */
  readonly agent?: string;
  /** The id of the session. @default a new id */
  readonly session?: string;
  /**
   * A policy document, or the result of `loadPolicy` or `checkPolicy`. Unknown and impossible settings throw.
   * @default {}
   */
  readonly policy?: PolicyInput;
  /** Where state and the journal are kept. @default memoryStore(clock) */
  readonly store?: Store;
  /** The clock of every decision. @default the store's clock, or the system clock */
  readonly clock?: Clock;
  /** The prices of model usage. @default the built-in list */
  readonly prices?: Prices;
  /** Answers the questions of `confirm` rules; without an approver such a call is refused. @default none */
  readonly approver?: Approver;
  /** `observe` counts and reports, and refuses nothing. @default the policy's */
  readonly mode?: 'enforce' | 'observe';
  /** Whether a refused call returns a `Refused` value or throws a `RefusedError`. @default 'return' */
  readonly onRefusal?: 'return' | 'throw';
  /**
   * `trips` prints trips and halts to stderr, `info` also failures, `debug` also what is guarded, `silent` nothing; a
   * function receives the lines of `info`.
   * @default 'trips' ('silent' in test runners)
   */
  readonly log?: 'silent' | 'trips' | 'info' | 'debug' | ((line: string) => void);
  /** Processes of one project share breakers. @default process.cwd() */
  readonly project?: string;
  /** The environment that overrides settings. @default process.env */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** A policy document, or a policy that `loadPolicy` or `checkPolicy` returned. */
export type PolicyInput = (PolicyDocument & { readonly settings?: never; readonly provenance?: never }) | CheckedPolicy;

/** Limits of one task; `maxToolCalls: 'none'` switches that limit off, those of delegated work and money still hold. */
export type TaskLimits = Partial<Omit<TaskSettings, 'maxToolCalls'>> & { readonly maxToolCalls?: number | 'none' };

/** Options of `gear.task` and `gear.startTask`. */
export interface TaskOptions {
  /** The id of the task. @default a new id */
  readonly id?: string;
  /** The name of the agent. @default the parent's, or the gear's */
  readonly agent?: string;
  /** The id of the session. @default the parent's, else the gear's if it was given one, else a new id */
  readonly session?: string;
  /** The id of the parent, or `null` for none. @default the task around the code */
  readonly parent?: string | null;
  /** Limits of this task, over those of the policy. @default {} */
  readonly limits?: TaskLimits;
  /** Halts the task from outside. @default none */
  readonly signal?: AbortSignal;
}

/** An event that a task is told about by `task.observe`. */
export type Observation =
  | { readonly type: 'assistant'; readonly text: string; readonly toolUse?: boolean }
  /** A call that something else let through; loops are found if its input and result are observed, too. */
  | { readonly type: 'tool_use'; readonly id?: string; readonly name: string; readonly input?: unknown }
  | {
      readonly type: 'tool_result';
      readonly id: string;
      readonly ok?: boolean;
      readonly output?: unknown;
      /** The time that the call took. @default the time since its `tool_use` */
      readonly tookMs?: number;
    }
  /** The work advanced: earlier repetitions no longer count as a loop. */
  | { readonly type: 'progress' }
  | ({ readonly type: 'usage'; readonly id?: string; readonly costUsd?: number; readonly estimated?: true } & Usage)
  | { readonly type: 'user'; readonly text: string }
  | { readonly type: 'heartbeat' };

/** A task that ended by itself. */
export interface TaskResultDone<T> {
  readonly status: 'done';
  readonly value: T;
}
/** A task that a control or a person halted; with the value if the function returned one all the same. */
export interface TaskResultHalted<T> {
  readonly status: 'halted';
  readonly halt: Refusal;
  readonly value?: T;
  /** The error that the function threw after the halt, if any. */
  readonly error?: unknown;
}
/** How a task ended. */
export type TaskResult<T> = TaskResultDone<T> | TaskResultHalted<T>;

/** One agent's piece of work, with its own counters. */
export interface Task {
  readonly id: string;
  readonly agent: string;
  readonly session: string;
  /** The id of the parent task. */
  readonly parent: string | undefined;
  /** Aborts when the task halts. */
  readonly signal: AbortSignal;
  /** The refusal that halted the task. */
  readonly halt: Refusal | undefined;
  /** Tells the task about an event; returns the halt once the task has halted, and never throws. */
  observe(observation: Observation): Refusal | undefined;
  /** Returns, once, a hint for the model about a suspected loop that no tool result could carry. */
  hint(): string | undefined;
  /** Runs a function inside this task. */
  run<T>(fn: () => T): T;
  /** Stops the idle time and the duration of the task. */
  pause(): void;
  /** Continues after `pause`. */
  resume(): void;
  /** Ends the task. */
  end(how?: 'done' | 'error'): void;
  /** The counters of the task now. */
  snapshot(): TaskSnapshot;
  [Symbol.dispose](): void;
}

/** The guarded call that a function runs in. */
export interface Call {
  /** The name of the tool. */
  readonly name: string;
  /** Aborts when the call times out or its task halts. */
  readonly signal: AbortSignal;
  /** Renews the lease of the call and restarts the idle time of its task. */
  progress(): void;
}

/** All breakers of one name. */
export interface BreakerHandle {
  readonly name: string;
  /** The worst state of the breakers: OPEN, then HALF_OPEN, then CLOSED. */
  readonly state: 'CLOSED' | 'OPEN' | 'HALF_OPEN';
  /** The counts of the breakers, summed. */
  readonly stats: BreakerStats;
  /** Closes the breakers and clears their counts. */
  reset(): void;
  /**
   * Opens the breakers for the recovery timeout, or until a time of the gear's clock if given:
   * `gear.snapshot().atMs + 5_000`.
   */
  trip(untilMs?: number): void;
  /** Refuses every call until `release`; the automatic state continues underneath. */
  hold(reason?: string): void;
  /** Ends `hold`. */
  release(): void;
  /** Trips, failure rate and time in the open state, with the alerts of the policy. */
  metrics(): BreakerMetrics;
  /** Sets a check that runs while the breaker is open; a check that returns true half-opens the breaker. */
  checkHealth(check: () => boolean | Promise<boolean>): void;
}

/** The counters of a task at one time. */
export interface TaskSnapshot {
  readonly id: string;
  readonly agent: string;
  readonly session: string;
  readonly parent?: string;
  readonly toolCalls: number;
  /** The spend of the task and its children, in US dollars. */
  readonly spendUsd: number;
  /** The part of the spend on models of unknown price, counted as the dearest model of their family. */
  readonly guessedUsd?: number;
  /** The part of the spend whose tokens the host did not report; they are counted from characters. */
  readonly estimatedUsd?: number;
  readonly tokens: number;
  readonly durationMs: number;
  readonly idleMs: number;
  readonly gauges: readonly Gauge[];
  readonly halt?: Refusal;
}

/** A breaker at one time. */
export interface BreakerSnapshot extends BreakerStats {
  readonly key: string;
  readonly name: string;
  readonly agent: string;
  readonly state: 'CLOSED' | 'OPEN' | 'HALF_OPEN';
  readonly held: boolean;
  readonly openUntilMs?: number;
  readonly healthCheck: 'none' | 'on' | 'off';
}

/** Everything that a gear holds, at one time. */
export interface Snapshot {
  readonly atMs: number;
  readonly mode: 'enforce' | 'observe';
  readonly tasks: readonly TaskSnapshot[];
  readonly breakers: readonly BreakerSnapshot[];
  /** Failed delegations, by session and worker. */
  readonly delegations: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly cards: readonly Card[];
  /** Errors of listeners and of the gear that were swallowed. */
  readonly internalErrors: number;
}

/** An entry of one type. */
export type EntryOf<T extends EntryType> = Extract<Entry, { readonly type: T }>;

/**
 * The safety layer around one agent. `R` is the type of a refused result: `Refused`, or `never` with
 * `onRefusal: 'throw'`.
 */
export interface Switchgear<R = Refused> {
  /** The name of the agent. */
  readonly agent: string;
  /** The id of the session. */
  readonly session: string;
  /** The settings in force. */
  readonly settings: Settings;
  /** The inbox: questions and halts that wait for a person. */
  readonly cards: Cards;
  /**
   * Returns the function with every control in front of it. A refused call does not run and returns a `Refused`.
   * @example
   * const search = gear.guard('search', (query: string) => fetch(`https://example.com/?q=${query}`));
   * const response = await search('circuit breakers');
   * if (isRefused(response)) console.log(response.error, response.remediation);
   * else console.log(response.status);
   */
  guard<F extends AnyFunction>(name: string, fn: F & FormedFunction<F>): Guarded<F, R>;
  guard<A extends unknown[], V>(name: string, fn: (...args: A) => PromiseLike<V>): (...args: A) => Promise<V | R>;
  guard<A extends unknown[], T>(name: string, fn: (...args: A) => T): (...args: A) => T | R;
  guard<F extends AnyFunction>(name: string, fn: F, options?: GuardOptions<F>): Guarded<F, R>;
  /**
   * Guards every function of an object under its key.
   * @example
   * const { add, fetchPage } = gear.guardAll({
   *   add: (a: number, b: number) => a + b,
   *   fetchPage: async (url: string) => (await fetch(url)).text(),
   * });
   * const page = await fetchPage('https://example.com');
   */
  guardAll<T extends Record<string, AnyFunction>>(
    tools: T,
    options?: GuardOptions,
  ): { [K in keyof T]: Guarded<T[K], R> };
  /**
   * Calls a function once, guarded. Without `args`, loop detection cannot compare the call with others.
   * @example
   * const getPage = async (url: string) => (await fetch(url)).text();
   * const page = await gear.run('get_page', getPage, { args: ['https://example.com'], timeoutSecs: 10 });
   */
  run<F extends AnyFunction>(name: string, fn: F, options?: GuardedRunOptions<F>): GuardedResult<ReturnType<F>, R>;
  /**
   * Runs a function as a task with its own limits; guarded calls inside count towards the task.
   * @example
   * const result = await gear.task({ limits: { maxToolCalls: 20 } }, async (task) => {
   *   const response = await fetch('https://example.com', { signal: task.signal });
   *   return response.text();
   * });
   * if (result.status === 'halted') console.log(result.halt.message);
   */
  task<T>(run: (task: Task) => T | Promise<T>): Promise<TaskResult<T>>;
  task<T>(options: TaskOptions, run: (task: Task) => T | Promise<T>): Promise<TaskResult<T>>;
  /** Starts a task without a function around it: call `end`, or declare it with `using`. */
  startTask(options?: TaskOptions): Task;
  /** The task around this code. */
  currentTask(): Task | undefined;
  /** The guarded call around this code. */
  currentCall(): Call | undefined;
  /**
   * Runs a worker as a child task and counts its failures.
   * @example
   * const report = await gear.delegate('researcher', async (task) => {
   *   const response = await fetch('https://example.com/researcher', { signal: task.signal });
   *   return response.text();
   * });
   * if (isRefused(report)) console.log(report.remediation);
   */
  delegate<T>(worker: string, run: (task: Task) => T | Promise<T>, options?: DelegateOptions<T>): Promise<T | R>;
  /**
   * Decides on a call that the host runs itself. The host calls `settle` once when the call has ended.
   * @example
   * const url = 'https://example.com';
   * const admission = gear.admit('fetch', [url]);
   * if (admission.refused) console.log(admission.refusal.message);
   * else admission.settle(await fetch(url).then((value) => ({ value }), (error) => ({ error })));
   */
  admit(name: string, args: readonly unknown[], options?: AdmitOptions): Admission;
  /**
   * Calls a function again after an error, with doubling waits; a refusal is returned at once.
   * @example
   * const fetchPage = gear.guard('fetch_page', async (url: string) => (await fetch(url)).text());
   * const page = await gear.retry(() => fetchPage('https://example.com'), { retries: 2 });
   */
  retry<T>(fn: () => T | Promise<T>, options?: RetryOptions): Promise<T>;
  /**
   * Passes events of a source to a listener until there are too many in a window.
   * @example
   * import { watch } from 'node:fs';
   *
   * const listener = (event: string, file: unknown) => console.log(event, file);
   * gear.watch('sources', watch('src'), listener, { onTrip: (refusal) => console.log(refusal.message) });
   */
  watch(
    name: string,
    source: WatchSource,
    listener: (event: string, ...args: unknown[]) => void,
    options?: WatchOptions,
  ): Watch;
  /** All breakers of a name as one. */
  breaker(name: string): BreakerHandle;
  /**
   * Adds a control beside the built-in ones, for calls and tasks that start from now on.
   * @example
   * gear.addControl({
   *   name: 'no-deploys',
   *   scope: 'task',
   *   initial: () => null,
   *   judge: (_, { action }) => {
   *     if (action.name !== 'deploy') return allow;
   *     return { kind: 'deny', code: 'rule_declined', control: 'no-deploys', counters: {} };
   *   },
   *   apply: (state) => state,
   * });
   */
  addControl<S>(control: Control<S>): void;
  /** Adds rules written by a model, which may only tighten the policy; returns the ids of the accepted rules. */
  addModelRules(lines: readonly string[], chain?: string): readonly string[];
  /**
   * Replaces the policy; counters stay.
   * @example
   * import { loadPolicy } from 'switchgear/policy';
   *
   * gear.reload(loadPolicy('switchgear.toml'));
   */
  reload(policy: PolicyInput): void;
  /** Options that start a halted task again with the tripped limit doubled; undefined if that is not possible. */
  retryOptions(taskId: string): TaskOptions | undefined;
  /** Tasks, breakers, failed delegations and cards as they are now. */
  snapshot(): Snapshot;
  /**
   * Adds a listener for entries of one type; returns a function that removes it.
   * @example
   * const stop = gear.on('breaker-opened', ({ name, cause }) => console.log(`${name} opened: ${cause}`));
   * stop();
   */
  on<T extends EntryType>(type: T, listener: (entry: EntryOf<T>) => void): () => void;
  /** Adds a listener for every entry, called after the entry was written; returns a function that removes it. */
  onEntry(listener: JournalListener): () => void;
  /** The journal from a sequence number on. */
  journal(fromSeq?: number): readonly Entry[];
  /** Halts one task by its id. */
  halt(taskId: string, reason: string): void;
  /** Halts every task. */
  haltAll(reason: string): void;
  /** Resets every breaker. */
  resetAll(): void;
  /** Ends all tasks and timers, and closes the store. */
  dispose(): void;
  [Symbol.dispose](): void;
}

/** The gear of `onRefusal: 'throw'`: guarded functions keep their own type, and a refusal throws a `RefusedError`. */
export type ThrowingSwitchgear = {
  guard<F extends AnyFunction>(name: string, fn: F, options?: GuardOptions<F>): F;
  guardAll<T extends Record<string, AnyFunction>>(tools: T, options?: GuardOptions): T;
  run<F extends AnyFunction>(name: string, fn: F, options?: GuardedRunOptions<F>): ReturnType<F>;
} & Switchgear<never>;
