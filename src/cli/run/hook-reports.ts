/** Hooks of an agent as the run around it hears them: which calls they can refuse, and what they halted. */

import type { Switchgear, Task } from '../../guard/api.ts';
import { runtimeOf } from '../../guard/runtime/runtime.ts';
import { halt } from '../../guard/tasks/halt.ts';
import type { Store } from '../../ports/store.ts';
import { forgetHooks, hookedRun } from '../../supervisor/hook-mailbox.ts';

export interface RunHooks {
  /** Whether they are asked about a tool. */
  ask(tool: string): boolean;
  /** An agent that a hook halted ends by itself as if all were well: its task is halted for the same reason. */
  heed(task: Task): void;
  /** Whether they halted it: then the call that was one too many was refused. */
  readonly halted: boolean;
  /** The run is over. */
  forget(): void;
}

/** Hooks know a run by the task that it began with. */
export function runHooks(gear: Switchgear, store: Store, first: string): RunHooks {
  const mailbox = hookedRun(store, first);
  const runtime = runtimeOf(gear);
  return {
    ask: (tool) => mailbox.state.tools.includes(tool),
    heed({ id }) {
      store.shared?.refresh();
      const node = runtime.tasks.get(id);
      const { halt: due } = mailbox.state;
      if (due !== null && node !== undefined) halt(runtime, node, due.stop, due.name, runtime.clock.nowMs());
    },
    get halted() {
      return mailbox.state.halt !== null;
    },
    forget: () => forgetHooks(store, first),
  };
}
