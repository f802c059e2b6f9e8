/** Which task and which call the running code belongs to, across awaits. One storage for the whole process. */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Call } from './front-door.ts';
import type { TaskNode } from './task-node.ts';
import type { Works } from './works.ts';

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

/** Runs a call, without a closure: this is the hot path. */
export function applyInside(
  works: Works,
  task: TaskNode | undefined,
  call: Call,
  fn: (...args: never[]) => unknown,
  self: unknown,
  args: readonly unknown[],
): unknown {
  return storage.run({ works, task, call, outer: storage.getStore() }, Reflect.apply, fn, self, args);
}

export function runInside<T>(works: Works, task: TaskNode, run: () => T): T {
  return storage.run({ works, task, call: undefined, outer: storage.getStore() }, run);
}
