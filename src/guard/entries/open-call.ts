/** A call that the host runs itself, between two of its hooks: opened by the first, settled by the second. */

import type { Ending } from '../../core/classify.ts';
import type { Refusal } from '../../core/refusal.ts';
import type { Switchgear } from '../api.ts';
import { type HostCall, hostCall } from './host-call.ts';

interface PromiseEnds {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** A call that is out. */
export interface OpenCall {
  readonly refusal: undefined;
  settle(ending: Ending): void;
}

/** Refused, or open until its ending is told. Its time is the host's business. */
export async function beginHostCall(
  gear: Switchgear,
  name: string,
  args: readonly unknown[],
  host: HostCall = {},
): Promise<OpenCall | { readonly refusal: Refusal }> {
  const opened = Promise.withResolvers<undefined>();
  const work = Promise.withResolvers<unknown>();
  const run = () => {
    opened.resolve(undefined);
    return work.promise;
  };
  const untimed: object = { ...host.breaker, timeoutSecs: undefined };
  const answered = hostCall(gear, name, args, run, { ...host, breaker: untimed });
  answered.catch(() => {}); // How it ended is told to the host by whoever ran it.
  const answer = await Promise.race([opened.promise, answered]);
  return answer !== undefined && 'refusal' in answer ? answer : { refusal: undefined, settle: endingOf(work) };
}

/** The two ends of a promise, as one function that takes an ending. */
export function endingOf({ resolve, reject }: PromiseEnds): OpenCall['settle'] {
  return (ending) => ('value' in ending ? resolve(ending.value) : reject(ending.error));
}
