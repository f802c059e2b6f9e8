/**
 * The adapter of LangChain 1.x: adds a middleware to the settings of `createAgent` that guards every tool call and
 * model call.
 */

import { defaultSwitchgear } from '../../guard/create-switchgear.ts';
import { type HostAnswer, type HostCall, hostCall } from '../../guard/entries/host-call.ts';
import { isLiteral, unknownThing } from '../host/check-thing.ts';
import { guardOnce, isGuardedBy, reportGuarded } from '../host/guard-once.ts';
import {
  checkFallbacks,
  createHostRuns,
  delegateToWorker,
  fallbackOf,
  type HidingOptions,
  type HostRun,
  refusalText,
  turnOf,
} from '../host/host-run.ts';
import { callModel } from './model.ts';
import { type Handler, type Invokable, listRunNames, type ModelRequest, type ToolRequest, threadOf } from './shapes.ts';
import { appendLoopHint, askByInterrupt, isBubbleUp, makeFallbackMessage, makeRefusedMessage } from './tool.ts';
import { withSignal } from './with-signal.ts';

/** The settings that the adapter reads; all others pass unchanged. */
export interface LangChainSettings {
  readonly model: unknown;
  readonly middleware?: readonly unknown[];
}

/** Options of `protect` for LangChain. */
export interface LangChainOptions extends HidingOptions {
  /**
   * Names of tools that are agents: each call to one is a delegation with a child task.
   * @default []
   */
  readonly workers?: readonly string[];
}

/** The type of the given settings, inferred as constants so that no type is lost, but with mutable lists. */
type MutableSettings<S> = { -readonly [K in keyof S]: S[K] extends readonly [...infer L] ? [...L] : S[K] };

/**
 * Returns the guarded settings of an agent, for `createAgent`.
 * @example
 * import { createAgent } from 'langchain';
 * import { protect } from 'switchgear/adapters/langchain';
 *
 * const agent = createAgent(protect({ model: 'openai:gpt-5', tools: [] }));
 * const { messages } = await agent.invoke({ messages: 'When is high tide?' });
 */
export function protect<const S extends LangChainSettings>(
  settings: S,
  options: LangChainOptions = {},
): MutableSettings<S> {
  checkSettings(settings);
  const runFor = createHostRuns(options);
  const { middleware = [] } = settings;
  const { gear = defaultSwitchgear(), hideOpenTools } = options;
  if (middleware.some((item) => isGuardedBy(item, gear))) return settings as MutableSettings<S>;
  const isOnlyMiddleware = !middleware.some((item) => (item as { wrapToolCall?: unknown } | null)?.wrapToolCall);
  const guard = {
    name: 'switchgear',
    // Only these two hooks: others are nodes of the graph and count towards its recursion limit.
    wrapModelCall: (request: ModelRequest, handler: Handler<ModelRequest>) =>
      callModel(runFor(listRunNames(request.state), threadOf(request.runtime)), request, handler, hideOpenTools),
    wrapToolCall: (request: ToolRequest, handler: Handler<ToolRequest>) =>
      callTool(
        runFor(listRunNames(request.state), threadOf(request.runtime)),
        request,
        handler,
        options,
        isOnlyMiddleware,
      ),
  };
  const { tools = [] } = settings as { readonly tools?: readonly { readonly name?: unknown }[] };
  const names = Array.isArray(tools) ? tools.map((tool) => String(tool?.name)) : ['every tool'];
  if (Array.isArray(tools)) checkFallbacks(options, names);
  reportGuarded(gear, 'langchain', ['the model', ...names]);
  return { ...settings, middleware: [...middleware, guardOnce({}, gear, () => guard)] } as MutableSettings<S>;
}

/** Throws for an agent, a graph, a model or a tool: their copy would have no methods, and no middleware. */
function checkSettings(settings: unknown): void {
  const kinds = 'the settings of createAgent';
  if (!isLiteral(settings)) {
    const advice =
      'write createAgent(protect({ model, tools })); graphs, models and tools: switchgear/adapters/langgraph';
    throw unknownThing(kinds, settings, advice);
  }
  if (settings.model === undefined) throw unknownThing(kinds, settings, 'they have no model');
}

async function callTool(
  run: HostRun,
  request: ToolRequest,
  handler: Handler<ToolRequest>,
  { workers = [], ...options }: LangChainOptions,
  isOnlyMiddleware: boolean,
): Promise<unknown> {
  const { toolCall, runtime } = request;
  const { id, name, args } = toolCall;
  const task = run.beginCall();
  const fallback = fallbackOf(options, name);
  const host: HostCall = {
    id,
    task,
    turnId: turnOf(task),
    signal: runtime.signal,
    classify: (ending) => classifyResult(request, 'error' in ending ? ending.error : ending.value),
    shown: (value) => (value as { readonly content?: unknown } | null | undefined)?.content ?? value,
    ask: askByInterrupt(toolCall, runtime, () => run.awaitApproval(task)),
    canEdit: true,
    fallback: fallback && (async (...failed) => makeFallbackMessage(toolCall, await fallback(...failed))),
  };
  try {
    const answer: HostAnswer<unknown> = workers.includes(name)
      ? await delegateToWorker(run, task, name, args, () => handler(request))
      : await hostCall(
          run.gear,
          name,
          [args],
          ({ signal }, own) => handler(addSignal(withArgs(request, own), signal)),
          host,
        );
    if ('refusal' in answer) return await makeRefusedMessage(toolCall, refusalText(answer.refusal));
    return appendLoopHint(answer.value, task);
  } catch (error) {
    // Control-flow errors belong to the graph. With other middleware around tools, any error ends the run, also
    // without Switchgear.
    const isForHost = isBubbleUp(error) || runtime.signal?.aborted || isBadCall(error) || !isOnlyMiddleware;
    if (isForHost) throw error;
    // A hook replaces the agent's own error handling; this is the same text.
    return await makeRefusedMessage(toolCall, `${error}\n Please fix your mistakes.`);
  } finally {
    run.endCall(task);
  }
}

/** The request with the arguments that were approved, if they are others. */
function withArgs(request: ToolRequest, [args]: readonly unknown[]): ToolRequest {
  return args === request.toolCall.args ? request : { ...request, toolCall: { ...request.toolCall, args } };
}

/** Adds the signal of a call to its tool. */
function addSignal(request: ToolRequest, signal: AbortSignal): ToolRequest {
  const { tool } = request;
  const isInvokable = typeof (tool as Invokable | null | undefined)?.invoke === 'function';
  return isInvokable ? { ...request, tool: withSignal(tool as Invokable & object, signal) } : request;
}

/**
 * Classifies a result: invalid arguments and unknown tools are mistakes of the model, and an interrupt is not an
 * error.
 */
function classifyResult({ tool }: ToolRequest, result: unknown): 'failure' | 'neutral' | undefined {
  if (isBubbleUp(result) || isBadCall(result)) return 'neutral';
  const isError = (result as { readonly status?: unknown } | null | undefined)?.status === 'error';
  if (!isError) return undefined;
  return tool === undefined ? 'neutral' : 'failure';
}

function isBadCall(error: unknown): boolean {
  return (error as { readonly '~brand'?: unknown } | null | undefined)?.['~brand'] === 'ToolInvocationError';
}
