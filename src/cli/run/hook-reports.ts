/** Reads the reports of hooks under a run: the tools that they cover, and what they halted. */

import type { Switchgear, Task } from '../../guard/api.ts';
import { halt, runtimeOf } from '../../guard/internal.ts';
import type { Store } from '../../ports/store.ts';
import { dropHookMailbox, type NestedAgent, openHookMailbox } from '../../supervisor/hook-mailbox.ts';

export interface HookReports {
  /** Whether hooks cover a tool. */
  covers(tool: string): boolean;
  /** Halts the task with the reason of a hook's halt, because the agent itself ends as if successful. */
  applyHalt(task: Task): void;
  /** Whether hooks halted the task; then the call that exceeded the limit was refused. */
  readonly hasHalted: boolean;
  /** The agents that the agent of the run started, by session. */
  readonly nested: Readonly<Record<string, NestedAgent>>;
  /** Deletes the reports at the end of the run. */
  clear(): void;
}

/** Opens the reports of a run, which hooks store under the first task of the run. */
export function openHookReports(gear: Switchgear, store: Store, firstTask: string): HookReports {
  const mailbox = openHookMailbox(store, firstTask);
  const runtime = runtimeOf(gear);
  return {
    covers: (tool) => mailbox.state.tools.includes(tool),
    applyHalt({ id }) {
      store.shared?.refresh();
      const taskState = runtime.tasks.get(id);
      const { halt: hookHalt } = mailbox.state;
      if (hookHalt !== null && taskState !== undefined)
        halt(runtime, taskState, hookHalt.stop, hookHalt.name, runtime.clock.nowMs());
    },
    get hasHalted() {
      return mailbox.state.halt !== null;
    },
    get nested() {
      return mailbox.state.nested ?? {};
    },
    clear: () => dropHookMailbox(store, firstTask),
  };
}
