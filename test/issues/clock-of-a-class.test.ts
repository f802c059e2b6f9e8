/** A clock whose methods need their receiver, as those of a class do. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBreaker } from '../../src/breaker.ts';
import type { Clock } from '../../src/index.ts';

class OwnClock implements Clock {
  #nowMs = 0;
  #timers: { readonly dueMs: number; readonly run: () => void }[] = [];
  nowMs(): number {
    return this.#nowMs;
  }
  wallMs(): number {
    return this.#nowMs;
  }
  after(delayMs: number, run: () => void): () => void {
    const timer = { dueMs: this.#nowMs + delayMs, run };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((each) => each !== timer);
    };
  }
  move(ms: number): void {
    this.#nowMs += ms;
    const due = this.#timers.filter(({ dueMs }) => dueMs <= this.#nowMs);
    this.#timers = this.#timers.filter((each) => !due.includes(each));
    for (const { run } of due) run();
  }
}

test('a time limit holds on a clock that is an object of a class', async () => {
  const clock = new OwnClock();
  const breaker = createBreaker({ timeoutSecs: 1, clock });
  const call = breaker.execute(() => new Promise<never>(() => {}));
  clock.move(1_001);
  await assert.rejects(async () => call, { name: 'TimeoutError' });
});
