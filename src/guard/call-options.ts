/** The public types of guarded calls, delegations, retries, watches and calls that the host runs itself. */

import type { ActionKind, Outcome } from '../core/action.ts';
import type { Ending } from '../core/classify.ts';
import type { Refusal, Refused } from '../core/refusal.ts';
import type { BreakerSettings, TaskSettings } from '../core/settings.ts';
import type { Usage } from '../ports/prices.ts';
import type { AnyFunction } from './api.ts';

/** Options of `gear.guard`. */
export interface GuardOptions<F extends AnyFunction = AnyFunction> {
  /** The kind of the action. @default 'tool' */
  readonly kind?: ActionKind;
  /** Breaker settings for this tool, over those of the policy. @default {} */
  readonly breaker?: Partial<BreakerSettings>;
  /**
   * Seconds after which a call fails, 0 = no limit.
   * @default the policy's `timeout_secs`: 30 for tools and steps, that of `[tools]` for models, none for delegations
   */
  readonly timeoutSecs?: number;
  /**
   * Calls at once; more wait in the queue of `maxQueue`, or are refused.
   * @default the policy's `max_concurrent`: any number
   */
  readonly maxConcurrent?: number;
  /**
   * Calls that may wait until one of `maxConcurrent` ends, in this process; more are refused. A function that returns
   * no promise cannot wait: its call is refused.
   * @default the policy's `max_queue`: 0
   */
  readonly maxQueue?: number;
  /** Seconds that a call may wait in the queue. @default the policy's `queue_timeout_secs`: 30 */
  readonly queueTimeoutSecs?: number;
  /**
   * Tries a failed call again: how often, or how. Only for functions that return promises and may run twice; never
   * after a refusal, after a call that a person approved, or for an error that is the caller's fault.
   * @default the policy's `retries`: 0
   */
  readonly retry?: number | GuardRetryOptions;
  /**
   * Called instead of a call that failed: with an error, a timeout, a value that counts as a failure, or because its
   * circuit is open. It gets the error or the refusal. Never called for a rule, a limit, a halt, a declined approval or
   * a cancelled call; the failure counts all the same. Its value becomes a promise if the function returns promises.
   * @default none
   */
  readonly fallback?: (failure: Refusal | Error, ...args: Parameters<F>) => ReturnType<F> | Awaited<ReturnType<F>>;
  /** Ends the waits of a call, in a queue or before a retry: the call then rejects with the reason. @default none */
  readonly signal?: AbortSignal;
  /** Classifies how a call ended; undefined leaves it to the settings. @default none */
  readonly classify?: (ending: Ending) => Outcome['kind'] | undefined;
  /** Upper bounds of the cost of one call, reserved before the call runs. @default {} */
  readonly maxCost?: MaxCost | ((...args: Parameters<F>) => MaxCost);
  /** Reads the usage of one call from its result. @default none */
  readonly usage?: (result: Awaited<ReturnType<F>>) => Usage | undefined;
  /**
   * Whether the function returns promises. Until its first result the gear may not know: then a refusal is a value that
   * can also be awaited, `onRefusal: 'throw'` throws it at once, and the first call cannot wait.
   * @default true for a function that is declared `async` or begins with a promise, else learnt from the first result
   */
  readonly async?: boolean;
}

/** Upper bounds of the cost of one call. */
export interface MaxCost {
  /** US dollars. @default 0 */
  readonly usd?: number;
  /** Input and output tokens together. @default 0 */
  readonly tokens?: number;
}

/** Options of `gear.run`. */
export interface GuardedRunOptions<F extends AnyFunction = AnyFunction> extends GuardOptions<F> {
  /**
   * The arguments of the call, which rules and loop detection read.
   * @default none: the call is compared with no other
   */
  readonly args?: Readonly<Parameters<F>>;
}

/** Options of `gear.delegate`. */
export interface DelegateOptions<T> {
  /** Limits of the worker's task. @default {} */
  readonly limits?: Partial<TaskSettings>;
  /** Reads the result of the worker; undefined leaves it to the built-in detectors. @default none */
  readonly judge?: (result: T) => { readonly failed: boolean; readonly reason?: string } | undefined;
  /** Seconds after which the worker's task is halted; 0 = no limit. @default 0 */
  readonly timeoutSecs?: number;
  /** The request to the worker: the same answer to the same request counts as a failure. @default none */
  readonly request?: unknown;
}

/** How a failed call of a guarded function is tried again. */
export interface GuardRetryOptions {
  /** Attempts after the first, at most 10. @default 3 */
  readonly retries?: number;
  /** Seconds before the first retry; each further wait doubles. @default 1 */
  readonly baseSecs?: number;
  /** The longest wait in seconds; a call whose callee asks for a longer one is not retried. @default 30 */
  readonly maxWaitSecs?: number;
  /** How waits are spread at random: from nothing to the whole wait, from half of it, or not. @default 'full' */
  readonly jitter?: 'full' | 'equal' | 'none';
  /**
   * Returns false for an error that is not worth a retry.
   * @default errors that count as failures are: not one of the caller, as a status of 400 to 499 but 408 and 429
   */
  readonly when?: (error: unknown) => boolean;
}

/** Options of `gear.retry`. */
export interface RetryOptions extends GuardRetryOptions {
  /** Ends the waiting: the promise rejects with the reason. @default none */
  readonly signal?: AbortSignal;
}

/** Anything that emits events like `fs.watch` or chokidar. */
export interface WatchSource {
  /** Adds a listener for an event. */
  on(event: string, listener: AnyFunction): unknown;
  /** Ends the source. */
  close?(): unknown;
}

/** Options of `gear.watch`. */
export interface WatchOptions {
  /** Events passed per window; one more trips. @default 1000 */
  readonly maxEvents?: number;
  /** Length of the window in seconds. @default 10 */
  readonly windowSecs?: number;
  /** The events to listen to. @default ['all', 'change', 'rename'] */
  readonly events?: readonly string[];
  /** Called once when the watch trips, for example to pause the real watcher. @default none */
  readonly onTrip?: (refusal: Refusal) => void;
}

/** A guarded watcher. */
export interface Watch {
  /** Whether the watch tripped and passes no events. */
  readonly paused: boolean;
  /** Passes events again; a tripped watch never restarts by itself. */
  restart(): void;
  /** Stops passing events and closes the source. */
  close(): void;
  [Symbol.dispose](): void;
}

/** Options of `gear.admit`. */
export interface AdmitOptions {
  /** The host's id of the call: a call admitted twice under one id is counted once. @default none */
  readonly id?: string;
  /** The kind of the action. @default 'tool' */
  readonly kind?: ActionKind;
  /** The model turn that the call belongs to. @default none */
  readonly turnId?: string;
  /** The id of the task. @default the task around the code */
  readonly task?: string;
}

/** The decision on a call that the host runs itself: settle it once, or hand on the refusal. */
export type Admission =
  | { readonly refused: undefined; settle(ending: Ending | { readonly cancelled: true }): void }
  | { readonly refused: Refused; readonly refusal: Refusal };
