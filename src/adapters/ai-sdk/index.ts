/** The Vercel AI SDK, 6 and 7: the model and the tools of one call, agent or chat, guarded. */

import type { Refusal } from '../../core/refusal.ts';
import { defaultSwitchgear } from '../../guard/create-switchgear.ts';
import type { HidingOptions } from '../host/host-run.ts';
import { protectApproval } from './approval.ts';
import { protectAiSdkModel } from './model.ts';
import { type AiSdkRuns, createAiSdkRuns } from './runs.ts';
import { isTool, protectTool } from './tool.ts';

/** The part of a call's settings that is read: everything else passes as it is. */
export interface AiSdkCall {
  readonly model?: unknown;
  readonly tools?: unknown;
  readonly toolApproval?: unknown;
}

/** How the latest run ended. */
export interface AiSdkOutcome {
  /** The refusal that ended it; undefined while nothing did. */
  readonly halt: Refusal | undefined;
}

/** Options of `protect` for the AI SDK. */
export interface AiSdkOptions extends HidingOptions {
  /** Tools that are agents themselves: each is sent out as a worker, with a task of its own below this one. */
  readonly workers?: readonly string[];
}

/** The runs of what is guarded already. */
const runsByObject = new WeakMap<object, AiSdkRuns>();

/** The settings of a call with model and tools guarded; hand them to `generateText`, `streamText` or an agent. */
export function protect<T extends AiSdkCall>(call: T, options: AiSdkOptions = {}): T & AiSdkOutcome {
  const { gear = defaultSwitchgear(), workers } = options;
  const tools = typeof call.tools === 'object' && call.tools !== null ? call.tools : undefined;
  const isOurs = (thing: unknown) => runsByObject.get(thing as object)?.gear === gear;
  // What is added to guarded settings belongs to the same runs.
  const earlier = [call.model, ...Object.values(tools ?? {})].find(isOurs);
  const runs = runsByObject.get(earlier as object) ?? createAiSdkRuns({ ...options, gear });
  const guard = <V>(thing: V, make: () => V): V => {
    if (isOurs(thing)) return thing;
    const result = make();
    if (result !== thing) runsByObject.set(result as object, runs); // A tool that others run stays as it is.
    return result;
  };

  const guarded = { ...call } as T & { model?: unknown; tools?: unknown; toolApproval?: unknown };
  if (call.model !== undefined)
    guarded.model = guard(call.model, () => protectAiSdkModel(call.model, runs, options.hideOpenTools));
  if (tools !== undefined) {
    guarded.tools = Object.fromEntries(
      Object.entries(tools).map(([name, tool]) => [name, guard(tool, () => protectTool(name, tool, runs, workers))]),
    );
  }
  if (call.toolApproval !== undefined) {
    const isOwn = (name: string) => Object.hasOwn(tools ?? {}, name) && isTool(Reflect.get(tools ?? {}, name));
    guarded.toolApproval = protectApproval(call.toolApproval, runs, isOwn);
  }
  // Not enumerable: spread into a call it must not become a setting.
  return Object.defineProperty(guarded, 'halt', { get: () => runs.latest.halt }) as T & AiSdkOutcome;
}
