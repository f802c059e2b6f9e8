/**
 * Guards a model of the OpenAI Agents SDK: meters and observes its calls, and gives one closing answer after a halt.
 */

import type { Refusal } from '../../core/refusal.ts';
import type { Call, Switchgear, Task } from '../../guard/api.ts';
import { hostCall, joinSignals } from '../../guard/entries/host-call.ts';
import { callInTime } from '../host/closing-call.ts';
import {
  beginTurn,
  claimClosingAnswer,
  makeRefusedError,
  refusalText,
  throwAtLimit,
  turnOf,
} from '../host/host-run.ts';
import { lengthOf, meterEstimate, meterUsage, usageRemedies } from '../host/meter-usage.ts';
import { overrideMethods } from '../host/override-methods.ts';

/** The subset of a model that is used. */
export interface ModelLike {
  getResponse(request: ModelRequest): Promise<ModelResponse>;
  getStreamedResponse(request: ModelRequest): AsyncIterable<StreamEvent>;
}

interface ModelRequest {
  readonly input?: unknown;
  readonly modelSettings?: object;
  readonly handoffs?: readonly { readonly toolName?: string }[];
  readonly outputType?: unknown;
  readonly signal?: AbortSignal;
}

type Item = Readonly<Record<string, unknown>>;

interface ModelResponse {
  readonly usage?: Item;
  readonly output: readonly Item[];
}

interface StreamEvent {
  readonly type: string;
  readonly response?: ModelResponse;
  readonly delta?: string;
}

export function protectOpenAiModel<M extends object>(model: M, gear: Switchgear, name: string): M {
  const target = model as M & ModelLike;

  async function getResponse(request: ModelRequest): Promise<ModelResponse> {
    const task = beginModelCall(gear, request);
    const answer =
      task?.halt === undefined
        ? await hostCall(
            gear,
            name,
            [],
            ({ signal }) => target.getResponse({ ...request, signal: joinSignals(signal, request.signal) }),
            { kind: 'model', task, signal: request.signal },
          )
        : { refusal: task.halt };
    if ('value' in answer) {
      observeResponse(gear, task, request, answer.value, name);
      return answer.value;
    }
    if (answer.refusal.kind !== 'halt' || task === undefined) throw makeRefusedError(answer.refusal);
    throwAtLimit(gear, task);
    return closingAnswer(gear, task, answer.refusal, target, request, name);
  }

  async function* getStreamedResponse(request: ModelRequest): AsyncGenerator<StreamEvent> {
    const task = beginModelCall(gear, request);
    const halt = task?.halt;
    if (halt !== undefined) {
      throwAtLimit(gear, task!);
      yield makeHaltEvent(request, halt);
      return;
    }
    const call = ({ signal }: Call) =>
      target.getStreamedResponse({ ...request, signal: joinSignals(signal, request.signal) });
    const answer = await hostCall(gear, name, [], call, { kind: 'model', task, signal: request.signal });
    if ('refusal' in answer) throw makeRefusedError(answer.refusal);
    let isDone = false;
    let writtenLength = 0;
    try {
      for await (const event of answer.value) {
        writtenLength += event.delta?.length ?? 0;
        if (event.type === 'response_done' && event.response) {
          isDone = true;
          observeResponse(gear, task, request, event.response, name);
        }
        yield event;
      }
    } catch (error) {
      // A model may answer the halt with an error of its own; the host's signal is not the halt.
      if (task?.halt === undefined || request.signal?.aborted) throw error;
      throwAtLimit(gear, task);
      yield makeHaltEvent(request, task.halt);
    } finally {
      // A stream that broke off reports no usage.
      if (!isDone && task !== undefined) {
        const inputLength = lengthOf(request.input);
        meterEstimate(gear, task, { model: name, inputLength, outputLength: writtenLength, remedy: undefined });
      }
    }
  }

  return overrideMethods(model, { getResponse, getStreamedResponse });
}

/** The end of a streamed answer after a halt. */
function makeHaltEvent(request: ModelRequest, halt: Refusal): StreamEvent {
  return { type: 'response_done', response: { id: 'switchgear', ...makeHaltAnswer(request, halt) } as ModelResponse };
}

function beginModelCall(gear: Switchgear, { input }: ModelRequest): Task | undefined {
  const task = gear.currentTask();
  if (task === undefined) return undefined;
  beginTurn(task);
  const last =
    typeof input === 'string' ? { role: 'user', content: input } : (input as readonly Item[] | undefined)?.at(-1);
  if (last?.role === 'user') task.observe({ type: 'user', text: JSON.stringify(last.content) });
  return task;
}

/** Reports an answer to the task. Handoffs have no guardrails, so they are counted here. */
function observeResponse(
  gear: Switchgear,
  task: Task | undefined,
  request: ModelRequest,
  { usage, output }: ModelResponse,
  name: string,
): void {
  if (task === undefined) return;
  const calls = output.filter(({ type }) => type === 'function_call');
  task.observe({ type: 'assistant', text: outputText(output), toolUse: calls.length > 0 });
  for (const [index, { name: tool, arguments: input }] of calls.entries()) {
    if (!request.handoffs?.some(({ toolName }) => toolName === tool)) continue;
    // Some providers use the same call ids in every answer.
    const id = `handoff ${turnOf(task)} ${index}`;
    task.observe({ type: 'tool_use', id, name: String(tool), input: String(input) });
    task.observe({ type: 'tool_result', id, ok: true, output: String(tool) });
  }
  if (usage === undefined) {
    const [inputLength, outputLength] = [lengthOf(request.input), lengthOf(output)];
    meterEstimate(gear, task, { model: name, inputLength, outputLength, remedy: usageRemedies.openAiAgents });
    return;
  }
  const { inputTokens, outputTokens, inputTokensDetails } = usage as Readonly<Record<string, number | undefined>>;
  const details = [inputTokensDetails].flat() as readonly (Readonly<Record<string, number>> | undefined)[];
  const sum = (key: string) => details.reduce((total, each) => total + (each?.[key] ?? 0), 0);
  meterUsage(gear, task, {
    model: name,
    inputTokens: inputTokens ?? 0,
    outputTokens: outputTokens ?? 0,
    cacheReadTokens: sum('cached_tokens'),
    cacheWriteTokens: sum('cache_write_tokens'),
  });
}

async function closingAnswer(
  gear: Switchgear,
  task: Task,
  halt: Refusal,
  model: ModelLike,
  request: ModelRequest,
  name: string,
): Promise<ModelResponse> {
  if (!claimClosingAnswer(task, halt)) return makeHaltAnswer(request, halt);
  try {
    const closingRequest = { ...request, modelSettings: { ...request.modelSettings, toolChoice: 'none' } };
    const { value: response } = await callInTime(gear, request.signal, (signal) =>
      model.getResponse({ ...closingRequest, signal }),
    );
    observeResponse(gear, task, request, response, name);
    const output = response.output.filter(({ type }) => type === 'message');
    return outputText(output) === ''
      ? { ...response, output: makeHaltAnswer(request, halt).output }
      : { ...response, output };
  } catch (error) {
    if (request.signal?.aborted) throw error;
    return makeHaltAnswer(request, halt); // Without a closing answer of the model, the adapter writes the answer.
  }
}

/** Makes the closing answer of a halted run; throws if the agent must answer in a structured form. */
function makeHaltAnswer({ outputType = 'text' }: ModelRequest, halt: Refusal): ModelResponse {
  if (outputType !== 'text') throw makeRefusedError(halt);
  const content = [{ type: 'output_text', text: refusalText(halt) }];
  const counts = { requests: 0, inputTokens: 0, outputTokens: 0, totalTokens: 0 };
  return {
    usage: { ...counts, inputTokensDetails: [], outputTokensDetails: [] },
    output: [{ type: 'message', role: 'assistant', status: 'completed', content }],
  };
}

function outputText(output: readonly Item[]): string {
  return output
    .flatMap(({ type, content }) => (type === 'message' && Array.isArray(content) ? content : []))
    .map((part) => String(part?.text ?? ''))
    .join('');
}
