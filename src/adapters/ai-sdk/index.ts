/** The adapter of the Vercel AI SDK 6 and 7: guards the model and the tools of a call, an agent or a chat. */

import type { Refusal } from '../../core/refusal.ts';
import { defaultSwitchgear } from '../../guard/create-switchgear.ts';
import { isLiteral, unknownThing } from '../host/check-thing.ts';
import { reportGuarded } from '../host/guard-once.ts';
import { checkFallbacks, type HidingOptions } from '../host/host-run.ts';
import { protectApproval } from './approval.ts';
import { protectAiSdkModel } from './model.ts';
import { type AiSdkRuns, createAiSdkRuns } from './runs.ts';
import { isTool, protectTool } from './tool.ts';

/** The settings of a call that the adapter reads; all others pass unchanged. */
export interface AiSdkCall {
  readonly model?: unknown;
  readonly tools?: unknown;
  readonly toolApproval?: unknown;
}

/** How the latest run ended. */
export interface AiSdkOutcome {
  /** The refusal that halted the run, if any. */
  readonly halt: Refusal | undefined;
}

/** Options of `protect` for the AI SDK. */
export interface AiSdkOptions extends HidingOptions {
  /**
   * Names of tools that are agents: each call to one is a delegation with a child task.
   * @default []
   */
  readonly workers?: readonly string[];
}

/** The runs of each model or tool that is already guarded. */
const runsByObject = new WeakMap<object, AiSdkRuns>();

/**
 * Returns the settings of a call with guarded model and tools, for `generateText`, `streamText` or an agent.
 * @example
 * import { gateway, generateText } from 'ai';
 * import { protect } from 'switchgear/adapters/ai-sdk';
 *
 * const guarded = protect({ model: gateway('openai/gpt-5') });
 * const { text } = await generateText({ ...guarded, prompt: 'When is high tide?' });
 * console.log(text, guarded.halt?.code);
 */
export function protect<T extends AiSdkCall>(call: T, options: AiSdkOptions = {}): T & AiSdkOutcome {
  checkCall(call);
  const { gear = defaultSwitchgear() } = options;
  const tools = typeof call.tools === 'object' && call.tools !== null ? call.tools : undefined;
  if (tools !== undefined) checkFallbacks(options, Object.keys(tools));
  const isOurs = (thing: unknown) => runsByObject.get(thing as object)?.gear === gear;
  // A model or tool that is added to guarded settings joins their runs.
  const earlier = [call.model, ...Object.values(tools ?? {})].find(isOurs);
  const runs = runsByObject.get(earlier as object) ?? createAiSdkRuns({ ...options, gear });
  const guard = <V>(thing: V, make: () => V): V => {
    if (isOurs(thing)) return thing;
    const result = make();
    if (result !== thing) runsByObject.set(result as object, runs); // A tool that runs elsewhere is returned unchanged.
    return result;
  };

  const guarded = { ...call } as T & { model?: unknown; tools?: unknown; toolApproval?: unknown };
  if (call.model !== undefined)
    guarded.model = guard(call.model, () => protectAiSdkModel(call.model, runs, options.hideOpenTools));
  if (tools !== undefined) {
    guarded.tools = Object.fromEntries(
      Object.entries(tools).map(([name, tool]) => [name, guard(tool, () => protectTool(name, tool, runs, options))]),
    );
  }
  if (call.toolApproval !== undefined) {
    const isOwn = (name: string) => Object.hasOwn(tools ?? {}, name) && isTool(Reflect.get(tools ?? {}, name));
    guarded.toolApproval = protectApproval(call.toolApproval, runs, isOwn);
  }
  const names = Object.entries(tools ?? {});
  const own = names.filter(([, tool]) => isTool(tool)).map(([name]) => name);
  const others = names.map(([name]) => name).filter((name) => !own.includes(name));
  reportGuarded(gear, 'ai-sdk', [...(call.model === undefined ? [] : ['the model']), ...own], others);
  // Not enumerable, so that spreading the result into a call does not add a setting.
  return Object.defineProperty(guarded, 'halt', { get: () => runs.latest.halt }) as T & AiSdkOutcome;
}

/** Throws for an agent, a model or settings without anything to guard. */
function checkCall(call: AiSdkCall): void {
  const kinds = 'the settings of a call or an agent';
  if (!isLiteral(call)) throw unknownThing(kinds, call, 'write protect({ model, tools })');
  const { model, tools } = call;
  if (model === undefined && tools === undefined) throw unknownThing(kinds, call, 'they have neither model nor tools');
  if (tools !== undefined && tools !== null && !isLiteral(tools))
    throw unknownThing('an object of tools', tools, 'write tools: { name: tool }');
}
