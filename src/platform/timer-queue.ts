/** Timeouts of any number of calls on one timer: calls of equal patience end in the order they began. */

import type { Clock } from '../../ports/clock.ts';

/** A call that may take too long: a link in the list of its duration. */
export interface Timeout {
  readonly dueMs: number;
  fire(): void;
  previous?: Timeout | undefined;
  next?: Timeout | undefined;
  queue?: Queue | undefined;
}

export interface Queue {
  first: Timeout | undefined;
  last: Timeout | undefined;
}

export interface Timeouts {
  /** Puts it at the end of the list. What is out anyway is its own link: a call needs no other. */
  add(durationMs: number, timeout: Timeout): void;
  /** Takes it away, unless it had fired or gone before. */
  remove(timeout: Timeout): void;
  /** Waits for nobody any more. */
  close(): void;
}

export function createTimeouts(clock: Clock): Timeouts {
  const queues = new Map<number, Queue>();
  let armedForMs = Number.POSITIVE_INFINITY;
  let disarm: (() => void) | undefined;

  function arm(dueMs: number, delayMs: number): void {
    if (dueMs >= armedForMs) return;
    disarm?.();
    armedForMs = dueMs;
    disarm = clock.after(delayMs, look);
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
    if (nextMs < Number.POSITIVE_INFINITY) arm(nextMs, nextMs - nowMs);
  }

  function remove(timeout: Timeout): void {
    const queue = timeout.queue;
    if (queue === undefined) return;
    timeout.queue = undefined;
    if (timeout.previous === undefined) queue.first = timeout.next;
    else timeout.previous.next = timeout.next;
    if (timeout.next === undefined) queue.last = timeout.previous;
    else timeout.next.previous = timeout.previous;
    timeout.previous = undefined; // Whoever keeps a call must not keep its neighbours.
    timeout.next = undefined;
  }

  return {
    add(durationMs, timeout) {
      let queue = queues.get(durationMs);
      if (queue === undefined) {
        queue = { first: undefined, last: undefined };
        queues.set(durationMs, queue);
      }
      const { last } = queue;
      timeout.previous = last;
      timeout.next = undefined;
      timeout.queue = queue;
      if (last === undefined) queue.first = timeout;
      else last.next = timeout;
      queue.last = timeout;
      arm(timeout.dueMs, durationMs);
    },
    remove,
    close() {
      disarm?.();
      disarm = undefined;
      armedForMs = Number.POSITIVE_INFINITY;
      queues.clear();
    },
  };
}
