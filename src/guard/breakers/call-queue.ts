/**
 * The queue of a breaker with `max_concurrent`: calls of this process that wait for a running one to end, first come,
 * first served. A call that arrives while others wait joins the queue, even if a slot is free.
 */

import { sweepMs } from '../../core/limits.ts';
import type { Clock } from '../../ports/clock.ts';
import type { BreakerEntry } from './breaker-registry.ts';

/** The place of one call in a queue. */
export interface QueuePlace {
  /** When the call gives up waiting. */
  readonly untilMs: number;
  /** Runs once at the turn of the call, or at once if it has come; returns a function that forgets the callback. */
  onTurn(run: () => void): () => void;
  /** Judges the call: no other call takes the free slot in the meantime. */
  judge<T>(run: () => T): T;
  /** Leaves the queue; the next call gets its turn. */
  leave(): void;
}

interface Ticket {
  isCalled: boolean;
  run: (() => void) | undefined;
}

export class CallQueue {
  readonly #entry: BreakerEntry;
  readonly #clock: Clock;
  readonly #tickets = new Set<Ticket>();
  /** Whether the call at its turn is being judged now. */
  #isJudging = false;
  #cancelPoll: (() => void) | undefined;

  constructor(entry: BreakerEntry, clock: Clock) {
    this.#entry = entry;
    this.#clock = clock;
  }

  get size(): number {
    return this.#tickets.size;
  }

  /** Whether a new call must wait behind others. */
  get isAhead(): boolean {
    return !this.#isJudging;
  }

  join(untilMs: number): QueuePlace {
    const ticket: Ticket = { isCalled: false, run: undefined };
    this.#tickets.add(ticket);
    this.#poll();
    return {
      untilMs,
      onTurn: (run) => {
        ticket.isCalled = false;
        ticket.run = run;
        this.call();
        return () => {
          ticket.run = undefined;
        };
      },
      judge: (run) => {
        this.#isJudging = true;
        try {
          return run();
        } finally {
          this.#isJudging = false;
        }
      },
      leave: () => this.#leave(ticket),
    };
  }

  /** Calls the first waiting calls, as many as there are free slots. */
  call(): void {
    let free = freeSlots(this.#entry);
    for (const ticket of this.#tickets) {
      if (free-- <= 0) return;
      if (ticket.isCalled) continue;
      ticket.isCalled = true;
      ticket.run?.();
    }
  }

  #leave(ticket: Ticket): void {
    if (!this.#tickets.delete(ticket)) return;
    this.call();
    if (this.#tickets.size > 0) return;
    this.#cancelPoll?.();
    if (this.#entry.queue === this) this.#entry.queue = undefined;
  }

  /** Looks for slots that no ending of a call has told of: after a reset, or with other settings. */
  #poll(): void {
    this.#cancelPoll?.();
    this.#cancelPoll = this.#clock.after(sweepMs, () => {
      this.call();
      if (this.#tickets.size > 0) this.#poll();
    });
  }
}

/** Joins the queue of a breaker; undefined if the queue is full. */
export function joinQueue(entry: BreakerEntry, clock: Clock): QueuePlace | undefined {
  const { maxQueue, queueTimeoutSecs } = entry.settings;
  if ((entry.queue?.size ?? 0) >= maxQueue) return undefined;
  entry.queue ??= new CallQueue(entry, clock);
  return entry.queue.join(clock.nowMs() + queueTimeoutSecs * 1000);
}

function freeSlots({ cell, settings }: BreakerEntry): number {
  const { maxConcurrent, mode } = settings;
  if (maxConcurrent === undefined || mode !== 'enforce') return Number.POSITIVE_INFINITY;
  return maxConcurrent - cell.state.inFlight;
}
