/** Timeouts of any number of calls on one timer: calls of equal patience end in the order they began. */

import type { Clock } from '../ports/clock.ts';

/** A call that may take too long: a link in the list of its duration. */
export interface Timeout {
  readonly dueMs: number;
  readonly fire: () => void;
  previous: Timeout | undefined;
  next: Timeout | undefined;
  queue: Queue | undefined;
}

interface Queue {
  first: Timeout | undefined;
  last: Timeout | undefined;
}

export interface Timeouts {
  add(durationMs: number, atMs: number, fire: () => void): Timeout;
  /** Takes it away; false where it had fired or gone before. */
  remove(timeout: Timeout): boolean;
}

export function timeouts(clock: Clock): Timeouts {
  const queues = new Map<number, Queue>();
  let armedForMs = Number.POSITIVE_INFINITY;
  let disarm: (() => void) | undefined;

  function arm(dueMs: number, nowMs: number): void {
    if (dueMs >= armedForMs) return;
    disarm?.();
    armedForMs = dueMs;
    disarm = clock.after(dueMs - nowMs, look);
  }

  /** Ends what is due and waits for the next. A call that ended meanwhile costs nothing: nobody cancelled a timer. */
  function look(): void {
    armedForMs = Number.POSITIVE_INFINITY;
    disarm = undefined;
    const nowMs = clock.nowMs();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const [durationMs, queue] of queues) {
      while (queue.first !== undefined && queue.first.dueMs <= nowMs) {
        const due = queue.first;
        remove(due);
        due.fire();
      }
      if (queue.first === undefined) queues.delete(durationMs);
      else nextMs = Math.min(nextMs, queue.first.dueMs);
    }
    if (nextMs < Number.POSITIVE_INFINITY) arm(nextMs, nowMs);
  }

  function remove(timeout: Timeout): boolean {
    const queue = timeout.queue;
    if (queue === undefined) return false;
    timeout.queue = undefined;
    if (timeout.previous === undefined) queue.first = timeout.next;
    else timeout.previous.next = timeout.next;
    if (timeout.next === undefined) queue.last = timeout.previous;
    else timeout.next.previous = timeout.previous;
    return true;
  }

  return {
    add(durationMs, atMs, fire) {
      let queue = queues.get(durationMs);
      if (queue === undefined) {
        queue = { first: undefined, last: undefined };
        queues.set(durationMs, queue);
      }
      const timeout: Timeout = { dueMs: atMs + durationMs, fire, previous: queue.last, next: undefined, queue };
      if (queue.last === undefined) queue.first = timeout;
      else queue.last.next = timeout;
      queue.last = timeout;
      arm(timeout.dueMs, atMs);
      return timeout;
    },
    remove,
  };
}
