/**
 * A loop that somebody who can refuse the calls sees, too, is theirs: a watcher's halt waits for them, and comes all
 * the same where they let it go on.
 */

import type { Control } from '../../core/control.ts';
import type { LoopEvidence, LoopState } from '../../core/controls/loop/state.ts';
import { loopsLeftCallsMax, loopsLeftGapMax } from '../../core/limits.ts';
import { allow, type Verdict } from '../../core/verdict.ts';
import type { TaskState } from '../../guard/internal.ts';

/** What shows by the words of the agent, which only a watcher hears. */
const textEvidence: ReadonlySet<unknown> = new Set<LoopEvidence>(['near_call', 'near_error', 'same_words']);

/** Has a task leave loops of some tools to others. */
export function leaveLoopsToHooks(node: TaskState, isGuardedByHooks: (tool: string) => boolean): void {
  const { loop } = node.controls;
  if (loop?.check === undefined) return;
  const check = loop.check.bind(loop);
  let [firstCall, lastCall] = [0, Number.NEGATIVE_INFINITY];

  /** Whether it is left: for as many calls as a few refusals take. A few others in between end nothing. */
  function isLeftToHooks(verdict: Verdict): boolean {
    if (verdict.kind !== 'halt' || verdict.code !== 'tool_loop' || textEvidence.has(verdict.counters.evidence))
      return false;
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
