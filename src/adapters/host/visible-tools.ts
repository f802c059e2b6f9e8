/** Hides tools with an open breaker from the model. */

import type { Switchgear, Task } from '../../guard/api.ts';
import { isCircuitOpen } from '../../guard/entries/host-call.ts';

/** Returns the tools whose breakers are not open; the same list if all are visible. */
export function visibleTools<T>(tools: readonly T[], gear: Switchgear, task: Task): readonly T[] {
  const visible = tools.filter(
    (tool) => !isCircuitOpen(gear, String((tool as { readonly name?: unknown }).name), task),
  );
  return visible.length < tools.length ? visible : tools;
}
