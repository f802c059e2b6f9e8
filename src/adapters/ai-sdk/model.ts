/** Guards a model of the AI SDK: meters and observes its calls, and gives one closing answer after a halt. */

import { ReadableStream } from 'node:stream/web';
import { textLengthMax } from '../../core/limits.ts';
import type { Refusal } from '../../core/refusal.ts';
import type { Task } from '../../guard/api.ts';
import { type HostCall, hostCall, joinSignals } from '../../guard/entries/host-call.ts';
import { invalid } from '../../guard/internal.ts';
import { callInTime, readUntilAbort } from '../host/closing-call.ts';
import {
  beginTurn,
  claimClosingAnswer,
  type HostRun,
  makeHaltFacts,
  makeRefusedError,
  refusalText,
  throwAtLimit,
} from '../host/host-run.ts';
import { overrideMethods } from '../host/override-methods.ts';
import { visibleTools } from '../host/visible-tools.ts';
import { type AiSdkPart, type AiSdkPrompt, listCallIds, observePrompt, observeResponse } from './observe-messages.ts';
import type { AiSdkRuns } from './runs.ts';

/** The subset of the SDK's model that is used; the same in its specifications 2, 3 and 4. */
interface ModelLike {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
  doGenerate(params: Params): PromiseLike<Generated>;
  doStream(params: Params): PromiseLike<Streamed>;
}

interface Params {
  readonly prompt?: AiSdkPrompt;
  readonly abortSignal?: AbortSignal;
  readonly tools?: readonly unknown[] | undefined;
  readonly toolChoice?: unknown;
}

interface Generated {
  readonly content: readonly AiSdkPart[];
  readonly usage?: unknown;
  readonly finishReason?: unknown;
  readonly providerMetadata?: object;
  readonly warnings?: unknown;
}

interface Streamed {
  readonly stream: ReadableStream<AiSdkPart> | AsyncGenerator<AiSdkPart>;
}

export function protectAiSdkModel<M>(model: M, runs: AiSdkRuns, isHiding = false): M {
  if (!isModel(model)) {
    throw invalid(
      `protect needs a model object, got ${JSON.stringify(model)}: make one with a provider, such as gateway(…)`,
    );
  }
  return overrideMethods(model, {
    doGenerate: createGenerate(model, runs, isHiding),
    doStream: createStream(model, runs, isHiding),
  });
}

function isModel(model: unknown): model is ModelLike & object {
  return typeof (model as ModelLike | null)?.doGenerate === 'function';
}

function createGenerate(model: ModelLike, runs: AiSdkRuns, isHiding: boolean) {
  return async (callParams: Params): Promise<Generated> => {
    const run = runs.runForPrompt(callParams.prompt ?? []);
    const task = run.beginCall();
    try {
      const params = isHiding ? removeOpenTools(callParams, run, task) : callParams;
      const { halt, value } = await callModel(model, run, task, params, (finalParams) => model.doGenerate(finalParams));
      const content = value?.content ?? [];
      if (value !== undefined)
        observeResponse(`${model.provider}/${model.modelId}`, run, task, content, value.usage, params.prompt);
      runs.recordCalls(run, task, halt === undefined ? listCallIds(content) : []);
      if (halt === undefined) return value as Generated;
      const closingParts = content.filter((part) => !isToolCallPart(part));
      const isEmpty = !closingParts.some(({ type, text }) => type === 'text' && text !== '');
      const end = makeEnding(model, halt, value?.usage, value?.providerMetadata);
      return {
        warnings: [],
        ...value,
        ...end,
        content: isEmpty ? [...closingParts, { type: 'text', text: refusalText(halt) }] : closingParts,
      };
    } finally {
      run.endCall(task);
    }
  };
}

function createStream(model: ModelLike, runs: AiSdkRuns, isHiding: boolean) {
  return async (callParams: Params): Promise<Streamed> => {
    const run = runs.runForPrompt(callParams.prompt ?? []);
    const task = run.beginCall();
    try {
      const params = isHiding ? removeOpenTools(callParams, run, task) : callParams;
      const { halt, value } = await callModel(model, run, task, params, (finalParams) => model.doStream(finalParams));
      return {
        ...value,
        stream: ReadableStream.from(
          observeStream(value?.stream ?? emptyStream, model, runs, run, task, halt, value ? params : {}),
        ),
      };
    } catch (error) {
      run.endCall(task);
      throw error;
    }
  };
}

const emptyStream: readonly AiSdkPart[] = [{ type: 'stream-start', warnings: [] }, { type: 'finish' }];

/** Passes the parts of a stream on and observes them. After a halt it drops tool calls and keeps text. */
async function* observeStream(
  source: AsyncIterable<AiSdkPart> | readonly AiSdkPart[],
  model: ModelLike,
  runs: AiSdkRuns,
  run: HostRun,
  task: Task,
  halt: Refusal | undefined,
  { prompt, abortSignal: signal }: Params,
): AsyncGenerator<AiSdkPart> {
  const calls: AiSdkPart[] = [];
  const openBlocks = new Map<unknown, string>();
  let text = '';
  let usage: unknown;
  let isCut = true;
  try {
    for await (const part of source) {
      if (part.type === 'text-delta' && text.length < textLengthMax) text += part.delta;
      if (part.type === 'tool-call') calls.push(part);
      // The SDK runs the call at once, before the stream ends.
      if (halt === undefined && listCallIds([part]).length > 0) runs.recordCalls(run, task, listCallIds([part]));
      if (part.type === 'finish') [usage, isCut] = [part.usage, false];
      const [, block, edge] = /^(text|reasoning|tool-input)-(start|end)$/.exec(part.type) ?? [];
      if (edge === 'start') openBlocks.set(part.id, block!);
      else if (edge === 'end') openBlocks.delete(part.id);
      if (halt === undefined) yield part;
      else if (part.type !== 'finish') {
        if (!isToolCallPart(part)) yield part;
      } else {
        if (text === '') yield* makeTextParts(refusalText(halt));
        yield { ...part, ...makeEnding(model, halt, part.usage, part.providerMetadata) };
      }
    }
  } catch (error) {
    const cut = halt ?? task.halt;
    // A model may answer the halt with an error of its own; the host's signal is not the halt.
    if (cut === undefined || (halt === undefined && signal?.aborted)) throw error;
    throwAtLimit(run.gear, task);
    for (const [id, block] of openBlocks) yield { type: `${block}-end`, id };
    yield* makeTextParts(refusalText(cut));
    yield { type: 'finish', ...makeEnding(model, cut, usage, undefined) };
  } finally {
    const content = [{ type: 'text', text }, ...calls];
    observeResponse(`${model.provider}/${model.modelId}`, run, task, content, usage, prompt, isCut);
    runs.recordCalls(run, task, halt === undefined ? listCallIds(calls) : []);
    run.endCall(task); // Also when the stream fails or its reader stops.
  }
}

function makeTextParts(delta: string): readonly AiSdkPart[] {
  const id = 'switchgear';
  return [
    { type: 'text-start', id },
    { type: 'text-delta', id, delta },
    { type: 'text-end', id },
  ];
}

function isToolCallPart({ type }: AiSdkPart): boolean {
  return /^tool-(call|input)/.test(type);
}

/**
 * Removes tools with an open breaker from the parameters of a model call. Without tools it also removes the tool
 * choice, which providers reject.
 */
function removeOpenTools(params: Params, run: HostRun, task: Task): Params {
  const { tools = [], toolChoice } = params;
  const isForced = (toolChoice as { readonly type?: unknown } | undefined)?.type === 'tool';
  const visible = isForced ? tools : visibleTools(tools, run.gear, task);
  if (visible === tools) return params;
  return visible.length > 0 ? { ...params, tools: visible } : { ...params, tools: undefined, toolChoice: undefined };
}

/**
 * Calls the model unless the task is halted. Returns the halt, if any, and the answer of the model, if it was called.
 */
async function callModel<T>(
  model: ModelLike,
  run: HostRun,
  task: Task,
  params: Params,
  call: (params: Params) => PromiseLike<T>,
): Promise<{ readonly halt?: Refusal; readonly value?: T }> {
  observePrompt(task, params.prompt ?? []);
  beginTurn(task);
  const name = `${model.provider}/${model.modelId}`;
  const answer =
    task.halt === undefined
      ? await hostCall<T>(
          run.gear,
          name,
          [],
          ({ signal }) => call({ ...params, abortSignal: joinSignals(signal, params.abortSignal) }),
          {
            kind: 'model',
            task,
            signal: params.abortSignal,
            streamIn: modelStream as unknown as HostCall<T>['streamIn'],
          },
        )
      : { refusal: task.halt };
  if ('value' in answer) return { value: answer.value };
  const { refusal: halt } = answer;
  if (halt.kind !== 'halt') throw makeRefusedError(halt);
  throwAtLimit(run.gear, task);
  if (!claimClosingAnswer(task, halt)) return { halt };
  try {
    const closingParams = params.tools ? { ...params, toolChoice: { type: 'none' } } : params;
    const { value, signal } = await callInTime(run.gear, params.abortSignal, (abortSignal) =>
      call({ ...closingParams, abortSignal }),
    );
    const stream = modelStream.find(value as Streamed);
    return {
      halt,
      value: stream === undefined ? value : { ...value, stream: readUntilAbort(run.gear, stream, signal) },
    };
  } catch (error) {
    if (params.abortSignal?.aborted) throw error;
    return { halt }; // Without a closing answer of the model, the adapter writes the answer.
  }
}

/** The stream in the answer of `doStream`: it is cut when its task halts. */
const modelStream = {
  find: (value: Partial<Streamed>) => value.stream,
  replace: (value: Streamed, stream: object): Streamed => ({ ...value, stream: stream as Streamed['stream'] }),
};

/** Makes the answer that ends a halted run, with the refusal in `providerMetadata`. */
function makeEnding({ specificationVersion }: ModelLike, halt: Refusal, usage: unknown, metadata: unknown) {
  const isFlat = specificationVersion === 'v2';
  // Without a closing answer no tokens were used.
  const none = isFlat
    ? { inputTokens: 0, outputTokens: 0, totalTokens: 0 }
    : { inputTokens: { total: 0 }, outputTokens: { total: 0 } };
  return {
    finishReason: isFlat ? 'stop' : { unified: 'stop', raw: halt.code },
    usage: usage ?? none,
    providerMetadata: { ...(metadata as object | undefined), switchgear: makeHaltFacts(halt) },
  };
}
