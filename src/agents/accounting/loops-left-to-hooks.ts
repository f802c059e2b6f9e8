/**
 * Leaves loops of tools with hooks to the hooks, which can refuse a call. If the loop continues, the run halts after
 * some more calls.
 */

import type { Control } from '../../core/control.ts';
import type { LoopState } from '../../core/controls/loop/state.ts';
import { loopsLeftCallsMax, loopsLeftGapMax } from '../../core/limits.ts';
import { allow, type Verdict } from '../../core/verdict.ts';
import type { TaskState } from '../../guard/internal.ts';

/** Makes a task leave loops of some tools to hooks. */
export function leaveLoopsToHooks(node: TaskState, isGuardedByHooks: (tool: string) => boolean): void {
  const { loop } = node.controls;
  if (loop?.check === undefined) return;
  const check = loop.check.bind(loop);
  let [firstCall, lastCall] = [0, Number.NEGATIVE_INFINITY];

  /**
   * Whether a loop is left to the hooks: for a bounded number of calls. A few other calls in between do not reset it.
   */
  function isLeftToHooks(verdict: Verdict): boolean {
    if (verdict.kind !== 'halt' || verdict.code !== 'tool_loop') return false;
    if (!isGuardedByHooks(String(verdict.counters.name))) return false;
    const { calls } = node.cells.budget.state;
    if (calls > lastCall + loopsLeftGapMax) firstCall = calls;
    lastCall = calls;
    return calls - firstCall < loopsLeftCallsMax;
  }

  const deferringLoop: Control<LoopState> = {
    ...loop,
    check(state, atMs) {
      const verdict = check(state, atMs);
      return isLeftToHooks(verdict) ? allow : verdict;
    },
  };
  node.controls = { ...node.controls, loop: deferringLoop };
  node.boundControls = undefined;
}
