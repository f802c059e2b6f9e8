/** Calls that are out, and steps in which some may be: their tasks are not idle, as long as that can be believed. */

import { makeRoom } from '../../core/bounded.ts';
import { openCallsMax, patienceMaxMs, sweepMs } from '../../core/limits.ts';
import type { Task } from '../../guard/api.ts';
import type { Clock } from '../../ports/clock.ts';
import type { WatchedCall } from './observed-call.ts';

/** A call whose result is yet to come. */
export interface OutCall {
  readonly task: Task;
  readonly agent: string | undefined;
  readonly message: string | undefined;
  readonly sinceMs: number;
  readonly watched: WatchedCall;
}

export interface OutCalls {
  open(id: string, task: Task, agent: string | undefined, message: string | undefined, watched: WatchedCall): void;
  close(id: string): OutCall | undefined;
  /** Calls of an agent that a later message shows to be over: their results were lost. */
  passed(agent: string | undefined, message: string | undefined): void;
  step(agent: string | undefined, task: Task, on: boolean): void;
  end(): void;
}

export function outCalls(clock: Clock): OutCalls {
  const calls = new Map<string, OutCall>();
  const steps = new Map<string, { readonly task: Task; readonly sinceMs: number }>();
  let disarm: (() => void) | undefined;

  function sign(): void {
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
    disarm ??= clock.after(sweepMs, sign);
  }

  return {
    open(id, task, agent, message, watched) {
      const lost = makeRoom(calls, openCallsMax);
      if (lost !== undefined) calls.get(lost)?.watched.settle();
      calls.set(id, { task, agent, message, watched, sinceMs: clock.nowMs() });
      arm();
    },
    close(id) {
      const call = calls.get(id);
      calls.delete(id);
      return call;
    },
    passed(agent, message) {
      if (message === undefined) return;
      for (const [id, call] of calls) {
        if (call.agent !== agent || call.message === undefined || call.message === message) continue;
        calls.delete(id);
        call.watched.settle();
      }
    },
    step(agent, task, on) {
      const key = agent ?? '';
      if (!on) steps.delete(key);
      else {
        steps.set(key, { task, sinceMs: clock.nowMs() });
        arm();
      }
    },
    end() {
      disarm?.();
      disarm = undefined;
      for (const { watched } of calls.values()) watched.settle();
      calls.clear();
      steps.clear();
    },
  };
}
