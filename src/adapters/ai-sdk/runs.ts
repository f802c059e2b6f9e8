/**
 * Finds the run of a model or tool call. The AI SDK has no run ids, so a run is recognised by the ids of its tool
 * calls, which the next prompt contains.
 */

import { evictOldest } from '../../core/bounded.ts';
import { countedIdsMax } from '../../core/limits.ts';
import type { Switchgear, Task } from '../../guard/api.ts';
import { createHostRun, type HostRun, type ProtectOptions } from '../host/host-run.ts';
import type { AiSdkPart, AiSdkPrompt } from './observe-messages.ts';

export interface AiSdkRuns {
  readonly gear: Switchgear;
  /** The run whose tool calls are in a prompt; a new run if the prompt contains no known call. */
  runForPrompt(prompt: AiSdkPrompt): HostRun;
  /** The run whose model requested a tool call. */
  runForCall(id: string | undefined): HostRun;
  /** Records the calls that the model requested; without calls the run has its final answer. */
  recordCalls(run: HostRun, task: Task, ids: readonly string[]): void;
  /** The latest run. */
  readonly latest: HostRun;
}

export function createAiSdkRuns(options: ProtectOptions): AiSdkRuns {
  /** For calls that no guarded model requested: those of an unguarded model, or of an earlier process. */
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
      // The SDK retries a failed model call with the same prompt object.
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

/** The run of the last known call in a prompt. */
function findRunInPrompt(prompt: AiSdkPrompt, byCall: ReadonlyMap<string, HostRun>): HostRun | undefined {
  for (let index = prompt.length - 1; index >= 0; index--) {
    const content = prompt[index]?.content;
    const parts = Array.isArray(content) ? (content as readonly AiSdkPart[]) : [];
    const knownPart = parts.findLast(({ toolCallId }) => byCall.has(String(toolCallId)));
    if (knownPart !== undefined) return byCall.get(String(knownPart.toolCallId));
  }
  return undefined;
}
