/** Waits until a time of the gear's clock, or until the task ends. */

import type { Clock } from '../ports/clock.ts';
import type { TaskNode } from './task-node.ts';
import { atHalt } from './tasks.ts';

export function sleepUntil(
  runner: { readonly clock: Clock },
  task: TaskNode | undefined,
  untilMs: number,
): Promise<void> {
  return new Promise((resolve) => {
    let forget: (() => void) | undefined;
    const wake = () => {
      stop();
      forget?.();
      resolve();
    };
    const stop = runner.clock.after(Math.max(0, untilMs - runner.clock.nowMs()), wake, true);
    if (task !== undefined) forget = atHalt(task, wake);
  });
}
