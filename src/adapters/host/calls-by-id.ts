/** The running calls of a host by id. Some servers use one id for several calls, also at the same time. */

import { fingerprint } from '../../guard/internal.ts';

/** Running calls, or what else a host identifies by the id of a call. */
export interface CallsById<T> {
  add(id: string, input: unknown, call: T): void;
  /** The oldest call with this id and input, else the oldest with this id. */
  find(id: string, input: unknown): T | undefined;
  /** Finds a call and removes it. */
  take(id: string, input: unknown): T | undefined;
  /** Removes all calls. */
  takeAll(): readonly T[];
}

export function createCallsById<T>(): CallsById<T> {
  const calls = new Map<string, { readonly input: unknown; readonly call: T }[]>();

  function findAt(id: string, input: unknown): number {
    const withId = calls.get(id) ?? [];
    if (withId.length <= 1) return withId.length - 1;
    const print = fingerprint(id, [input]);
    const at = withId.findIndex((each) => each.input === input || fingerprint(id, [each.input]) === print);
    return Math.max(at, 0);
  }

  return {
    add(id, input, call) {
      const withId = calls.get(id) ?? [];
      withId.push({ input, call });
      calls.set(id, withId);
    },
    find: (id, input) => calls.get(id)?.[findAt(id, input)]?.call,
    take(id, input) {
      const withId = calls.get(id);
      const [taken] = withId?.splice(findAt(id, input), 1) ?? [];
      if (withId?.length === 0) calls.delete(id);
      return taken?.call;
    },
    takeAll() {
      const all = [...calls.values()].flat().map(({ call }) => call);
      calls.clear();
      return all;
    },
  };
}
