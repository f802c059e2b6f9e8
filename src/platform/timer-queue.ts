/** Time limits of any number of calls on one timer: calls of equal duration end in the order in which they began. */

import type { Clock } from '../ports/clock.ts';

/** A call with a time limit: a link of the list of its duration, so that a call needs no other object. */
export interface TimedLink {
  readonly dueMs: number;
  fire(): void;
  /** Called after a task halted: ends the call if it belongs to a halted task. */
  endIfHalted?(): void;
  /** The list that holds the link. */
  list?: TimedList | undefined;
  previous?: TimedLink | undefined;
  next?: TimedLink | undefined;
}

/** Links in the order in which they fall due. */
export interface TimedList {
  first: TimedLink | undefined;
  last: TimedLink | undefined;
}

/** Appends a link that is in no list. */
export function appendLink(list: TimedList, link: TimedLink): void {
  const { last } = list;
  link.list = list;
  link.previous = last;
  link.next = undefined;
  if (last === undefined) list.first = link;
  else last.next = link;
  list.last = link;
}

/** Removes a link from its list; false if the link is in none. */
export function removeLink(link: TimedLink): boolean {
  const { list, previous, next } = link;
  if (list === undefined) return false;
  if (previous === undefined) list.first = next;
  else previous.next = next;
  if (next === undefined) list.last = previous;
  else next.previous = previous;
  link.list = undefined;
  link.previous = undefined; // A caller that keeps a link must not keep its neighbours.
  link.next = undefined;
  return true;
}

/** Time limits on one timer. */
export interface TimerQueue {
  /** Adds a link that falls due after a duration. */
  add(durationMs: number, link: TimedLink): void;
  /** Removes a link before it fires; false if it fired or was removed before. Cancels no timer. */
  remove(link: TimedLink): boolean;
  /** Fires every link that is due. */
  fireDue(): void;
  isEmpty(): boolean;
  /** Tells every link that a task halted. */
  endHalted(): void;
  /** Forgets all links and cancels the timer. */
  close(): void;
}

/** Creates an empty queue. */
export function createTimerQueue(clock: Pick<Clock, 'nowMs' | 'after'>): TimerQueue {
  const lists = new Map<number, TimedList>();
  let armedForMs = Number.POSITIVE_INFINITY;
  let disarm: (() => void) | undefined;

  function arm(dueMs: number, delayMs: number): void {
    if (dueMs >= armedForMs) return;
    disarm?.();
    armedForMs = dueMs;
    disarm = clock.after(delayMs, onTimer);
  }

  /** The timer stays armed when its link is removed: setting a timer costs more than one that finds nothing. */
  function onTimer(): void {
    armedForMs = Number.POSITIVE_INFINITY;
    disarm = undefined;
    fireDue();
  }

  function fireDue(): void {
    const nowMs = clock.nowMs();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const [durationMs, list] of lists) {
      for (let link = list.first; link !== undefined && link.dueMs <= nowMs; link = list.first) {
        removeLink(link);
        link.fire();
      }
      if (list.first === undefined) lists.delete(durationMs);
      else nextMs = Math.min(nextMs, list.first.dueMs);
    }
    if (nextMs < Number.POSITIVE_INFINITY) arm(nextMs, nextMs - nowMs);
  }

  return {
    add(durationMs, link) {
      let list = lists.get(durationMs);
      if (list === undefined) {
        list = { first: undefined, last: undefined };
        lists.set(durationMs, list);
      }
      appendLink(list, link);
      arm(link.dueMs, durationMs);
    },
    remove: removeLink,
    fireDue,
    isEmpty() {
      for (const list of lists.values()) if (list.first !== undefined) return false;
      return true;
    },
    endHalted() {
      const links: TimedLink[] = [];
      for (const list of lists.values()) {
        for (let link = list.first; link !== undefined; link = link.next) links.push(link);
      }
      for (const link of links) link.endIfHalted?.();
    },
    close() {
      disarm?.();
      disarm = undefined;
      armedForMs = Number.POSITIVE_INFINITY;
      lists.clear();
    },
  };
}
