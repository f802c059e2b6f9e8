/** Tracks pending calls, and steps in which unseen calls may run. For a bounded time their tasks are not idle. */

import { evictOldest } from '../../core/bounded.ts';
import { openCallsMax, patienceMaxMs, sweepMs } from '../../core/limits.ts';
import type { Task } from '../../guard/api.ts';
import type { ObservedCall } from '../../guard/entries/observed-call.ts';
import type { Clock } from '../../ports/clock.ts';

/** A call without a result. */
export interface PendingCall {
  readonly task: Task;
  readonly tool: string;
  readonly agent: string | undefined;
  readonly message: string | undefined;
  readonly sinceMs: number;
  readonly observed: ObservedCall;
}

export interface PendingCalls {
  open(id: string, call: Omit<PendingCall, 'sinceMs'>): void;
  has(id: string): boolean;
  close(id: string): PendingCall | undefined;
  /** Closes earlier calls of an agent: a later message shows that they ended and that their results were lost. */
  closeEarlier(agent: string | undefined, message: string | undefined): void;
  setStep(agent: string | undefined, task: Task, isRunning: boolean): void;
  end(): void;
}

export function trackPendingCalls(clock: Clock): PendingCalls {
  const calls = new Map<string, PendingCall>();
  const steps = new Map<string, { readonly task: Task; readonly sinceMs: number }>();
  let disarm: (() => void) | undefined;

  function sendHeartbeats(): void {
    disarm = undefined;
    const nowMs = clock.nowMs();
    const alive = new Set<Task>();
    for (const { task, sinceMs } of [...calls.values(), ...steps.values()]) {
      if (nowMs - sinceMs <= patienceMaxMs) alive.add(task);
    }
    for (const task of alive) task.observe({ type: 'heartbeat' });
    if (alive.size > 0) arm();
  }

  function arm(): void {
    disarm ??= clock.after(sweepMs, sendHeartbeats);
  }

  return {
    open(id, call) {
      const [oldest] = calls.values();
      if (evictOldest(calls, openCallsMax) !== undefined) oldest?.observed.settle();
      calls.get(id)?.observed.settle(); // The id was forgotten, and is used again.
      calls.set(id, { ...call, sinceMs: clock.nowMs() });
      arm();
    },
    has: (id) => calls.has(id),
    close(id) {
      const call = calls.get(id);
      calls.delete(id);
      return call;
    },
    closeEarlier(agent, message) {
      if (message === undefined) return;
      for (const [id, call] of calls) {
        if (call.agent !== agent || call.message === undefined || call.message === message) continue;
        calls.delete(id);
        call.observed.settle();
      }
    },
    setStep(agent, task, isRunning) {
      const key = agent ?? '';
      if (!isRunning) steps.delete(key);
      else {
        steps.set(key, { task, sinceMs: clock.nowMs() });
        arm();
      }
    },
    end() {
      disarm?.();
      disarm = undefined;
      for (const { observed } of calls.values()) observed.settle();
      calls.clear();
      steps.clear();
    },
  };
}
