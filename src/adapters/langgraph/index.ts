/**
 * The adapter of LangGraph: makes runs of compiled graphs tasks, and guards the tools and chat models of their nodes.
 */

import type { Call } from '../../guard/api.ts';
import { defaultSwitchgear } from '../../guard/create-switchgear.ts';
import { type HostCall, hostCall } from '../../guard/entries/host-call.ts';
import { hasMethod, unknownThing } from '../host/check-thing.ts';
import { guardOnce, isGuardedBy, reportGuarded } from '../host/guard-once.ts';
import {
  createHostRun,
  type FallbackOptions,
  fallbackOf,
  isTask,
  makeRefusedError,
  type ProtectOptions,
  refusalText,
} from '../host/host-run.ts';
import { guardRunnable } from '../langchain/guarded-runnable.ts';
import { callModel, readModelName } from '../langchain/model.ts';
import {
  type AiMessageLike,
  type Invokable,
  type LangChainRuntime,
  type MessageLike,
  type ModelRequest,
  messageText,
  type ToolCallLike,
} from '../langchain/shapes.ts';
import {
  appendLoopHint,
  askByInterrupt,
  isBubbleUp,
  makeFallbackMessage,
  makeRefusedMessage,
} from '../langchain/tool.ts';
import { addSignalTo } from '../langchain/with-signal.ts';
import { protectGraph } from './graph.ts';
import { streamModel } from './model-stream.ts';

export {
  type Choose,
  type DelegationNotes,
  type NextStep,
  type SupervisedState,
  type SupervisedUpdate,
  type Supervisor,
  type SupervisorOptions,
  supervisor,
} from './supervisor.ts';

/** Options of `protect` for LangGraph. */
export interface LangGraphOptions extends ProtectOptions, FallbackOptions {}

/**
 * Guards a compiled graph, a chat model, a tool or a list of tools; throws for anything else.
 * @example
 * import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
 * import { protect } from 'switchgear/adapters/langgraph';
 *
 * const graph = new StateGraph(MessagesAnnotation).addNode('reply', () => ({ messages: [] })).addEdge(START, 'reply');
 * const { messages } = await protect(graph.compile()).invoke({ messages: 'When is high tide?' });
 */
export function protect<T extends object>(thing: T, options: LangGraphOptions = {}): T {
  if (Array.isArray(thing)) return thing.map((each) => protect(each as object, options)) as T;
  const kinds = 'a compiled graph, a chat model, a tool or a list of tools';
  if (!hasMethod(thing, 'invoke')) {
    throw unknownThing(kinds, thing, hasMethod(thing, 'compile') ? 'write protect(graph.compile())' : '');
  }
  const { gear = defaultSwitchgear() } = options;
  if (isGuardedBy(thing, gear)) return thing;
  const invokable = thing as T & Invokable;
  if ('lg_is_pregel' in thing) {
    reportGuarded(gear, 'langgraph', ['every run of a graph']);
    return protectGraph(invokable, options);
  }
  if ('bindTools' in thing) {
    reportGuarded(gear, 'langgraph', [`model ${readModelName(thing)}`]);
    return protectModel(invokable, options);
  }
  if (hasMethod(Reflect.get(thing, 'graph'), 'invoke'))
    throw unknownThing(kinds, thing, 'write createAgent(protect(settings)) with switchgear/adapters/langchain');
  if (typeof invokable.name !== 'string' || invokable.name === '')
    throw unknownThing(kinds, thing, 'it has no name: protect the model, before bindTools, and its tools');
  reportGuarded(gear, 'langgraph', [`tool ${invokable.name}`]);
  return protectTool(invokable, options);
}

/** Guards a tool, which nodes invoke with a tool call of the model or with plain arguments. */
function protectTool<T extends Invokable & object>(tool: T, options: LangGraphOptions): T {
  const { gear = defaultSwitchgear(), task: taskOption } = options;
  const name = String(tool.name);
  const fallback = fallbackOf(options, name);

  async function invoke(input: unknown, config: unknown): Promise<unknown> {
    const runtime = (config ?? {}) as LangChainRuntime;
    const isCall = (input as { readonly type?: unknown } | null)?.type === 'tool_call';
    const call = (isCall ? input : { name, args: input }) as ToolCallLike;
    const task = isTask(taskOption) ? taskOption : gear.currentTask();
    const run = ({ signal }: Call, [args]: readonly unknown[]) => {
      const own = args === call.args ? input : isCall ? { ...call, args } : args;
      return tool.invoke(own, addSignalTo(config, signal));
    };
    const answerInstead: HostCall['fallback'] = async (...failed) => {
      const value = await fallback!(...failed);
      return isCall ? makeFallbackMessage(call, value) : value;
    };
    const answer = await hostCall(gear, name, [call.args], run, {
      id: call.id,
      task,
      signal: runtime.signal,
      classify: (ending) => ('error' in ending && isBubbleUp(ending.error) ? 'neutral' : classifyStatus(ending)),
      shown: (value) => (value as { readonly content?: unknown } | null)?.content ?? value,
      ask: askByInterrupt(call, runtime, () => {}),
      canEdit: true,
      fallback: fallback && answerInstead,
    });
    if ('value' in answer) return appendLoopHint(answer.value, task);
    if (isCall) return makeRefusedMessage(call, refusalText(answer.refusal));
    throw makeRefusedError(answer.refusal);
  }

  const call = (input: unknown, config?: unknown) =>
    invoke(input, Array.isArray(config) ? { callbacks: config } : config); // The older name, with callbacks.
  return guardOnce(tool, gear, () => guardRunnable(tool, { invoke, ...(hasMethod(tool, 'call') && { call }) }));
}

function classifyStatus(ending: object): 'failure' | undefined {
  const { value } = ending as { readonly value?: { readonly status?: unknown } | null };
  return value?.status === 'error' ? 'failure' : undefined;
}

/** The messages of a model's input. A text is no message of the user: a node may make it. */
function readMessages(input: unknown): readonly MessageLike[] {
  const prompt = input as { toChatMessages?(): readonly MessageLike[] } | null | undefined;
  const messages = typeof prompt?.toChatMessages === 'function' ? prompt.toChatMessages() : input;
  return Array.isArray(messages) ? (messages as readonly MessageLike[]) : [{ content: messages }];
}

/** Guards a chat model, also after `bindTools`. */
function protectModel<T extends Invokable & object>(model: T, options: ProtectOptions, namedModel: unknown = model): T {
  const run = createHostRun(options);

  /** A request that gives the model by its name: it is called here, with the signal. */
  function makeRequest(input: unknown, config: unknown): ModelRequest & { readonly model: string } {
    const messages = readMessages(input);
    return {
      model: readModelName(namedModel),
      messages,
      state: { messages },
      runtime: (config ?? {}) as LangChainRuntime,
    };
  }

  function invoke(input: unknown, config: unknown): Promise<unknown> {
    return callModel(run, makeRequest(input, config), callOnce(input, config));
  }

  /** Calls the model without streaming. */
  const callOnce =
    (input: unknown, config: unknown) =>
    async ({ toolChoice, signal, onText }: ModelRequest): Promise<unknown> => {
      const own = toolChoice === undefined ? config : { ...(config as object), tool_choice: toolChoice };
      return model.invoke(input, signal === undefined ? own : addSignalTo(own, signal, onText));
    };

  function stream(input: unknown, config: unknown): Promise<unknown> {
    const open = (signal: AbortSignal) => model.stream!(input, addSignalTo(config, signal));
    return streamModel(run, makeRequest(input, config), open, callOnce(input, config));
  }

  const guardDerived =
    (key: 'bindTools' | 'withConfig') =>
    (...args: never[]) => {
      const derive = Reflect.get(model, key) as (...params: never[]) => T;
      return protectModel(derive.apply(model, args), options, namedModel);
    };
  /** The older form of a call, for many prompts. */
  async function generate(prompts: readonly unknown[], callOptions: unknown, callbacks: unknown): Promise<unknown> {
    const stop = Array.isArray(callOptions) ? { stop: callOptions } : (callOptions as object | undefined);
    const config = { ...stop, ...(callbacks !== undefined && { callbacks }) };
    const answers = await Promise.all(prompts.map((prompt) => invoke(prompt, config)));
    const generations = answers.map((message) => [{ text: messageText(message as AiMessageLike), message }]);
    return { generations, llmOutput: {} };
  }

  async function* streamResponseChunks(messages: unknown, config: unknown): AsyncGenerator<object> {
    for await (const message of (await stream(messages, config)) as AsyncIterable<AiMessageLike>) {
      yield { text: messageText(message), message };
    }
  }

  const methods = {
    invoke,
    ...(hasMethod(model, 'stream') && { stream }),
    ...(hasMethod(model, 'generate') && { generate, generatePrompt: generate }),
    _streamResponseChunks: streamResponseChunks,
    bindTools: guardDerived('bindTools'),
    withConfig: guardDerived('withConfig'),
  };
  return guardOnce(model, run.gear, () => guardRunnable(model, methods));
}
