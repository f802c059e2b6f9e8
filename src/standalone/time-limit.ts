/**
 * The time limit of calls: a call past its limit fails at once, while its work may still run.
 * All calls under one limit expire in the order in which they began, so they share one list and one timer.
 */

import type { AdmittedCall } from '../core/controls/breaker/breaker.ts';
import { isThenable } from '../core/thenable.ts';
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
interface TimedCall {
  owner: CallOwner | undefined;
  grant: AdmittedCall | undefined;
  resolve: ((value: unknown) => void) | undefined;
  reject: ((error: unknown) => void) | undefined;
  /** When the call expires; 0 until the first tick after its start. */
  dueMs: number;
  previous: TimedCall | undefined;
  /** The next call in the list; undefined once the call has left the list. */
  next: TimedCall | undefined;
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
  /** The sentinel of the circular list of running calls: `next` is the oldest call, `previous` the newest. */
  private readonly end: TimedCall;
  private freeList: TimedCall | undefined = undefined;
  private isTicking = false;
  private isArmed = false;

  /** With `isExact` every call reads the clock; otherwise its time starts at the next tick: late, never early. */
  constructor(clock: Clock, isExact: boolean, name: string, secs: number) {
    this.clock = clock;
    this.isExact = isExact;
    this.isSync = isExact;
    this.name = name;
    this.secs = secs;
    this.limitMs = secs * 1000;
    this.end = this.createCall();
    this.end.previous = this.end.next = this.end;
    this.end.dueMs = Number.POSITIVE_INFINITY;
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
    const { end, freeList, isExact } = this;
    const call = freeList ?? this.createCall();
    if (call === freeList) this.freeList = call.previous;
    call.owner = owner;
    call.grant = grant;
    call.dueMs = 0;
    const last = end.previous!;
    call.previous = last;
    call.next = end;
    last.next = end.previous = call;
    if (isExact) this.expireDue();
    else if (!this.isTicking) this.startTick();
    this.isSync = isExact;
    const raced = new Promise(call.capture);
    work.then(call.done, call.fail);
    return raced;
  }

  private createCall(): TimedCall {
    const call: TimedCall = {
      owner: undefined,
      grant: undefined,
      resolve: undefined,
      reject: undefined,
      dueMs: 0,
      previous: undefined,
      next: undefined,
      capture(resolve, reject) {
        call.resolve = resolve;
        call.reject = reject;
      },
      done: (value) => {
        const resolve = call.resolve!;
        if (unlink(call)) call.owner!.succeeded(call.grant!, value);
        else call.owner!.workEnded();
        this.recycle(call);
        resolve(value);
      },
      fail: (error) => {
        const reject = call.reject!;
        if (unlink(call)) call.owner!.failed(call.grant!, error);
        else call.owner!.workEnded();
        this.recycle(call);
        reject(error);
      },
    };
    return call;
  }

  private recycle(call: TimedCall): void {
    call.resolve = call.reject = undefined;
    call.previous = this.freeList;
    this.freeList = call;
  }

  private startTick(): void {
    this.isTicking = true;
    this.clock.after(tickMs, () => {
      this.isTicking = false;
      this.expireDue();
    });
  }

  /** Rejects every due call and arms one timer for the next. A call that ends in time cancels no timer. */
  private expireDue(): void {
    const { clock, end } = this;
    const nowMs = clock.nowMs();
    for (let call = end.previous!; call.dueMs === 0; call = call.previous!) call.dueMs = nowMs + this.limitMs;
    for (let call = end.next!; call.dueMs <= nowMs; call = end.next!) {
      unlink(call);
      const error = this.makeError();
      call.owner!.givenUp(call.grant!, error);
      call.reject!(error);
    }
    if (end.next === end) this.freeList = undefined; // No call is running: release the recycled records.
    if (this.isArmed || end.next === end) return;
    this.isArmed = true;
    clock.after(end.next!.dueMs - nowMs, () => {
      this.isArmed = false;
      this.expireDue();
    });
  }
}

/** Removes a call from the list; false if the call has expired already. */
function unlink(call: TimedCall): boolean {
  const { previous, next } = call;
  if (next === undefined) return false;
  next.previous = previous;
  previous!.next = next;
  call.next = undefined;
  return true;
}

/** Receives the value or the error of an ended call. */
export type EndingHandler = (ending: unknown) => void;

/** Converts an awaitable value to a native promise, or returns undefined. A foreign `then` is read once. */
export function toPromise(result: unknown): Promise<unknown> | undefined {
  return isPromise(result) ? result : isThenable(result) ? Promise.resolve(result) : undefined;
}

/** Whether a value is a native promise; false if its class is unreadable. */
export function isPromise(value: unknown): value is Promise<unknown> {
  try {
    return value instanceof Promise;
  } catch {
    return false;
  }
}
