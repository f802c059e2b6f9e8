/**
 * A loop that somebody who can refuse the calls sees, too, is theirs: a watcher's halt waits for them, and comes all
 * the same where they let it go on.
 */

import type { Control } from '../../core/control.ts';
import type { Evidence, LoopState } from '../../core/controls/loop/state.ts';
import { leftCallsMax, leftGapMax } from '../../core/limits.ts';
import { allow, type Verdict } from '../../core/verdict.ts';
import type { TaskState } from '../../guard/tasks/task.ts';

/** What shows by the words of the agent, which only a watcher hears. */
const byWords: ReadonlySet<unknown> = new Set<Evidence>(['near_call', 'near_error', 'same_words']);

/** Has a task leave loops of some tools to others. */
export function leaveLoops(node: TaskState, isTheirs: (tool: string) => boolean): void {
  const { loop } = node.controls;
  if (loop?.check === undefined) return;
  const check = loop.check.bind(loop);
  let [first, last] = [0, Number.NEGATIVE_INFINITY];

  /** Whether it is left: for as many calls as a few refusals take. A few others in between end nothing. */
  function isLeft(due: Verdict): boolean {
    if (due.kind !== 'halt' || due.code !== 'tool_loop' || byWords.has(due.counters.evidence)) return false;
    if (!isTheirs(String(due.counters.name))) return false;
    const { calls } = node.cells.budget.state;
    if (calls > last + leftGapMax) first = calls;
    last = calls;
    return calls - first < leftCallsMax;
  }

  const patient: Control<LoopState> = {
    ...loop,
    check(state, atMs) {
      const due = check(state, atMs);
      return isLeft(due) ? allow : due;
    },
  };
  node.controls = { ...node.controls, loop: patient };
  node.boundControls = undefined;
}
