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
import { deliverRefusal, makeAwaitable, refuseOnError } from './refusal-delivery.ts';
import { laterRounds, type RoundsResult } from './rounds.ts';
import { overflowMessage, overflowSentence, settleOwed, stackRoom } from './stack-room.ts';
import { followStream, isStream, streamingCall } from './stream.ts';

/** Returns the guarded function. */
export function guardFunction<F extends AnyFunction>(
  runtime: Runtime,
  target: Target,
  fn: F,
  options: GuardOptions<F>,
): AnyFunction {
  const { clock } = runtime;
  const { name } = target;
  const loose = options as GuardOptions;
  let site: CallSite | undefined;
  /** Whether the function returns promises; undefined until a call returned. */
  let isAsync: boolean | undefined = options.async ?? (isAsyncFunction(fn) || undefined);
  /** Whether a caller surely awaits the result. */
  const isAwaited = () => isAsync ?? returnsPromise(fn);

  function guarded(this: unknown, ...args: unknown[]): unknown {
    let current: CallSite | undefined;
    let admission: AdmitResult;
    const atMs = clock.nowMs();
    try {
      const task = frameOf(runtime)?.task;
      if (site === undefined || site.task !== task || site.epoch !== runtime.epoch)
        site = callSiteFor(runtime, target, task);
      current = site;
      if (task === undefined) reportMissingTask(runtime, name, atMs);
      const action = makeAction(runtime, current, args, loose);
      admission = admitAction(runtime, current, action, atMs);
      // A synchronous call cannot wait.
      if (isStop(admission) && needsAnotherRound(admission) && !(isAwaited() && !runtime.isDisposed)) {
        admission = refuseForGood(runtime, current, action, admission);
      }
    } catch (error) {
      if (error instanceof RangeError) stackRoom.isTight = true;
      return deliver(refuseOnError(runtime, 'admit', name, error), current, args);
    }
    if (!isStop(admission)) return execute(this, current, admission, args);
    return needsAnotherRound(admission)
      ? roundsOf(this, current, admission, args)
      : deliver(explainStop(admission, current, atMs), current, args);
  }

  async function roundsOf(self: unknown, current: CallSite, first: Stop, args: readonly unknown[]): Promise<unknown> {
    const act = () => makeAction(runtime, current, args, loose);
    // The executor runs at once; an error of the function belongs to the call and not to its admission.
    const begin = (permit: Permit) => new Promise((resolve) => resolve(execute(self, current, permit, args)));
    let result: RoundsResult<Promise<unknown>>;
    try {
      result = await laterRounds(runtime, { site: current, args, act, begin }, first);
    } catch (error) {
      return deliver(refuseOnError(runtime, 'admit', name, error), current, args);
    }
    if ('begun' in result) return result.begun;
    return deliver(explainStop(result.stop, current, clock.nowMs()), current, args);
  }

  function deliver(refusal: Refusal, current: CallSite | undefined, args: readonly unknown[]): unknown {
    if (options.fallback !== undefined && refusal.code === 'circuit_open') {
      const { fallback } = options;
      const instead = () => fallback(refusal, ...(args as Parameters<F>));
      return isAwaited() ? new Promise((resolve) => resolve(instead())) : instead();
    }
    if (isAwaited()) {
      return new Promise((resolve) => resolve(deliverRefusal(runtime, refusal, current)));
    }
    const value = deliverRefusal(runtime, refusal, current);
    // Until a call returned, the caller may expect a value or a promise.
    return isAsync === undefined ? makeAwaitable(value) : value;
  }

  function execute(self: unknown, current: CallSite, permit: Permit, args: readonly unknown[]): unknown {
    let call: LiveCall | undefined;
    let result: unknown;
    let isDone = false;
    try {
      call = new LiveCall(runtime, current, permit);
      result = applyInside(call, fn, self, args);
      isDone = true;
      return conclude(call, result);
    } catch (error) {
      if (error instanceof RangeError && (error.message === overflowMessage || error.message === overflowSentence)) {
        stackRoom.isTight = true;
        if (call?.settled !== true) {
          const run = () => {
            const owed = call ?? new LiveCall(runtime, current, permit);
            if (!owed.settled) settle(owed, isDone ? { value: result } : { error }, loose, true);
          };
          stackRoom.owed = { run, next: stackRoom.owed };
          try {
            queueMicrotask(settleOwed);
          } catch {
            // The next call settles it.
          }
        }
      } else if (!isDone) settle(call!, { error }, loose, true);
      throw error;
    }
  }

  /** Settles a call whose function has returned, now or when its promise ends. */
  function conclude(call: LiveCall, result: unknown): unknown {
    const current = call.site;
    const then = readThen(result);
    if (then === false) {
      isAsync ??= false;
      return settleResult(call, result, loose, true);
    }
    if (then !== true) {
      settle(call, then, loose, true); // Awaiting the result would throw this error.
      return result;
    }
    let promise: Promise<unknown>;
    if (result instanceof Promise) promise = result;
    // The refusal of another guarded function is a value to a synchronous caller.
    else if (isRefused(result)) return settleResult(call, result, loose, true);
    else promise = Promise.resolve(result);
    isAsync = true;
    // An observing gear interrupts nothing: a call past its timeout is a failure when it ends.
    return (current.timeoutMs > 0 || current.task !== undefined) && !isObserving(runtime)
      ? settleInTime(call, promise, loose)
      : settleAtEnd(call, promise, loose);
  }

  return guarded;
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
      if (error instanceof RangeError) {
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
