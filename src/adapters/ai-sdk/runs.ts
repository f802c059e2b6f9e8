/** Which run of the AI SDK a call belongs to: the SDK names none, but calls have ids, and the next prompt has them. */

import { makeRoom } from '../../core/bounded.ts';
import { countedIdsMax } from '../../core/limits.ts';
import type { Switchgear, Task } from '../../guard/api.ts';
import { createHostRun, type HostRun, type ProtectOptions } from '../host/host-run.ts';
import type { Part, Prompt } from './observe-messages.ts';

export interface AiSdkRuns {
  readonly gear: Switchgear;
  /** The run whose calls a prompt tells of; a new one where it tells of none that is known. */
  ofPrompt(prompt: Prompt): HostRun;
  /** The run whose model asked for a call. */
  ofCall(id: string | undefined): HostRun;
  /** The model asked for these calls; where there are none, it came to its answer. */
  asked(run: HostRun, task: Task, ids: readonly string[]): void;
  /** The latest run. */
  readonly latest: HostRun;
}

export function aiSdkRuns(options: ProtectOptions): AiSdkRuns {
  /** For calls that no model of ours asked for: those of one that is not guarded, or of an earlier process. */
  const lone = createHostRun(options);
  const byCall = new Map<string, HostRun>();
  const byPrompt = new WeakMap<Prompt, HostRun>();
  let latest = lone;

  function note(run: HostRun, id: string): void {
    makeRoom(byCall, countedIdsMax);
    byCall.set(id, run);
  }

  return {
    gear: lone.gear,
    get latest() {
      return latest;
    },
    ofPrompt(prompt) {
      // The SDK tries a model that failed again with the prompt it has.
      latest = byPrompt.get(prompt) ?? toldOf(prompt, byCall) ?? createHostRun(options);
      byPrompt.set(prompt, latest);
      return latest;
    },
    ofCall(id = '') {
      latest = byCall.get(id) ?? lone;
      note(latest, id);
      return latest;
    },
    asked(run, task, ids) {
      for (const id of ids) note(run, id);
      if (ids.length > 0) return;
      run.end(task);
      for (const [id, each] of byCall) if (each === run) byCall.delete(id);
    },
  };
}

/** The run of the last call in a prompt that is known. */
function toldOf(prompt: Prompt, byCall: ReadonlyMap<string, HostRun>): HostRun | undefined {
  for (let at = prompt.length - 1; at >= 0; at--) {
    const content = prompt[at]?.content;
    const parts = Array.isArray(content) ? (content as readonly Part[]) : [];
    const known = parts.findLast(({ toolCallId }) => byCall.has(String(toolCallId)));
    if (known !== undefined) return byCall.get(String(known.toolCallId));
  }
  return undefined;
}
