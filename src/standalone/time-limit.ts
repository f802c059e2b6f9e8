/**
 * Calls that may take too long: given up when their time is up, while their work goes on.
 * Calls of one model have the same patience and end in the order they began, so one list and one timer serve them all.
 */

import type { AdmittedCall } from '../core/controls/breaker/breaker.ts';
import type { Clock } from '../ports/clock.ts';

/** Whose calls they are: told how each ends. */
export interface CallOwner {
  succeeded(grant: AdmittedCall, value: unknown): void;
  failed(grant: AdmittedCall, error: unknown): void;
  /** Its time is up. */
  givenUp(grant: AdmittedCall, error: Error): void;
  /** The work of a call that was given up really ended: only now is its slot free. */
  workEnded(): void;
}

export interface TimeLimit {
  /** Whether somebody must look at the clock before a call: the last one came back without a promise. */
  readonly isSync: boolean;
  startMs(): number;
  /** Whether a call that came back without a promise took too long; unknown where nobody looked before. */
  isOver(beganMs: number | undefined): boolean;
  error(): Error;
  /** Ends with the work, or when its time is up. */
  race(owner: CallOwner, grant: AdmittedCall, work: Promise<unknown>): Promise<unknown>;
}

/** What one call needs. Making it costs as much as the call itself, so it is used again. */
interface Call {
  owner: CallOwner | undefined;
  grant: AdmittedCall | undefined;
  resolve: ((value: unknown) => void) | undefined;
  reject: ((error: unknown) => void) | undefined;
  /** 0 until the timer has looked: it is younger than one tick. */
  dueMs: number;
  previous: Call | undefined;
  /** The next that is waited for; absent once it is not waited for any more. */
  next: Call | undefined;
  capture(resolve: (value: unknown) => void, reject: (error: unknown) => void): void;
  done(value: unknown): void;
  fail(error: unknown): void;
}

/** Takes it from those that are waited for; false where it was given up before. */
function unlink(call: Call): boolean {
  const { previous, next } = call;
  if (next === undefined) return false;
  next.previous = previous;
  previous!.next = next;
  call.next = undefined;
  return true;
}

const tickMs = 10;

/** `isExact`: the clock may be asked on every call. Otherwise a call begins at the next tick: cut late, never early. */
export function createTimeLimit(clock: Clock, isExact: boolean, name: string, secs: number): TimeLimit {
  const limitMs = secs * 1000;
  const end = newCall();
  end.previous = end.next = end;
  end.dueMs = Number.POSITIVE_INFINITY;
  let freeList: Call | undefined;
  let ticking = false;
  let armed = false;

  function newCall(): Call {
    const call: Call = {
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
      done(value) {
        const resolve = call.resolve!;
        if (unlink(call)) call.owner!.succeeded(call.grant!, value);
        else call.owner!.workEnded();
        recycle(call);
        resolve(value);
      },
      fail(error) {
        const reject = call.reject!;
        if (unlink(call)) call.owner!.failed(call.grant!, error);
        else call.owner!.workEnded();
        recycle(call);
        reject(error);
      },
    };
    return call;
  }

  function recycle(call: Call): void {
    call.resolve = call.reject = undefined;
    call.previous = freeList;
    freeList = call;
  }

  const error = () => new DOMException(`'${name}' took longer than ${secs} s`, 'TimeoutError');

  /** Ends what is due and waits for the next. A call that ended meanwhile costs nothing: nobody cancelled a timer. */
  function expireDue(): void {
    const nowMs = clock.nowMs();
    for (let call = end.previous!; call.dueMs === 0; call = call.previous!) call.dueMs = nowMs + limitMs;
    for (let call = end.next!; call.dueMs <= nowMs; call = end.next!) {
      unlink(call);
      const late = error();
      call.owner!.givenUp(call.grant!, late);
      call.reject!(late);
    }
    if (end.next === end) freeList = undefined; // Nobody is waited for: what was kept for the next may go.
    if (armed || end.next === end) return;
    armed = true;
    clock.after(end.next!.dueMs - nowMs, () => {
      armed = false;
      expireDue();
    });
  }

  const limit = {
    isSync: isExact,
    startMs: () => clock.nowMs(),
    isOver(beganMs: number | undefined) {
      limit.isSync = true;
      return beganMs !== undefined && clock.nowMs() - beganMs > limitMs;
    },
    error,
    race(owner: CallOwner, grant: AdmittedCall, work: Promise<unknown>) {
      const call = freeList ?? newCall();
      if (call === freeList) freeList = call.previous;
      call.owner = owner;
      call.grant = grant;
      call.dueMs = 0;
      const last = end.previous!;
      call.previous = last;
      call.next = end;
      last.next = end.previous = call;
      if (isExact) expireDue();
      else if (!ticking) {
        ticking = true;
        clock.after(tickMs, () => {
          ticking = false;
          expireDue();
        });
      }
      limit.isSync = isExact;
      const raced = new Promise(call.capture);
      work.then(call.done, call.fail);
      return raced;
    },
  };
  return limit;
}
