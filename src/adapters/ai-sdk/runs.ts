/** Which run of the AI SDK a call belongs to: the SDK names none, but calls have ids, and the next prompt has them. */

import { evictOldest } from '../../core/bounded.ts';
import { countedIdsMax } from '../../core/limits.ts';
import type { Switchgear, Task } from '../../guard/api.ts';
import { createHostRun, type HostRun, type ProtectOptions } from '../host/host-run.ts';
import type { AiSdkPart, AiSdkPrompt } from './observe-messages.ts';

export interface AiSdkRuns {
  readonly gear: Switchgear;
  /** The run whose calls a prompt tells of; a new one where it tells of none that is known. */
  runForPrompt(prompt: AiSdkPrompt): HostRun;
  /** The run whose model asked for a call. */
  runForCall(id: string | undefined): HostRun;
  /** The model asked for these calls; where there are none, it came to its answer. */
  recordCalls(run: HostRun, task: Task, ids: readonly string[]): void;
  /** The latest run. */
  readonly latest: HostRun;
}

export function createAiSdkRuns(options: ProtectOptions): AiSdkRuns {
  /** For calls that no model of ours asked for: those of one that is not guarded, or of an earlier process. */
  const unattributedRun = createHostRun(options);
  const byCall = new Map<string, HostRun>();
  const byPrompt = new WeakMap<AiSdkPrompt, HostRun>();
  let latest = unattributedRun;

  function recordCall(run: HostRun, id: string): void {
    evictOldest(byCall, countedIdsMax);
    byCall.set(id, run);
  }

  return {
    gear: unattributedRun.gear,
    get latest() {
      return latest;
    },
    runForPrompt(prompt) {
      // The SDK tries a model that failed again with the prompt it has.
      latest = byPrompt.get(prompt) ?? findRunInPrompt(prompt, byCall) ?? createHostRun(options);
      byPrompt.set(prompt, latest);
      return latest;
    },
    runForCall(id = '') {
      latest = byCall.get(id) ?? unattributedRun;
      recordCall(latest, id);
      return latest;
    },
    recordCalls(run, task, ids) {
      for (const id of ids) recordCall(run, id);
      if (ids.length > 0) return;
      run.end(task);
      for (const [id, otherRun] of byCall) if (otherRun === run) byCall.delete(id);
    },
  };
}

/** The run of the last call in a prompt that is known. */
function findRunInPrompt(prompt: AiSdkPrompt, byCall: ReadonlyMap<string, HostRun>): HostRun | undefined {
  for (let index = prompt.length - 1; index >= 0; index--) {
    const content = prompt[index]?.content;
    const parts = Array.isArray(content) ? (content as readonly AiSdkPart[]) : [];
    const knownPart = parts.findLast(({ toolCallId }) => byCall.has(String(toolCallId)));
    if (knownPart !== undefined) return byCall.get(String(knownPart.toolCallId));
  }
  return undefined;
}
