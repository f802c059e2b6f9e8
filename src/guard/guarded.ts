/** The types of guarded functions. */

import type { Refused } from '../core/refusal.ts';
import type { AnyFunction } from './api.ts';

/**
 * The function with refusals of type `R` among its results: sync stays sync, a promise stays a promise. The last four
 * overloads and the properties of the function stay; type parameters stay only where `guard` is called without options.
 */
export type Guarded<F extends AnyFunction, R = Refused> = ([IsOverloaded<F>] extends [true]
  ? GuardedOverloads<F, R>
  : GuardedSignature<Parameters<F>, ReturnType<F>, R>) &
  ([keyof F] extends [never] ? unknown : Pick<F, keyof F>);

type GuardedSignature<A extends readonly unknown[], T, R> = (...args: A) => GuardedResult<T, R>;

/** A result with refusals of type `R`. */
export type GuardedResult<T, R = Refused> = 0 extends 1 & T
  ? T
  : [T] extends [PromiseLike<infer V>]
    ? Promise<V | R>
    : T | R;

/** Whether a function has two signatures; older compilers infer `unknown` for a missing one. */
type IsOverloaded<F> = F extends { (...args: infer A1): infer T1; (...args: infer A2): infer T2 }
  ? [unknown[], unknown] extends [A1, T1]
    ? false
    : [A1, T1] extends [A2, T2]
      ? [A2, T2] extends [A1, T1]
        ? false
        : true
      : true
  : false;

type GuardedOverloads<F, R> = F extends {
  (...args: infer A1): infer T1;
  (...args: infer A2): infer T2;
  (...args: infer A3): infer T3;
  (...args: infer A4): infer T4;
}
  ? Overload<A1, T1, R> & Overload<A2, T2, R> & Overload<A3, T3, R> & Overload<A4, T4, R>
  : never;

type Overload<A extends readonly unknown[], T, R> = [unknown[], unknown] extends [A, T]
  ? unknown
  : GuardedSignature<A, T, R>;

/** A function with overloads or properties, or with a result of any type: its form is read from its type. */
export type FormedFunction<F extends AnyFunction> = [IsOverloaded<F>] extends [true]
  ? F
  : [keyof F] extends [never]
    ? 0 extends 1 & ReturnType<F>
      ? F
      : never
    : F;
