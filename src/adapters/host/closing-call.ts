/** Calls of a halted run that are outside its limits: the closing answer of the model, in a bounded time. */

import { closingAnswerMs } from '../../core/limits.ts';
import type { Switchgear } from '../../guard/api.ts';
import { runtimeOf } from '../../guard/internal.ts';

/** The answer of a closing call, and the signal that ends it: at its time limit, or with the host's own signal. */
export interface ClosingCall<T> {
  readonly value: T;
  readonly signal: AbortSignal;
}

/** Makes a closing call. It rejects if the call does not return in time. */
export async function callInTime<T>(
  gear: Switchgear,
  hostSignal: AbortSignal | null | undefined,
  call: (signal: AbortSignal) => PromiseLike<T> | T,
): Promise<ClosingCall<T>> {
  const limit = new AbortController();
  const late = () => limit.abort(new DOMException('the closing answer took too long', 'TimeoutError'));
  const { clock, hold } = runtimeOf(gear);
  clock.after(closingAnswerMs, late);
  const signal = hostSignal ? AbortSignal.any([hostSignal, limit.signal]) : limit.signal;
  hold.begin();
  try {
    return { value: await untilAbort(call(signal), signal), signal };
  } finally {
    hold.end();
  }
}

/** Waits for a value until a signal aborts; then it rejects with the reason of the signal. */
export function untilAbort<T>(work: PromiseLike<T> | T, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    const forget = () => signal.removeEventListener('abort', onAbort);
    Promise.resolve(work).then(resolve, reject).finally(forget);
  });
}

/** Passes on the chunks of a stream until a signal aborts; then it throws the reason of the signal. */
export async function* readUntilAbort<T>(
  gear: Switchgear,
  source: AsyncIterable<T>,
  signal: AbortSignal,
): AsyncGenerator<T> {
  const { hold } = runtimeOf(gear);
  const iterator = source[Symbol.asyncIterator]();
  try {
    for (;;) {
      hold.begin();
      const step = await untilAbort(iterator.next(), signal).finally(() => hold.end());
      if (step.done) return;
      yield step.value;
    }
  } finally {
    iterator.return?.()?.then(undefined, () => {}); // A source that hangs must not hold the reader.
  }
}
