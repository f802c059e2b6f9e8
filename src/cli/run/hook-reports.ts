/** Hooks of an agent as the run around it hears them: which calls they can refuse, and what they halted. */

import type { Switchgear, Task } from '../../guard/api.ts';
import { halt, runtimeOf } from '../../guard/internal.ts';
import type { Store } from '../../ports/store.ts';
import { dropHookMailbox, openHookMailbox } from '../../supervisor/hook-mailbox.ts';

export interface HookReports {
  /** Whether they are asked about a tool. */
  covers(tool: string): boolean;
  /** An agent that a hook halted ends by itself as if all were well: its task is halted for the same reason. */
  applyHalt(task: Task): void;
  /** Whether they halted it: then the call that was one too many was refused. */
  readonly hasHalted: boolean;
  /** The run is over. */
  clear(): void;
}

/** Hooks know a run by the task that it began with. */
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
    clear: () => dropHookMailbox(store, firstTask),
  };
}
