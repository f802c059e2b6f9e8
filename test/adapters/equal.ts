/** Whether two types are the same, also as far as `any` goes. */

export type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles only with `true`. */
export type Expect<T extends true> = T;
