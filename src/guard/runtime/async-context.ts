/** Tracks the task and the call of the running code across awaits, in one storage for the whole process. */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Call } from '../api.ts';
import type { TaskState } from '../tasks/task.ts';
import type { Runtime } from './runtime.ts';

/** One level of nesting. Gears do not see each other's frames. */
export interface Frame {
  readonly runtime: Runtime;
  readonly task: TaskState | undefined;
  readonly call: Call | undefined;
  readonly outer: Frame | undefined;
}

const storage = new AsyncLocalStorage<Frame>();

/** The innermost frame of a gear. */
export function frameOf(runtime: Runtime): Frame | undefined {
  let frame = storage.getStore();
  while (frame !== undefined && frame.runtime !== runtime) frame = frame.outer;
  return frame;
}

/**
 * Runs a call without a closure, because this is the hot path. The scope of an `AsyncResource` takes about 70 ns less,
 * but after a stack overflow inside it Node ends the process.
 */
export function applyInside(
  frame: Frame,
  fn: (...args: never[]) => unknown,
  self: unknown,
  args: readonly unknown[],
): unknown {
  return storage.run(frame, Reflect.apply, fn, self, args);
}

export function runInside<T>(runtime: Runtime, task: TaskState, run: () => T): T {
  return storage.run({ runtime, task, call: undefined, outer: outerOf(runtime) }, run);
}

/** The outer frame of a new one. It skips frames of the same gear, so that nested calls form no growing chain. */
export function outerOf(runtime: Runtime): Frame | undefined {
  const around = storage.getStore();
  return around?.runtime === runtime ? around.outer : around;
}
