/** A guarded call that the host runs and settles: admitted now, settled once later. */

import type { Ending } from '../../core/classify.ts';
import type { Refusal } from '../../core/refusal.ts';
import type { Call, Switchgear } from '../api.ts';
import { CallAttempt, isAnswerable } from '../route/recovery.ts';
import { undecidedRefusal } from '../route/refusal-delivery.ts';
import { runtimeOf } from '../runtime/runtime.ts';
import {
  attemptHostCall,
  type BegunAttempt,
  type HostAnswer,
  type HostCall,
  type HostWork,
  joinSignals,
  recoverHostCall,
} from './host-call.ts';

/** A running call. */
export interface OpenCall {
  readonly refusal: undefined;
  /** The arguments to run the call with: those of the host, unless a person edited them. */
  readonly args: readonly unknown[];
  settle(ending: Ending): void;
  /**
   * Runs the work of the call with its signal, until it ends or the call is given up; again and with a fallback, if the
   * call has them.
   */
  run<T>(work: (signal: AbortSignal) => T | PromiseLike<T>): Promise<HostAnswer<T>>;
}

/** A refused call, with the answer of its fallback if it has one. */
export interface RefusedOpening {
  readonly refusal: Refusal;
  readonly instead?: { readonly value: unknown };
}

/**
 * Admits a call that the host runs and settles. Its timeout is up to the host, unless the adapter runs the work by
 * `run`: then `isTimed` is true.
 */
export async function beginHostCall(
  gear: Switchgear,
  name: string,
  args: readonly unknown[],
  hostOptions: HostCall = {},
  isTimed = false,
): Promise<OpenCall | RefusedOpening> {
  const runtime = runtimeOf(gear);
  const opened = Promise.withResolvers<OpenedCall>();
  const work = Promise.withResolvers<unknown>();
  const run: HostWork<unknown> = (call, ownArgs) => {
    opened.resolve({ call, args: ownArgs });
    return work.promise;
  };
  const breaker = isTimed ? hostOptions.breaker : ({ ...hostOptions.breaker, timeoutSecs: undefined } as object);
  const host: HostCall = { ...hostOptions, ...(breaker && { breaker }) };
  const { signal, fallback } = host;
  const first = new CallAttempt();
  const firstAnswer = attemptHostCall(runtime, name, args, run, host, first);
  firstAnswer.catch(() => {}); // The host learns about an error from the call itself.
  const answer = await Promise.race([opened.promise.then((open) => ({ open })), firstAnswer]);
  if (!('open' in answer)) {
    const refusal = 'refusal' in answer ? answer.refusal : undecidedRefusal(name, 'it ended before it began');
    if (fallback === undefined || !isAnswerable(refusal)) return { refusal };
    return { refusal, instead: { value: await fallback(refusal, ...args) } };
  }
  const { open } = answer;
  const { site } = first;
  return {
    refusal: undefined,
    args: open.args,
    settle: endingOf(work),
    run<T>(own: (signal: AbortSignal) => T | PromiseLike<T>): Promise<HostAnswer<T>> {
      const runOwn = async ({ signal: ownSignal }: Call) => await own(joinSignals(ownSignal, signal));
      if (fallback === undefined && site?.retry === undefined)
        return Promise.race([runOwn(open.call).then((value) => ({ value })), firstAnswer as Promise<HostAnswer<T>>]);
      runOwn(open.call).then(work.resolve, work.reject);
      const begun = { name, args: open.args, run: runOwn, host, site, first, firstAnswer };
      return recoverHostCall(runtime, begun as BegunAttempt<unknown>) as Promise<HostAnswer<T>>;
    },
  };
}

/** A call that was admitted, with its arguments. */
interface OpenedCall {
  readonly call: Call;
  readonly args: readonly unknown[];
}

interface PromiseEnds {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** Combines `resolve` and `reject` of a promise into one function of an ending. */
export function endingOf({ resolve, reject }: PromiseEnds): OpenCall['settle'] {
  return (ending) => ('value' in ending ? resolve(ending.value) : reject(ending.error));
}
