/** Runs a guarded function: judges the call in rounds, runs it outside any lock, and settles it exactly once. */

import type { Permit } from '../../core/action.ts';
import type { Ending } from '../../core/classify.ts';
import { isRefused, type Refusal } from '../../core/refusal.ts';
import { readThen } from '../../core/thenable.ts';
import type { Stop } from '../../core/verdict.ts';
import type { AnyFunction } from '../api.ts';
import type { GuardOptions } from '../call-options.ts';
import { applyInside, frameOf } from '../runtime/async-context.ts';
import { isObserving, type Runtime } from '../runtime/runtime.ts';
import { type AdmitResult, admitAction, explainStop, isStop, needsAnotherRound, refuseForGood } from './admission.ts';
import { settleEnding } from './call.ts';
import { type CallSite, callSiteFor, type Target } from './call-site.ts';
import { isAsyncFunction, returnsPromise } from './function-kind.ts';
import { LiveCall } from './live-call.ts';
import { makeAction, reportMissingTask } from './proposal.ts';
import { CallAttempt, findFailure, finishAttempts, isAnswerable, type LastAttempt } from './recovery.ts';
import { deliverRefusal, makeAwaitable, refuseOnError } from './refusal-delivery.ts';
import { type JudgedCall, laterRounds, type RoundsResult } from './rounds.ts';
import { overflowMessage, overflowSentence, settleOwed, stackRoom } from './stack-room.ts';
import { followStream, isStream, streamingCall } from './stream.ts';

/** Returns the guarded function. */
export function guardFunction<F extends AnyFunction>(
  runtime: Runtime,
  target: Target,
  fn: F,
  options: GuardOptions<F>,
): AnyFunction {
  const calls = new GuardedCalls(runtime, target, fn, options as GuardOptions);
  return function guarded(this: unknown, ...args: unknown[]): unknown {
    return calls.begin(this, args, undefined);
  };
}

/** The calls of one guarded function. */
class GuardedCalls {
  private readonly runtime: Runtime;
  private readonly target: Target;
  private readonly fn: AnyFunction;
  private readonly options: GuardOptions;
  private readonly fallback: GuardOptions['fallback'];
  private site: CallSite | undefined = undefined;
  /** Whether the function returns promises; undefined until a call returned. */
  private isAsync: boolean | undefined;

  constructor(runtime: Runtime, target: Target, fn: AnyFunction, options: GuardOptions) {
    this.runtime = runtime;
    this.target = target;
    this.fn = fn;
    this.options = options;
    this.fallback = options.fallback;
    this.isAsync = options.async ?? (isAsyncFunction(fn) || undefined);
  }

  /** Whether a caller surely awaits the result. */
  private get isAwaited(): boolean {
    return this.isAsync ?? returnsPromise(this.fn);
  }

  /** Makes one attempt; without one, all attempts of a call that has a fallback or is tried again. */
  begin(self: unknown, args: readonly unknown[], attempt: CallAttempt | undefined): unknown {
    const { runtime, target, options } = this;
    // A call that is cancelled before it begins does not run, and nothing answers for it.
    if (options.signal?.aborted) {
      if (this.isAwaited) return Promise.reject(options.signal.reason);
      throw options.signal.reason;
    }
    let site: CallSite | undefined;
    let admission: AdmitResult | undefined;
    const atMs = runtime.clock.nowMs();
    try {
      const task = frameOf(runtime)?.task;
      site = this.site;
      if (site === undefined || site.task !== task || site.epoch !== runtime.epoch)
        site = this.site = callSiteFor(runtime, target, task);
      if (attempt !== undefined || (this.fallback === undefined && site.retry === undefined)) {
        if (task === undefined) reportMissingTask(runtime, target.name, atMs);
        const action = makeAction(runtime, site, args, options);
        admission = admitAction(runtime, site, action, atMs);
        // A synchronous call cannot wait.
        if (isStop(admission) && needsAnotherRound(admission) && !(this.isAwaited && !runtime.isDisposed)) {
          admission = refuseForGood(runtime, site, action, admission);
        }
      }
    } catch (error) {
      try {
        if (error instanceof RangeError) stackRoom.isTight = true;
      } catch {
        // A hostile value.
      }
      return this.deliver(refuseOnError(runtime, 'admit', target.name, error), site, attempt);
    }
    if (admission === undefined) return this.recover(self, site, args);
    if (!isStop(admission)) return this.execute(self, site, admission, args, attempt);
    return needsAnotherRound(admission)
      ? this.judgeAgain(self, site, admission, args, attempt)
      : this.deliver(explainStop(admission, site, atMs), site, attempt);
  }

  /** Makes all attempts of a call. A call that cannot wait is not tried again. */
  private recover(self: unknown, site: CallSite, args: readonly unknown[]): unknown {
    const attempt = new CallAttempt();
    let result: unknown;
    try {
      result = this.begin(self, args, attempt);
    } catch (error) {
      if (!this.isAwaited) return this.conclude({ attempt, ending: { error } }, args);
      result = Promise.reject(error);
    }
    if (result instanceof Promise) return this.recoverLater(self, site, args, attempt, result);
    const conclude = () => this.conclude({ attempt, ending: { value: result } }, args);
    return attempt.refusal !== undefined && this.isAwaited ? new Promise((resolve) => resolve(conclude())) : conclude();
  }

  private async recoverLater(
    self: unknown,
    site: CallSite,
    args: readonly unknown[],
    first: CallAttempt,
    result: Promise<unknown>,
  ): Promise<unknown> {
    const { retry, signal } = this.options;
    const when = typeof retry === 'object' ? retry.when : undefined;
    const begin = (attempt: CallAttempt) => this.begin(self, args, attempt);
    const call = { site, plan: site.retry, signal, begin, ...(when && { when }) };
    return this.conclude(await finishAttempts(this.runtime, call, first, result), args);
  }

  /** Returns or throws how the last attempt ended, or what the fallback returns for its failure. */
  private conclude(last: LastAttempt, args: readonly unknown[]): unknown {
    const { fallback } = this;
    const failure = fallback && findFailure(last, this.options.signal);
    if (failure !== undefined) return fallback!(failure, ...(last.attempt.args ?? args));
    if ('error' in last.ending) throw last.ending.error;
    return last.ending.value;
  }

  private async judgeAgain(
    self: unknown,
    site: CallSite,
    first: Stop,
    args: readonly unknown[],
    attempt: CallAttempt | undefined,
  ): Promise<unknown> {
    const { runtime, options, target } = this;
    const { signal } = options;
    const judged: JudgedCall<Promise<unknown>> & { args: readonly unknown[] } = {
      site,
      args,
      signal,
      act: () => makeAction(runtime, site, judged.args, options),
      // The executor runs at once; an error of the function belongs to the call and not to its admission.
      begin: (permit) => new Promise((resolve) => resolve(this.execute(self, site, permit, judged.args, attempt))),
      edit(edited) {
        judged.args = edited;
        if (attempt !== undefined) attempt.args = edited;
      },
    };
    let result: RoundsResult<Promise<unknown>>;
    try {
      result = await laterRounds(runtime, judged, first);
    } catch (error) {
      if (signal?.aborted) throw error;
      return this.deliver(refuseOnError(runtime, 'admit', target.name, error), site, attempt);
    }
    if ('begun' in result) return result.begun;
    return this.deliver(explainStop(result.stop, site, runtime.clock.nowMs()), site, attempt);
  }

  private deliver(refusal: Refusal, site: CallSite | undefined, attempt: CallAttempt | undefined): unknown {
    if (attempt !== undefined) {
      attempt.refusal = refusal;
      if (this.fallback !== undefined && isAnswerable(refusal)) return undefined; // The fallback answers.
    }
    if (this.isAwaited) {
      return new Promise((resolve) => resolve(deliverRefusal(this.runtime, refusal, site)));
    }
    const value = deliverRefusal(this.runtime, refusal, site);
    // Until a call returned, the caller may expect a value or a promise.
    return this.isAsync === undefined ? makeAwaitable(value) : value;
  }

  private execute(
    self: unknown,
    site: CallSite,
    permit: Permit,
    args: readonly unknown[],
    attempt: CallAttempt | undefined,
  ): unknown {
    const { runtime, options } = this;
    let call: LiveCall | undefined;
    let result: unknown;
    let isDone = false;
    try {
      call = new LiveCall(runtime, site, permit);
      if (attempt !== undefined) attempt.call = call;
      result = applyInside(call, this.fn, self, args);
      isDone = true;
      return this.settle(call, result);
    } catch (error) {
      let isOverflow = false;
      try {
        isOverflow =
          error instanceof RangeError && (error.message === overflowMessage || error.message === overflowSentence);
      } catch {
        // A hostile value.
      }
      if (isOverflow) {
        stackRoom.isTight = true;
        if (call?.settled !== true) {
          const run = () => {
            const owed = call ?? new LiveCall(runtime, site, permit);
            if (!owed.settled) settle(owed, isDone ? { value: result } : { error }, options, true);
          };
          stackRoom.owed = { run, next: stackRoom.owed };
          try {
            queueMicrotask(settleOwed);
          } catch {
            // The next call settles it.
          }
        }
      } else if (!isDone) settle(call!, { error }, options, true);
      throw error;
    }
  }

  /** Settles a call whose function has returned, now or when its promise ends. */
  private settle(call: LiveCall, result: unknown): unknown {
    const { runtime, options } = this;
    const { site } = call;
    const then = readThen(result);
    if (then === false) {
      this.isAsync ??= false;
      return settleResult(call, result, options, true);
    }
    if (then !== true) {
      settle(call, then, options, true); // Awaiting the result would throw this error.
      return result;
    }
    let promise: Promise<unknown>;
    if (result instanceof Promise) promise = result;
    // The refusal of another guarded function is a value to a synchronous caller.
    else if (isRefused(result)) return settleResult(call, result, options, true);
    else promise = Promise.resolve(result);
    this.isAsync = true;
    // An observing gear interrupts nothing: a call past its timeout is a failure when it ends.
    return (site.timeoutMs > 0 || site.task !== undefined) && !isObserving(runtime)
      ? settleInTime(call, promise, options)
      : settleAtEnd(call, promise, options);
  }
}

/**
 * Settles a call when its work ends. Returns the derived promise, so that an unhandled failure causes Node's warning.
 */
function settleAtEnd(call: LiveCall, promise: Promise<unknown>, options: GuardOptions): Promise<unknown> {
  const fail = (error: unknown): never => {
    settle(call, { error }, options, false);
    throw error;
  };
  try {
    return promise.then((value) => settleResult(call, value, options, false), fail);
  } catch (error) {
    return new Promise(() => fail(error)); // `then` of a subclass may throw.
  }
}

/** Settles a call when its work ends, at its timeout, or when its task halts: then with the refusal of the halt. */
function settleInTime(call: LiveCall, promise: Promise<unknown>, options: GuardOptions): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => {
      settle(call, { error }, options, false);
      reject(error);
    };
    const { runtime, site } = call;
    try {
      call.limit((error, halt) => {
        if (halt === undefined) reject(error);
        else resolve(new Promise((deliver) => deliver(deliverRefusal(runtime, halt, site))));
      });
      promise.then((value) => resolve(settleResult(call, value, options, false)), fail);
    } catch (error) {
      let isRangeError = false;
      try {
        isRangeError = error instanceof RangeError;
      } catch {
        // A hostile value.
      }
      if (isRangeError) {
        stackRoom.isTight = true;
        const run = () => {
          if (!call.settled) fail(error);
        };
        stackRoom.owed = { run, next: stackRoom.owed };
        throw error;
      }
      fail(error); // `then` of a subclass may throw.
    }
  });
}

/** Settles a call with its result, or a stream when it ends. The result passes unchanged: code may read it. */
function settleResult(call: LiveCall, value: unknown, options: GuardOptions, isSync: boolean): unknown {
  if (!isStream(value)) {
    settle(call, { value }, options, isSync);
    return value;
  }
  call.unlimit();
  return followStream(streamingCall(call), value, (ending, partial) =>
    settleEnding(call.runtime, call, ending, options, { partial }),
  );
}

function settle(call: LiveCall, ending: Ending, options: GuardOptions, isSync: boolean): void {
  const { runtime } = call;
  call.unlimit();
  settleEnding(runtime, call, ending, options, { isUncut: isSync || isObserving(runtime) });
}
