/** Waits of a call before it begins: for a time, or for its turn in a queue. */

import type { Stop } from '../../core/verdict.ts';
import { joinQueue, type QueuePlace } from '../breakers/call-queue.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { onHalt } from '../tasks/task.ts';
import type { CallSite } from './call-site.ts';

/**
 * Waits until a time of the gear's clock, until the task ends, or until the gear is disposed. Throws the reason of the
 * signal if it aborts. `watch` gets a function that ends the wait, and returns one that forgets it.
 */
export async function sleepUntil(
  { clock, waiting }: Runtime,
  { task }: Pick<CallSite, 'task'>,
  untilMs: number,
  signal?: AbortSignal,
  watch?: (wake: () => void) => () => void,
): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve) => {
    const undo: (() => void)[] = [];
    let isAwake = false;
    const wake = () => {
      isAwake = true;
      waiting.delete(wake);
      signal?.removeEventListener('abort', wake);
      for (const each of undo) each();
      resolve();
    };
    waiting.set(wake, wake);
    signal?.addEventListener('abort', wake, { once: true });
    undo.push(clock.after(Math.max(0, untilMs - clock.nowMs()), wake, true), onHalt(task, wake));
    if (watch !== undefined) undo.push(watch(wake));
    if (isAwake) wake(); // The turn has come already.
  });
  signal?.throwIfAborted();
}

/** The place of a call in the queue of its breaker, over its rounds. */
export class QueueWait {
  readonly #runtime: Runtime;
  readonly #site: CallSite;
  #place: QueuePlace | undefined;

  constructor(runtime: Runtime, site: CallSite) {
    this.#runtime = runtime;
    this.#site = site;
  }

  /** Waits for the turn of the call; returns the stop of a call that found the queue full or waited too long. */
  async wait(stop: Stop, signal: AbortSignal | undefined): Promise<Stop | undefined> {
    const { clock } = this.#runtime;
    const { breaker, task } = this.#site;
    if (breaker === undefined) return stop;
    this.#place ??= joinQueue(breaker, clock);
    const place = this.#place;
    if (place === undefined) return { ...stop, counters: { ...stop.counters, queued: breaker.settings.maxQueue } };
    let isTurn = false;
    const onTurn = (wake: () => void) =>
      place.onTurn(() => {
        isTurn = true;
        wake();
      });
    await sleepUntil(this.#runtime, this.#site, place.untilMs, signal, onTurn);
    if (isTurn || task?.haltStop !== undefined || this.#runtime.isDisposed) return undefined;
    return { ...stop, counters: { ...stop.counters, waited_secs: breaker.settings.queueTimeoutSecs } };
  }

  /** Judges the call, at its turn if it waits in the queue. */
  judge<T>(run: () => T): T {
    return this.#place === undefined ? run() : this.#place.judge(run);
  }

  leave(): void {
    this.#place?.leave();
    this.#place = undefined;
  }
}

/** Whether a call can wait in a queue until a running call ends. */
export function waitsInQueue({ kind, code, control }: Stop): boolean {
  return kind === 'wait' && code === 'concurrency_limit' && control === 'breaker';
}
