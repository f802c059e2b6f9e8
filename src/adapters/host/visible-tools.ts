/** Which tools a model is shown, where open ones are hidden from it: it cannot ask for what would be refused. */

import type { Switchgear, Task } from '../../guard/api.ts';
import { isCircuitOpen } from '../../guard/entries/host-call.ts';

/** The tools without those whose circuit is open; a list of which nothing is hidden stays itself. */
export function visibleTools<T>(tools: readonly T[], gear: Switchgear, task: Task): readonly T[] {
  const visible = tools.filter(
    (tool) => !isCircuitOpen(gear, String((tool as { readonly name?: unknown }).name), task),
  );
  return visible.length < tools.length ? visible : tools;
}
