/** Runs a guarded function: rounds on the route, the call itself outside any lock, and one settlement from any exit. */

import type { Outcome, Permit } from '../core/action.ts';
import type { Ending } from '../core/classify.ts';
import { type Refusal, RefusedError, refused } from '../core/refusal.ts';
import type { RuleEngine } from '../core/rule-engine.ts';
import { isThenable } from '../core/thenable.ts';
import type { Stop } from '../core/verdict.ts';
import type { Clock } from '../ports/clock.ts';
import { actionOf, type CallFacts } from './actions.ts';
import type { Asking } from './approval.ts';
import { applyInside, frameOf } from './context.ts';
import { outcomeOf, settlingOf } from './endings.ts';
import type { AnyFunction, GuardOptions } from './front-door.ts';
import { type Guard, isStop, type Settling } from './guard.ts';
import type { Lane } from './lanes.ts';
import { createLiveCall, type LiveCall, type LiveCalls } from './live-calls.ts';
import type { Notebook } from './notebook.ts';
import { brokenRefusal } from './refusing.ts';
import { conclude, laterRounds } from './rounds.ts';
import type { Seating } from './seating.ts';
import type { Spending } from './spending.ts';
import type { Target } from './targets.ts';
import type { TaskNode } from './task-node.ts';
import type { Timeouts } from './timeouts.ts';

/** Everything a guarded function needs from its gear. */
export interface Runner {
  readonly gear: object;
  readonly guard: Guard;
  readonly seating: Seating;
  readonly clock: Clock;
  readonly notes: Notebook;
  readonly timeouts: Timeouts;
  readonly live: LiveCalls;
  readonly spending: Spending;
  readonly asking: Asking;
  readonly throws: boolean;
  readonly rules: () => RuleEngine | undefined;
  readonly nextId: () => number;
  readonly missingTask: (name: string, atMs: number) => void;
}

/** The function, guarded. */
export function guardFunction<F extends AnyFunction>(
  runner: Runner,
  target: Target,
  fn: F,
  options: GuardOptions<F>,
): AnyFunction {
  const { guard, seating, clock, notes } = runner;
  const loose = options as GuardOptions;
  let lane: Lane | undefined;
  let isAsync = options.async ?? isAsyncFunction(fn);

  function laneOf(task: TaskNode | undefined): Lane {
    if (lane !== undefined && lane.task === task && lane.epoch === seating.epoch) return lane;
    lane = seating.lane(target, task);
    return lane;
  }

  function guarded(this: unknown, ...args: unknown[]): unknown {
    let current: Lane | undefined;
    let admission: Permit | Stop;
    const atMs = clock.nowMs();
    try {
      const task = frameOf(runner.gear)?.task;
      current = laneOf(task);
      if (task === undefined) runner.missingTask(target.name, atMs);
      const action = actionOf(runner, current, args, loose, noFacts);
      admission = guard.admit(current, action, atMs);
      if (!isAsync && isStop(admission) && (admission.kind === 'wait' || admission.kind === 'ask')) {
        admission = conclude(runner, current, action, admission, admission.kind); // In its own tick nobody can wait.
      }
    } catch (error) {
      notes.countError('admit', error, atMs);
      return deliver(brokenRefusal(target.name, error), undefined, args);
    }
    if (!isStop(admission)) return execute(this, current, admission, args);
    if (admission.kind === 'deny' || admission.kind === 'halt') {
      return deliver(guard.refusalOf(admission, current, atMs), current, args);
    }
    return roundsOf(this, current, admission, args);
  }

  async function roundsOf(self: unknown, current: Lane, first: Stop, args: readonly unknown[]): Promise<unknown> {
    let admission: Permit | Stop;
    try {
      const act = () => actionOf(runner, current, args, loose, noFacts);
      admission = await laterRounds(runner, current, args, first, act);
    } catch (error) {
      notes.countError('admit', error, clock.nowMs());
      return deliver(brokenRefusal(target.name, error), current, args);
    }
    if (!isStop(admission)) return execute(self, current, admission, args);
    return deliver(guard.refusalOf(admission, current, clock.nowMs()), current, args);
  }

  function deliver(refusal: Refusal, current: Lane | undefined, args: readonly unknown[]): unknown {
    if (options.fallback !== undefined && refusal.code === 'circuit_open') {
      return options.fallback(refusal, ...(args as Parameters<F>));
    }
    const throws = runner.throws || current?.breaker?.settings.gracefulDegradation === false;
    if (throws) {
      const error = new RefusedError(refusal);
      if (isAsync) return Promise.reject(error);
      throw error;
    }
    const value = refused(refusal, current?.agent ?? '', current?.session ?? '');
    return isAsync ? Promise.resolve(value) : value;
  }

  function execute(self: unknown, current: Lane, permit: Permit, args: readonly unknown[]): unknown {
    const call = createLiveCall(runner.live, current, permit);
    let result: unknown;
    try {
      result = applyInside(runner.gear, current.task, call.face, fn, self, args);
    } catch (error) {
      settleWith(call, { error }, true);
      throw error;
    }
    if (!isThenable(result)) {
      settleWith(call, { value: result }, true);
      return result;
    }
    isAsync = true;
    const promise = result instanceof Promise ? result : Promise.resolve(result);
    return current.timeoutMs > 0 ? raced(call, promise) : observed(call, promise);
  }

  /** The derived promise, so that a failure nobody awaits still warns as Node does. */
  function observed(call: LiveCall, promise: Promise<unknown>): Promise<unknown> {
    return promise.then(
      (value) => {
        settleWith(call, { value }, false);
        return value;
      },
      (error) => {
        settleWith(call, { error }, false);
        throw error;
      },
    );
  }

  /** Ends with the work, or when its time is up; the slot is kept until the work really ends. */
  function raced(call: LiveCall, promise: Promise<unknown>): Promise<unknown> {
    const { timeoutMs } = call.lane;
    return new Promise((resolve, reject) => {
      const timeout = runner.timeouts.add(timeoutMs, call.permit.atMs, () => {
        const error = new DOMException(`'${target.name}' took longer than ${timeoutMs / 1000} s`, 'TimeoutError');
        call.settled = true;
        settleNow(call, failureOfTimeout, { stillRuns: true });
        call.abort(error);
        reject(error);
      });
      promise.then(
        (value) => {
          runner.timeouts.remove(timeout);
          settleWith(call, { value }, false);
          resolve(value);
        },
        (error) => {
          runner.timeouts.remove(timeout);
          settleWith(call, { error }, false);
          reject(error);
        },
      );
    });
  }

  function settleWith(call: LiveCall, ending: Ending, sync: boolean): void {
    if (call.settled) {
      endWork(call, ending);
      return;
    }
    call.settled = true;
    try {
      const { lane: current, permit } = call;
      const atMs = clock.nowMs();
      const late = sync && current.timeoutMs > 0 && atMs - permit.atMs > current.timeoutMs;
      settleNow(
        call,
        late ? failureOfTimeout : outcomeOf(call, ending, loose, atMs),
        settlingOf(runner, call, ending, loose),
      );
    } catch (error) {
      notes.countError('settle', error, clock.nowMs());
      // The host's classify or usage broke: the slot is free, and what it may have cost is taken as spent.
      const { worstMicros: micros, worstTokens: tokens } = call.permit.action;
      settleNow(call, { kind: 'neutral', why: 'ignored' }, { cost: { micros, tokens } });
    }
  }

  function settleNow(call: LiveCall, outcome: Outcome, settling: Settling): void {
    try {
      runner.live.remove(call);
      guard.settle(call.lane, call.permit, outcome, clock.nowMs(), settling);
    } catch (error) {
      notes.countError('settle', error, clock.nowMs());
    }
  }

  /** The work of a call that was given up ended: its slot is free, and what it cost is spent all the same. */
  function endWork(call: LiveCall, ending: Ending): void {
    const { lane: current, permit } = call;
    try {
      guard.endWork(current, permit, clock.nowMs());
      const { cost } = settlingOf(runner, call, ending, loose);
      if (cost !== undefined && current.task !== undefined) guard.spend(current.task, cost, target.name, clock.nowMs());
    } catch (error) {
      notes.countError('settle', error, clock.nowMs());
    }
  }

  return guarded;
}

const noFacts: CallFacts = {};
const failureOfTimeout: Outcome = Object.freeze({ kind: 'failure', error: 'NetworkError', errorFingerprint: 1 });

function isAsyncFunction(fn: AnyFunction): boolean {
  try {
    return Object.prototype.toString.call(fn) === '[object AsyncFunction]';
  } catch {
    return false; // A function that does not want to be looked at shows itself when it returns.
  }
}
