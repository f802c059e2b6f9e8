/** Guards a model call of LangChain: meters and observes it, and after a halt makes one closing answer instead. */

import type { Refusal } from '../../core/refusal.ts';
import type { Call, Task } from '../../guard/api.ts';
import { hostCall } from '../../guard/entries/host-call.ts';
import { callInTime } from '../host/closing-call.ts';
import {
  beginTurn,
  claimClosingAnswer,
  type HostRun,
  makeHaltFacts,
  makeRefusedError,
  refusalText,
  throwAtLimit,
} from '../host/host-run.ts';
import { lengthOf, meterEstimate, meterUsage, usageRemedies } from '../host/meter-usage.ts';
import { visibleTools } from '../host/visible-tools.ts';
import {
  type AiMessageLike,
  type Handler,
  type Invokable,
  loadMessageClasses,
  type MessageLike,
  type ModelRequest,
  messageText,
} from './shapes.ts';
import { type OnText, withSignal } from './with-signal.ts';

export async function callModel(
  run: HostRun,
  originalRequest: ModelRequest,
  handler: Handler<ModelRequest>,
  isHiding = false,
): Promise<unknown> {
  const task = run.beginCall();
  try {
    const request = isHiding
      ? { ...originalRequest, tools: visibleTools(originalRequest.tools ?? [], run.gear, task) }
      : originalRequest;
    observeRequest(task, request);
    const name = readModelName(request.model);
    const host = { kind: 'model', task, signal: request.runtime.signal } as const;
    let writtenLength = 0;
    const onText = (text: string) => {
      writtenLength += text.length;
      task.observe({ type: 'heartbeat' });
    };
    /** The text that a model has streamed is paid for, also if its call breaks off. */
    const meterCut = () => {
      if (writtenLength === 0) return;
      const inputLength = promptLength(request.messages);
      meterEstimate(run.gear, task, { model: name, inputLength, outputLength: writtenLength, remedy: undefined });
    };
    const call = ({ signal }: Call) => handler(addSignal(request, signal, onText));
    const answer =
      task.halt === undefined
        ? await hostCall(run.gear, name, [], call, host).catch((error) => {
            meterCut();
            throw error;
          })
        : { refusal: task.halt };
    if ('value' in answer) {
      if (!observeAnswer(run, task, answer.value, name, request.messages)) run.end(task);
      return answer.value;
    }
    meterCut();
    if (answer.refusal.kind !== 'halt') throw makeRefusedError(answer.refusal);
    return await closingAnswer(run, task, answer.refusal, request, handler);
  } finally {
    run.endCall(task);
  }
}

/** Begins a model call: the task of the call learns what the user said. */
export function beginModelCall(run: HostRun, request: ModelRequest): Task {
  const task = run.beginCall();
  observeRequest(task, request);
  return task;
}

function observeRequest(task: Task, { messages }: ModelRequest): void {
  const last = messages.at(-1);
  if (last?.type === 'human') task.observe({ type: 'user', text: messageText(last) });
  beginTurn(task);
}

/** Adds a signal to the calls of the model. A model that is given by its name is left as it is. */
function addSignal(request: ModelRequest, signal: AbortSignal, onText?: OnText): ModelRequest {
  const { model } = request;
  const isModel = typeof (model as { readonly invoke?: unknown } | null)?.invoke === 'function';
  if (isModel) return { ...request, model: withSignal(model as Invokable & object, signal, onText) };
  return { ...request, signal, ...(onText && { onText }) };
}

export function promptLength(messages: readonly MessageLike[]): number {
  return messages.reduce((length, each) => length + messageText(each).length, 0);
}

/** Makes the closing answer. It has no tool calls, so the agent ends without another step of its graph. */
export async function closingAnswer(
  run: HostRun,
  task: Task,
  halt: Refusal,
  request: ModelRequest,
  handler: Handler<ModelRequest>,
): Promise<unknown> {
  let message: AiMessageLike | undefined;
  try {
    throwAtLimit(run.gear, task);
  } catch (error) {
    run.end(task);
    throw error;
  }
  if (claimClosingAnswer(task, halt)) {
    try {
      const closing = { ...request, toolChoice: 'none', responseFormat: undefined };
      const { value } = await callInTime(run.gear, request.runtime.signal, (signal) =>
        handler(addSignal(closing, signal)),
      );
      message = findAiMessage(value);
      observeAnswer(run, task, value, readModelName(request.model), request.messages);
    } catch (error) {
      if (request.runtime.signal?.aborted) throw error;
      // Without a closing answer of the model, the adapter writes the answer.
    }
  }
  run.end(task);
  const { AIMessage } = await loadMessageClasses();
  const { id, usage_metadata, response_metadata } = message ?? {};
  return new AIMessage({
    content: (message && messageText(message)) || refusalText(halt),
    ...(id !== undefined && { id }),
    ...(usage_metadata && { usage_metadata }),
    response_metadata: { ...response_metadata, switchgear: makeHaltFacts(halt) },
  });
}

/** Reports an answer to the task; returns whether it contains tool calls. */
export function observeAnswer(
  run: HostRun,
  task: Task,
  value: unknown,
  name: string,
  prompt: readonly MessageLike[],
): boolean {
  const message = findAiMessage(value);
  if (message === undefined) return true; // A command, which the graph handles.
  const calls = message.tool_calls?.length ?? 0;
  task.observe({ type: 'assistant', text: messageText(message), toolUse: calls > 0 });
  const tokens = readTokens(message, name);
  if (tokens.inputTokens + tokens.outputTokens > 0) meterUsage(run.gear, task, tokens);
  else {
    const outputLength = messageText(message).length + lengthOf(message.tool_calls);
    const remedy = usageRemedies.langChain;
    meterEstimate(run.gear, task, { model: name, inputLength: promptLength(prompt), outputLength, remedy });
  }
  return calls > 0;
}

/** The tokens that a message reports; zeros if it reports none. */
export function readTokens({ usage_metadata: usage = {}, response_metadata: metadata }: AiMessageLike, name: string) {
  const reported = metadata?.model_name ?? metadata?.model;
  const isLocal = name.startsWith(localPrefix);
  return {
    model: reported === undefined ? name : `${isLocal ? localPrefix : ''}${String(reported)}`,
    inputTokens: usage.input_tokens ?? 0,
    outputTokens: usage.output_tokens ?? 0,
    cacheReadTokens: usage.input_token_details?.cache_read ?? 0,
    cacheWriteTokens: usage.input_token_details?.cache_creation ?? 0,
  };
}

/** Finds the message of an answer, which may also contain a structured response. */
function findAiMessage(value: unknown): AiMessageLike | undefined {
  const { type, messages } = (value ?? {}) as { readonly type?: unknown; readonly messages?: unknown };
  if (type === 'ai') return value as AiMessageLike;
  return Array.isArray(messages) ? messages.findLast((message) => message?.type === 'ai') : undefined;
}

/** The provider in the names of models that run on the user's machine; such models are free. */
const localPrefix = 'ollama/';

export function readModelName(model: unknown): string {
  if (typeof model === 'string') return model;
  const { model: name, modelName: older, _llmType } = (model ?? {}) as Readonly<Record<string, unknown>>;
  const found = String(name ?? older ?? (model as object)?.constructor?.name ?? 'model');
  const isLocal = typeof _llmType === 'function' && _llmType.call(model) === 'ollama';
  return isLocal ? `${localPrefix}${found}` : found;
}
