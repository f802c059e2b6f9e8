/** The Vercel AI SDK, 6 and 7: the model and the tools of one call, agent or chat, guarded. */

import type { Refusal } from '../core/refusal.ts';
import { protectModel } from './ai-sdk-model.ts';
import { aiSdkRuns } from './ai-sdk-runs.ts';
import { protectTool } from './ai-sdk-tool.ts';
import type { ProtectOptions } from './host-run.ts';

/** The part of a call's settings that is read: everything else passes as it is. */
export interface AiSdkCall {
  readonly model?: unknown;
  readonly tools?: unknown;
}

/** How the latest run ended. */
export interface AiSdkOutcome {
  /** The refusal that ended it; undefined while nothing did. */
  readonly halt: Refusal | undefined;
}

export interface AiSdkOptions extends ProtectOptions {
  /** Tools that are agents themselves: each is sent out as a worker, with a task of its own below this one. */
  readonly workers?: readonly string[];
}

/** The settings of a call with model and tools guarded; hand them to `generateText`, `streamText` or an agent. */
export function protect<T extends AiSdkCall>(call: T, options: AiSdkOptions = {}): T & AiSdkOutcome {
  const runs = aiSdkRuns(options);
  const guarded = { ...call } as T & { model?: unknown; tools?: unknown };
  if (call.model !== undefined) guarded.model = protectModel(call.model, runs);
  if (typeof call.tools === 'object' && call.tools !== null) {
    guarded.tools = Object.fromEntries(
      Object.entries(call.tools).map(([name, tool]) => [name, protectTool(name, tool, runs, options.workers)]),
    );
  }
  // Not enumerable: spread into a call it must not become a setting.
  return Object.defineProperty(guarded, 'halt', { get: () => runs.latest.halt }) as T & AiSdkOutcome;
}
