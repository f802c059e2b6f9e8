/** A model of the AI SDK, guarded: its calls are metered and heard, and after a halt it gives one closing answer. */

import { ReadableStream } from 'node:stream/web';
import { textLengthMax } from '../../core/limits.ts';
import type { Refusal } from '../../core/refusal.ts';
import type { Task } from '../../guard/api.ts';
import { hostCall } from '../../guard/entries/host-call.ts';
import { invalid } from '../../guard/runtime/option-checks.ts';
import {
  beginTurn,
  claimClosingAnswer,
  type HostRun,
  makeHaltFacts,
  makeRefusedError,
  refusalText,
} from '../host/host-run.ts';
import { overrideMethods } from '../host/override-methods.ts';
import { visibleTools } from '../host/visible-tools.ts';
import { callIds, hear, hearPrompt, type Part, type Prompt } from './observe-messages.ts';
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
  readonly prompt?: Prompt;
  readonly abortSignal?: AbortSignal;
  readonly tools?: readonly unknown[] | undefined;
  readonly toolChoice?: unknown;
}

interface Generated {
  readonly content: readonly Part[];
  readonly usage?: unknown;
  readonly finishReason?: unknown;
  readonly providerMetadata?: object;
  readonly warnings?: unknown;
}

interface Streamed {
  readonly stream: ReadableStream<Part>;
}

export function protectModel<M>(model: M, runs: AiSdkRuns, hides = false): M {
  if (!isModel(model)) {
    throw invalid(
      `protect needs a model object, got ${JSON.stringify(model)}: make one with a provider, such as gateway(…)`,
    );
  }
  return overrideMethods(model, { doGenerate: generate(model, runs, hides), doStream: stream(model, runs, hides) });
}

function isModel(model: unknown): model is ModelLike & object {
  return typeof (model as ModelLike | null)?.doGenerate === 'function';
}

function generate(model: ModelLike, runs: AiSdkRuns, hides: boolean) {
  return async (given: Params): Promise<Generated> => {
    const run = runs.ofPrompt(given.prompt ?? []);
    const task = run.beginCall();
    try {
      const params = hides ? hiding(given, run, task) : given;
      const { halt, value } = await callModel(model, run, task, params, (now) => model.doGenerate(now));
      const content = value?.content ?? [];
      if (value !== undefined) hear(model.modelId, run, task, content, value.usage);
      runs.asked(run, task, halt === undefined ? callIds(content) : []);
      if (halt === undefined) return value as Generated;
      const said = content.filter((part) => !isCall(part));
      const isEmpty = !said.some(({ type, text }) => type === 'text' && text !== '');
      const end = ending(model, halt, value?.usage, value?.providerMetadata);
      return {
        warnings: [],
        ...value,
        ...end,
        content: isEmpty ? [...said, { type: 'text', text: refusalText(halt) }] : said,
      };
    } finally {
      run.endCall(task);
    }
  };
}

function stream(model: ModelLike, runs: AiSdkRuns, hides: boolean) {
  return async (given: Params): Promise<Streamed> => {
    const run = runs.ofPrompt(given.prompt ?? []);
    const task = run.beginCall();
    try {
      const params = hides ? hiding(given, run, task) : given;
      const { halt, value } = await callModel(model, run, task, params, (now) => model.doStream(now));
      return { ...value, stream: ReadableStream.from(listen(value?.stream ?? silence, model, runs, run, task, halt)) };
    } catch (error) {
      run.endCall(task);
      throw error;
    }
  };
}

const silence: readonly Part[] = [{ type: 'stream-start', warnings: [] }, { type: 'finish' }];

/** The parts of a stream as they come, heard on the way. After a halt no call gets through, but some words do. */
async function* listen(
  source: AsyncIterable<Part> | readonly Part[],
  model: ModelLike,
  runs: AiSdkRuns,
  run: HostRun,
  task: Task,
  halt: Refusal | undefined,
): AsyncGenerator<Part> {
  const calls: Part[] = [];
  let text = '';
  let usage: unknown;
  try {
    for await (const part of source) {
      if (part.type === 'text-delta' && text.length < textLengthMax) text += part.delta;
      if (part.type === 'tool-call') calls.push(part);
      if (halt === undefined && callIds([part]).length > 0) runs.asked(run, task, callIds([part])); // It runs at once.
      if (part.type === 'finish') usage = part.usage;
      if (halt === undefined) yield part;
      else if (part.type !== 'finish') {
        if (!isCall(part)) yield part;
      } else {
        if (text === '') yield* inParts(refusalText(halt));
        yield { ...part, ...ending(model, halt, part.usage, part.providerMetadata) };
      }
    }
  } finally {
    hear(model.modelId, run, task, [{ type: 'text', text }, ...calls], usage);
    runs.asked(run, task, halt === undefined ? callIds(calls) : []);
    run.endCall(task); // Also where the stream broke off, or nobody read on.
  }
}

function inParts(delta: string): readonly Part[] {
  const id = 'switchgear';
  return [
    { type: 'text-start', id },
    { type: 'text-delta', id, delta },
    { type: 'text-end', id },
  ];
}

function isCall({ type }: Part): boolean {
  return /^tool-(call|input)/.test(type);
}

/** What the model is called with, without open tools. Providers take no choice of tools where there are none. */
function hiding(params: Params, run: HostRun, task: Task): Params {
  const { tools = [], toolChoice } = params;
  const isForced = (toolChoice as { readonly type?: unknown } | undefined)?.type === 'tool';
  const shown = isForced ? tools : visibleTools(tools, run.gear, task);
  if (shown === tools) return params;
  return shown.length > 0 ? { ...params, tools: shown } : { ...params, tools: undefined, toolChoice: undefined };
}

/** Calls the model, or does not: with the halt that stands against it, and what the model said nevertheless. */
async function callModel<T>(
  model: ModelLike,
  run: HostRun,
  task: Task,
  params: Params,
  call: (params: Params) => PromiseLike<T>,
): Promise<{ readonly halt?: Refusal; readonly value?: T }> {
  hearPrompt(task, params.prompt ?? []);
  beginTurn(task);
  const name = `${model.provider}/${model.modelId}`;
  const answer =
    task.halt === undefined
      ? await hostCall(run.gear, name, [], () => call(params), { kind: 'model', task, signal: params.abortSignal })
      : { refusal: task.halt };
  if ('value' in answer) return { value: answer.value };
  const { refusal: halt } = answer;
  if (halt.kind !== 'halt') throw makeRefusedError(halt);
  if (!claimClosingAnswer(task, halt)) return { halt };
  try {
    return { halt, value: await call(params.tools ? { ...params, toolChoice: { type: 'none' } } : params) };
  } catch (error) {
    if (params.abortSignal?.aborted) throw error;
    return { halt }; // The closing answer is a courtesy: without it there are our own words.
  }
}

/** How a halted run ends: as an answer, with the reason where code finds it. */
function ending({ specificationVersion }: ModelLike, halt: Refusal, usage: unknown, metadata: unknown) {
  const isFlat = specificationVersion === 'v2';
  // What was not said costs nothing.
  const none = isFlat
    ? { inputTokens: 0, outputTokens: 0, totalTokens: 0 }
    : { inputTokens: { total: 0 }, outputTokens: { total: 0 } };
  return {
    finishReason: isFlat ? 'stop' : { unified: 'stop', raw: halt.code },
    usage: usage ?? none,
    providerMetadata: { ...(metadata as object | undefined), switchgear: makeHaltFacts(halt) },
  };
}
