/** Which tools a model is shown, where open ones are hidden from it: it cannot ask for what would be refused. */

import type { Switchgear, Task } from '../../guard/api.ts';
import { isShut } from '../../guard/entries/host-call.ts';

/** The tools without those whose circuit is open; a list of which nothing is hidden stays itself. */
export function shownTools<T>(tools: readonly T[], gear: Switchgear, task: Task): readonly T[] {
  const shown = tools.filter((tool) => !isShut(gear, String((tool as { readonly name?: unknown }).name), task));
  return shown.length < tools.length ? shown : tools;
}
