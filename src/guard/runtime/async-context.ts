/** Which task and which call the running code belongs to, across awaits. One storage for the whole process. */

import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import type { Call } from '../api.ts';
import type { TaskNode } from '../tasks/task.ts';
import type { Works } from './runtime.ts';

/** One level of nesting. Gears do not see each other's frames. */
export interface Frame {
  readonly works: Works;
  readonly task: TaskNode | undefined;
  readonly call: Call | undefined;
  readonly outer: Frame | undefined;
}

const storage = new AsyncLocalStorage<Frame>();

/** The innermost frame of a gear. */
export function frameOf(works: Works): Frame | undefined {
  let frame = storage.getStore();
  while (frame !== undefined && frame.works !== works) frame = frame.outer;
  return frame;
}

/**
 * Runs a call, without a closure: this is the hot path. Leaving the scope of a resource puts back what was around it;
 * `storage.run` would make that anew.
 */
export function applyInside(
  frame: Frame,
  fn: (...args: never[]) => unknown,
  self: unknown,
  args: readonly unknown[],
): unknown {
  return new AsyncResource('switchgear').runInAsyncScope(enter, self, frame, fn, args);
}

function enter(this: unknown, frame: Frame, fn: (...args: never[]) => unknown, args: readonly unknown[]): unknown {
  storage.enterWith(frame);
  return Reflect.apply(fn, this, args);
}

export function runInside<T>(works: Works, task: TaskNode, run: () => T): T {
  return storage.run({ works, task, call: undefined, outer: outerOf(works) }, run);
}

/** The frame around a new one. Of one gear only the innermost counts: calls that begin one another hold no row. */
export function outerOf(works: Works): Frame | undefined {
  const around = storage.getStore();
  return around?.works === works ? around.outer : around;
}
