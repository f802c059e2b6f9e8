/** The time limit of calls: a call past its limit fails at once, while its work may still run. */

import type { AdmittedCall } from '../core/controls/breaker/breaker.ts';
import { readThen, type ThenError } from '../core/thenable.ts';
import {
  appendLink,
  createTimerQueue,
  removeLink,
  type TimedLink,
  type TimedList,
  type TimerQueue,
} from '../platform/timer-queue.ts';
import type { Clock } from '../ports/clock.ts';

/** The breaker that admitted a call and learns how the call ends. */
export interface CallOwner {
  succeeded(grant: AdmittedCall, value: unknown): void;
  failed(grant: AdmittedCall, error: unknown): void;
  /** The call passed its time limit; its work still runs. */
  givenUp(grant: AdmittedCall, error: Error): void;
  /** The work of a call that passed its time limit has ended: its concurrency slot is free again. */
  workEnded(): void;
}

/** The bookkeeping of one running call. Allocating a record costs as much as the call, so records are recycled. */
interface TimedCall extends TimedLink {
  readonly limit: TimeLimit;
  owner: CallOwner | undefined;
  grant: AdmittedCall | undefined;
  resolve: ((value: unknown) => void) | undefined;
  reject: ((error: unknown) => void) | undefined;
  /** Unknown until the first tick after the start of the call. */
  dueMs: number;
  nextFree: TimedCall | undefined;
  capture(resolve: (value: unknown) => void, reject: (error: unknown) => void): void;
  done(value: unknown): void;
  fail(error: unknown): void;
}

const tickMs = 10;

/** One time limit, shared by all breakers with equal options. */
export class TimeLimit {
  /** Whether a call must read the clock before it starts: the last call returned a value instead of a promise. */
  isSync: boolean;
  private readonly clock: Clock;
  private readonly isExact: boolean;
  private readonly name: string;
  private readonly secs: number;
  private readonly limitMs: number;
  /** Calls that began since the last tick. */
  private readonly undated: TimedList = { first: undefined, last: undefined };
  private readonly queue: TimerQueue;
  private freeList: TimedCall | undefined = undefined;
  private isTicking = false;
  /** Lets the process end; defined while calls are out. */
  private release: (() => void) | undefined = undefined;

  /** With `isExact` every call reads the clock; otherwise its time starts at the next tick: late, never early. */
  constructor(clock: Clock, isExact: boolean, name: string, secs: number) {
    this.clock = clock;
    this.isExact = isExact;
    this.isSync = isExact;
    this.name = name;
    this.secs = secs;
    this.limitMs = secs * 1000;
    const after = (delayMs: number, run: () => void) => {
      return clock.after(delayMs, () => {
        run();
        this.releaseRecords();
      });
    };
    this.queue = createTimerQueue({ nowMs: () => clock.nowMs(), after });
  }

  startMs(): number {
    return this.clock.nowMs();
  }

  /** Whether a call that returned a value took too long; false if its start was not recorded. */
  isOver(beganMs: number | undefined): boolean {
    this.isSync = true;
    return beganMs !== undefined && this.clock.nowMs() - beganMs > this.limitMs;
  }

  makeError(): Error {
    return new DOMException(`'${this.name}' took longer than ${this.secs} s`, 'TimeoutError');
  }

  /** Returns a promise that settles with the work, or rejects at the time limit. */
  race(owner: CallOwner, grant: AdmittedCall, work: Promise<unknown>): Promise<unknown> {
    const { freeList, isExact } = this;
    const call = freeList ?? this.createCall();
    if (call === freeList) this.freeList = call.nextFree;
    call.owner = owner;
    call.grant = grant;
    appendLink(this.undated, call);
    if (isExact) this.dateCalls();
    else if (!this.isTicking) this.startTick();
    this.isSync = isExact;
    const raced = new Promise(call.capture);
    work.then(call.done, call.fail);
    return raced;
  }

  private createCall(): TimedCall {
    const call: TimedCall = {
      limit: this,
      fire: rejectCall,
      owner: undefined,
      grant: undefined,
      resolve: undefined,
      reject: undefined,
      dueMs: 0,
      list: undefined,
      previous: undefined,
      next: undefined,
      nextFree: undefined,
      capture(resolve, reject) {
        call.resolve = resolve;
        call.reject = reject;
      },
      done: (value) => {
        const resolve = call.resolve!;
        if (removeLink(call)) call.owner!.succeeded(call.grant!, value);
        else call.owner!.workEnded();
        this.recycle(call);
        if (this.release !== undefined) this.releaseProcess();
        resolve(value);
      },
      fail: (error) => {
        const reject = call.reject!;
        if (removeLink(call)) call.owner!.failed(call.grant!, error);
        else call.owner!.workEnded();
        this.recycle(call);
        if (this.release !== undefined) this.releaseProcess();
        reject(error);
      },
    };
    return call;
  }

  private recycle(call: TimedCall): void {
    call.resolve = call.reject = undefined;
    call.nextFree = this.freeList;
    this.freeList = call;
  }

  private startTick(): void {
    this.isTicking = true;
    const tick = () => {
      this.isTicking = false;
      this.dateCalls();
      this.releaseRecords();
    };
    this.clock.after(tickMs, tick, true); // The process must not end before the limits of its calls are set.
  }

  /** Starts the time of the calls that began since the last tick, and rejects every due call. */
  private dateCalls(): void {
    const { clock, limitMs, queue, undated } = this;
    const dueMs = clock.nowMs() + limitMs;
    for (let link = undated.first; link !== undefined; link = undated.first) {
      removeLink(link);
      (link as TimedCall).dueMs = dueMs;
      queue.add(limitMs, link);
    }
    queue.fireDue();
    if (this.release === undefined && !queue.isEmpty()) this.release = clock.hold?.();
  }

  /** Releases the recycled records and the process when no call is running. */
  private releaseRecords(): void {
    if (this.undated.first !== undefined || !this.queue.isEmpty()) return;
    this.freeList = undefined;
    this.releaseProcess();
  }

  private releaseProcess(): void {
    if (this.undated.first !== undefined || !this.queue.isEmpty()) return;
    this.release?.();
    this.release = undefined;
  }
}

/** Ends a call at its time limit. One function for all records: a closure for each would cost as much as a call. */
function rejectCall(this: TimedCall): void {
  const error = this.limit.makeError();
  this.owner!.givenUp(this.grant!, error);
  this.reject!(error);
}

/** Receives the value or the error of an ended call. */
export type EndingHandler = (ending: unknown) => void;

/**
 * Converts an awaitable value to a native promise, or returns undefined. A foreign `then` is read once; if that throws,
 * its error is returned.
 */
export function toPromise(result: unknown): Promise<unknown> | ThenError | undefined {
  if (isPromise(result)) return result;
  const then = readThen(result);
  return then === true ? Promise.resolve(result) : then || undefined;
}

/** Whether a value is a native promise; false if its class is unreadable. */
export function isPromise(value: unknown): value is Promise<unknown> {
  try {
    return value instanceof Promise;
  } catch {
    return false;
  }
}
