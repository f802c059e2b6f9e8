/** Which task and which call the running code belongs to, across awaits. One storage for the whole process. */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Call } from './front-door.ts';
import type { TaskNode } from './task-node.ts';

/** One level of nesting. Gears do not see each other's frames. */
export interface Frame {
  readonly gear: object;
  readonly task: TaskNode | undefined;
  readonly call: Call | undefined;
  readonly outer: Frame | undefined;
}

const storage = new AsyncLocalStorage<Frame>();

/** The innermost frame of a gear. */
export function frameOf(gear: object): Frame | undefined {
  let frame = storage.getStore();
  while (frame !== undefined && frame.gear !== gear) frame = frame.outer;
  return frame;
}

/** As `runInside`, for the hot path: no closure is made. */
export function applyInside(
  gear: object,
  task: TaskNode | undefined,
  call: Call,
  fn: (...args: never[]) => unknown,
  self: unknown,
  args: readonly unknown[],
): unknown {
  return storage.run({ gear, task, call, outer: storage.getStore() }, Reflect.apply, fn, self, args);
}

export function runInside<T>(gear: object, task: TaskNode | undefined, call: Call | undefined, run: () => T): T {
  return storage.run({ gear, task, call, outer: storage.getStore() }, run);
}
