/** The model calls of a Mastra run: begun and ended by processors, counted, and cut when the task halts. */

import type { Switchgear, Task } from '../../guard/api.ts';
import { joinSignals } from '../../guard/entries/host-call.ts';
import type { OpenCall } from '../../guard/entries/open-call.ts';
import { runtimeOf } from '../../guard/internal.ts';
import type { CallsById } from '../host/calls-by-id.ts';
import { readUntilAbort, untilAbort } from '../host/closing-call.ts';
import { type HostRun, makeHaltFacts, refusalText } from '../host/host-run.ts';
import { lengthOf, meterEstimate, meterUsage, usageRemedies } from '../host/meter-usage.ts';
import { overrideMethods } from '../host/override-methods.ts';

export interface ProcessorStep {
  readonly requestContext?: object;
  readonly stepNumber: number;
  readonly messages?: readonly { readonly role?: unknown; readonly content?: unknown }[];
  readonly model?: { readonly modelId?: string };
  readonly tools?: Readonly<Record<string, unknown>>;
  readonly text?: string;
  readonly toolCalls?: readonly unknown[];
  readonly usage?: Readonly<Record<string, number | undefined>>;
  abort(reason: string, options?: object): never;
}

/** A running call, with the arguments that a person put in place of its own. */
export interface RunningCall extends Pick<OpenCall, 'settle' | 'run'> {
  readonly edited?: { readonly args: unknown };
}

/** One run of an agent. */
export interface MastraRun {
  readonly host: HostRun;
  /** The running calls. */
  readonly calls: CallsById<RunningCall>;
  /** Tools given to a call whose hooks have not run yet, by the id of their call. */
  readonly awaited: Map<string, (call: RunningCall) => void>;
  task: Task | undefined;
  /** The model call of the current step; undefined once it is counted. */
  step: ModelStep | undefined;
  turn: number;
}

/** A model call of a step. */
interface ModelStep {
  readonly task: Task;
  readonly model: string;
  inputLength: number;
  /** Characters that the model wrote so far. */
  writtenLength: number;
}

/** A run before its first step. */
export const emptyRun = { task: undefined, step: undefined, turn: 0 };

/** Runs before each model call. A halted run ends here with a tripwire. */
export function beginStep(
  run: MastraRun,
  { stepNumber, messages = [], model, tools, abort }: ProcessorStep,
  guardStepTools: (tools: NonNullable<ProcessorStep['tools']>) => object | undefined,
): object {
  const task = run.host.beginCall();
  run.task = task;
  const step: ModelStep = { task, model: model?.modelId ?? '', inputLength: lengthOf(messages), writtenLength: 0 };
  run.step = step;
  run.turn++;
  if (stepNumber === 0) {
    task.observe({
      type: 'user',
      text: JSON.stringify(messages.findLast(({ role }) => role === 'user')?.content ?? ''),
    });
  }
  const { halt } = task;
  const isModel = typeof (model as { readonly doGenerate?: unknown } | undefined)?.doGenerate === 'function';
  if (halt === undefined) {
    const guarded = tools && guardStepTools(tools);
    return { ...(isModel && { model: guardModel(model!, run, step) }), ...(guarded && { tools: guarded }) };
  }
  run.step = undefined;
  endRun(run, task);
  return abort(refusalText(halt), { metadata: { switchgear: makeHaltFacts(halt) } });
}

/** Runs after each model call, before its tools run. */
export function endStep(run: MastraRun, step: ProcessorStep): unknown {
  const { text = '', toolCalls = [], usage = {}, messages, abort } = step;
  const { task } = run;
  if (task === undefined) return messages;
  // A tool that suspended its run did not return, so its outcome is unknown.
  for (const { settle } of run.calls.takeAll())
    settle({ error: new DOMException('the run was suspended before the call ended', 'AbortError') });
  task.observe({ type: 'assistant', text, toolUse: toolCalls.length > 0 });
  if (run.step !== undefined) meterStep(run, run.step, usage, lengthOf(text) + lengthOf(toolCalls));
  if (toolCalls.length > 0) return messages;
  endRun(run, task);
  const { halt } = task;
  // The halt cut the answer of the model.
  if (halt?.control === 'deadline' || halt?.control === 'operator')
    return abort(refusalText(halt), { metadata: { switchgear: makeHaltFacts(halt) } });
  return messages;
}

/** Counts the model call of a step; estimates it if the provider reported no usage. */
function meterStep(run: MastraRun, step: ModelStep, usage: NonNullable<ProcessorStep['usage']>, length: number): void {
  const { gear } = run.host;
  const { task, model, inputLength, writtenLength } = step;
  const { inputTokens = 0, outputTokens = 0, cachedInputTokens = 0, cacheCreationInputTokens = 0 } = usage;
  if (inputTokens + outputTokens > 0) {
    const cache = { cacheReadTokens: cachedInputTokens, cacheWriteTokens: cacheCreationInputTokens };
    meterUsage(gear, task, { model, inputTokens, outputTokens, ...cache });
  } else {
    const outputLength = writtenLength || length;
    meterEstimate(gear, task, { model, inputLength, outputLength, remedy: usageRemedies.aiSdk });
  }
  closeStep(run, step);
}

function endRun(run: MastraRun, task: Task): void {
  run.host.end(task);
  run.task = undefined;
}

/** A model of a step: its calls end when the task halts, with the refusal as their answer. */
function guardModel(model: object, run: MastraRun, step: ModelStep): object {
  const { task } = step;
  const end = (key: 'doGenerate' | 'doStream') => async (params: ModelParams) => {
    const signal = joinSignals(task.signal, params.abortSignal);
    const call = Reflect.get(model, key) as (callParams: ModelParams) => Promise<ModelAnswer>;
    openStep(run, step, lengthOf(params.prompt));
    const send = () => call.call(model, { ...params, abortSignal: signal });
    const started = await endAtHalt(run.host.gear, task, signal, send).catch((error) => {
      closeStep(run, step);
      throw error;
    });
    if (started === undefined) {
      closeStep(run, step);
      const stream = ReadableStream.from(makeHaltParts(task));
      return key === 'doStream' ? { stream } : { stream, content: [makeText(task)], ...haltEnding };
    }
    const { stream } = started;
    return stream === undefined
      ? started
      : { ...started, stream: ReadableStream.from(cutStream(run, step, signal, stream)) };
  };
  return overrideMethods(model, { doGenerate: end('doGenerate'), doStream: end('doStream') });
}

interface ModelParams {
  readonly abortSignal?: AbortSignal;
  readonly prompt?: unknown;
}

interface ModelAnswer {
  readonly stream?: AsyncIterable<object>;
}

/** Waits for an answer; undefined if the task halts before. */
async function endAtHalt<T>(
  gear: Switchgear,
  task: Task,
  signal: AbortSignal,
  call: () => PromiseLike<T>,
): Promise<T | undefined> {
  const { hold } = runtimeOf(gear);
  hold.begin();
  try {
    return await untilAbort(call(), signal);
  } catch (error) {
    if (task.halt === undefined) throw error;
    return undefined;
  } finally {
    hold.end();
  }
}

/** Passes on the parts of a stream until the task halts or the host cancels. A stream that breaks off is estimated. */
async function* cutStream(
  run: MastraRun,
  step: ModelStep,
  signal: AbortSignal,
  source: AsyncIterable<object>,
): AsyncGenerator<object> {
  const { task } = step;
  let isWhole = false;
  try {
    for await (const part of readUntilAbort(run.host.gear, source, signal)) {
      task.observe({ type: 'heartbeat' });
      const { type, delta, input } = part as Readonly<Record<string, unknown>>;
      step.writtenLength += String(delta ?? (type === 'tool-call' ? input : undefined) ?? '').length;
      isWhole ||= type === 'finish';
      yield part;
    }
  } catch (error) {
    if (task.halt === undefined) throw error;
    meterCut(run, step);
    yield* makeHaltParts(task);
  } finally {
    // Mastra does not report the end of a step whose stream failed or was not read to its end.
    if (!isWhole) meterCut(run, step);
  }
}

/** Counts an estimate of a model call that broke off, unless the call is counted. */
function meterCut(run: MastraRun, step: ModelStep): void {
  if (!closeStep(run, step)) return;
  const { task, model, inputLength, writtenLength: outputLength } = step;
  meterEstimate(run.host.gear, task, { model, inputLength, outputLength, remedy: undefined });
}

/** Begins the model call of a step; Mastra repeats a call that failed. */
function openStep(run: MastraRun, step: ModelStep, promptLength: number): void {
  if (run.step !== step) run.host.beginCall();
  run.step = step;
  step.writtenLength = 0;
  if (promptLength > 0) step.inputLength = promptLength;
}

/** Ends the model call of a step; returns false if it has ended. */
function closeStep(run: MastraRun, step: ModelStep): boolean {
  if (run.step !== step) return false;
  run.step = undefined;
  run.host.endCall(step.task);
  return true;
}

const haltEnding = {
  finishReason: 'stop',
  usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 },
  warnings: [],
};

function makeText({ halt }: Task): object {
  return { type: 'text', text: halt === undefined ? '' : refusalText(halt) };
}

function* makeHaltParts(task: Task): Generator<object> {
  const { halt } = task;
  const id = 'switchgear';
  yield { type: 'text-start', id };
  yield { type: 'text-delta', id, delta: halt === undefined ? '' : refusalText(halt) };
  yield { type: 'text-end', id };
  yield { type: 'finish', ...haltEnding };
}
