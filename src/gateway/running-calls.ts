/**
 * The calls that run, with what they have reserved. A call that finds too little money left waits while other calls
 * may give some back: a parallel call must not end a task that has money.
 */

import type { Cost } from '../core/action.ts';
import { microsPerCent } from '../core/controls/budget/budget.ts';
import type { Stop } from '../core/verdict.ts';
import { SlotList, type TaskState } from '../guard/internal.ts';
import type { Clock } from '../ports/clock.ts';
import { reservationWaitMaxMs } from './limits.ts';

/** A call that runs or waits. */
export interface ReservedCall {
  readonly task: TaskState;
  readonly model: string;
  /** The reserved amounts; zero before the call begins. */
  readonly reserved: Pick<Cost, 'micros' | 'tokens'>;
  /** Removes the call from those that run; false if it does not run. */
  leave?: (() => boolean) | undefined;
}

export interface RunningCalls {
  begin(call: ReservedCall): void;
  /** Forgets a call that has ended or is refused, and wakes those that wait. */
  end(call: ReservedCall): void;
  /** Whether calls that run and do not wait may give back what a stop lacks. */
  mayRelease(stop: Stop, call: ReservedCall): boolean;
  /**
   * Calls `retry` when another call has given something back, until it returns true; and `giveUp` after the longest
   * time that a call waits in all. Returns false if that time is over.
   */
  wait(call: ReservedCall, retry: () => boolean, giveUp: () => void): boolean;
}

interface Waiting {
  readonly retry: () => boolean;
  readonly cancel: () => void;
}

export function createRunningCalls(clock: Clock): RunningCalls {
  const running = new SlotList<ReservedCall>();
  /** In the order in which they came. */
  const waiting = new Map<ReservedCall, Waiting>();
  const untilMs = new WeakMap<ReservedCall, number>();
  let isWaking = false;
  let isDue = false;

  function forget(call: ReservedCall): void {
    waiting.get(call)?.cancel();
    waiting.delete(call);
  }

  /** Tries all calls that wait, and again if one of them has ended meanwhile. */
  function wake(): void {
    isDue = true;
    if (isWaking) return;
    isWaking = true;
    while (isDue) {
      isDue = false;
      for (const [call, each] of [...waiting]) {
        // A call that waits again while it is tried has another entry.
        if (waiting.get(call) === each && each.retry() && waiting.get(call) === each) forget(call);
      }
    }
    isWaking = false;
  }

  return {
    begin(call) {
      call.leave = running.add(call);
    },
    end(call) {
      forget(call);
      if (call.leave?.() === true && waiting.size > 0) wake();
    },
    mayRelease(stop, call) {
      const lacking = computeLack(stop);
      if (lacking === undefined) return false;
      let reserved = 0;
      return running.some((other) => {
        if (other === call || waiting.has(other) || !sharesBudget(stop, call, other)) return false;
        reserved += other.reserved[lacking.unit];
        return reserved > lacking.amount;
      });
    },
    wait(call, retry, giveUp) {
      const nowMs = clock.nowMs();
      const endMs = untilMs.get(call) ?? nowMs + reservationWaitMaxMs;
      untilMs.set(call, endMs);
      if (nowMs >= endMs) return false;
      waiting.get(call)?.cancel();
      const cancel = clock.after(endMs - nowMs, () => {
        forget(call);
        giveUp();
      });
      waiting.set(call, { retry, cancel });
      return true;
    },
  };
}

/** What a budget lacks at least; undefined if the stop is not about money or tokens. */
export function computeLack({
  code,
  counters,
}: Stop): { readonly unit: 'micros' | 'tokens'; readonly amount: number } | undefined {
  const over = Number(counters.actual) - Number(counters.limit);
  if (!Number.isFinite(over)) return undefined;
  // Cents are rounded up.
  if (code === 'token_spend_limit') return { unit: 'micros', amount: Math.max(0, over - 1) * microsPerCent };
  return code === 'token_limit' ? { unit: 'tokens', amount: Math.max(0, over - 1) } : undefined;
}

/** Whether two calls spend from the budget that stops one of them. */
function sharesBudget({ counters: { scope } }: Stop, call: ReservedCall, other: ReservedCall): boolean {
  const { task } = call;
  if (scope === undefined) return rootOf(task) === rootOf(other.task);
  if (scope === 'session') return task.session === other.task.session;
  if (scope === 'model') return call.model === other.model;
  if (scope === 'key') return task.key?.name === other.task.key?.name;
  return scope !== 'agent' || task.agent === other.task.agent;
}

function rootOf(task: TaskState): TaskState {
  return task.parent === undefined ? task : rootOf(task.parent);
}
