/** The adapter of Mastra: adds hooks around the tools and processors around the model to the settings of an agent. */

import type { Switchgear, Task } from '../guard/api.ts';
import { defaultSwitchgear } from '../guard/create-switchgear.ts';
import { beginHostCall, joinSignals, type OpenCall } from '../guard/entries/host-call.ts';
import { runtimeOf } from '../guard/internal.ts';
import { isLiteral, unknownThing } from './host/check-thing.ts';
import { readUntilAbort, untilAbort } from './host/closing-call.ts';
import { guardOnce, isGuardedBy, reportGuarded } from './host/guard-once.ts';
import { createHostRun, type HostRun, makeHaltFacts, type ProtectOptions, refusalText } from './host/host-run.ts';
import { lengthOf, meterEstimate, meterUsage, usageRemedies } from './host/meter-usage.ts';
import { openWorker } from './host/open-worker.ts';
import { overrideMethods } from './host/override-methods.ts';

/** The settings that the adapter reads; all others pass unchanged. */
export interface MastraSettings {
  readonly name: string;
  readonly hooks?: unknown;
  readonly tools?: unknown;
  readonly inputProcessors?: unknown;
  readonly outputProcessors?: unknown;
}

/** Options of `protect` for Mastra. */
export interface MastraOptions extends ProtectOptions {
  /**
   * Names of tools that are agents. The subagents in the settings are always workers.
   * @default []
   */
  readonly workers?: readonly string[];
}

interface ToolCall {
  readonly toolName: string;
  readonly input: unknown;
  readonly context?: {
    readonly toolCallId?: string;
    readonly abortSignal?: AbortSignal;
    readonly requestContext?: object;
  };
}

interface ToolEnd extends ToolCall {
  readonly output?: unknown;
  readonly error?: unknown;
}

interface Hooks {
  beforeToolCall?(call: ToolCall): unknown;
  afterToolCall?(end: ToolEnd): unknown;
}

interface ProcessorStep {
  readonly requestContext?: object;
  readonly stepNumber: number;
  readonly messages?: readonly { readonly role?: unknown; readonly content?: unknown }[];
  readonly model?: { readonly modelId?: string };
  readonly text?: string;
  readonly toolCalls?: readonly unknown[];
  readonly usage?: Readonly<Record<string, number | undefined>>;
  abort(reason: string, options?: object): never;
}

/** One run of an agent. */
interface AgentRun {
  readonly host: HostRun;
  /** The running calls by id. */
  readonly calls: Map<string, Pick<OpenCall, 'settle' | 'run'>>;
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

/**
 * Returns the guarded settings of an agent, for `new Agent`.
 * @example
 * import { Agent } from '@mastra/core/agent';
 * import { protect } from 'switchgear/adapters/mastra';
 *
 * const settings = { id: 'pilot', name: 'Pilot', instructions: 'Answer.', model: 'openai/gpt-5' };
 * const agent = new Agent(protect(settings));
 * const { text, tripwire } = await agent.generate('When is high tide?');
 */
export function protect<S extends MastraSettings>(settings: S, options: MastraOptions = {}): S {
  if (!isLiteral(settings) || settings.name === undefined)
    throw unknownThing('the settings of an agent', settings, 'write new Agent(protect({ name, model, tools, … }))');
  // The request context identifies a run: all hooks and processors of the run get the same object.
  const runs = new WeakMap<object, AgentRun>();
  const fallback = {};
  const { gear = defaultSwitchgear() } = options;
  const hooks = (settings.hooks ?? {}) as Hooks;
  const guardedNames: Record<string, true> = {};
  if (isGuardedBy(hooks, gear)) return settings;

  function runFor(context: object = fallback): AgentRun {
    const run = runs.get(context) ?? { ...emptyRun, host: createHostRun(options), calls: new Map() };
    runs.set(context, run);
    return run;
  }

  const guard: Hooks = {
    async beforeToolCall(call) {
      const hostAnswer = await hooks.beforeToolCall?.(call);
      if ((hostAnswer as { readonly proceed?: unknown } | undefined)?.proceed === false) return hostAnswer;
      const { toolName: name, input, context = {} } = call;
      const run = runFor(context.requestContext);
      const task = run.host.beginCall();
      const worker = findWorkerName(name, options.workers);
      const host = {
        id: context.toolCallId,
        task,
        turnId: String(run.turn),
        signal: context.abortSignal,
        classify: classifyEnding,
      };
      const answer = await (worker === undefined
        ? beginHostCall(run.host.gear, name, [input], host, Object.hasOwn(guardedNames, name))
        : openWorker(run.host.gear, task, worker, input));
      const endCall = () => run.host.endCall(task);
      if (answer.refusal !== undefined) {
        endCall();
        return { proceed: false, output: refusalText(answer.refusal) };
      }
      const settle: OpenCall['settle'] = (ending) => {
        answer.settle(ending);
        endCall();
      };
      run.calls.set(context.toolCallId ?? name, { settle, run: answer.run });
      return hostAnswer;
    },
    async afterToolCall(end) {
      const { toolName, context = {}, error } = end;
      const { calls } = runFor(context.requestContext);
      const id = context.toolCallId ?? toolName;
      // Mastra wraps the error of a tool.
      const thrown = error instanceof Error ? (error.cause ?? error) : error;
      calls.get(id)?.settle(error === undefined ? { value: end.output } : { error: thrown });
      calls.delete(id);
      await hooks.afterToolCall?.(end);
    },
  };
  const inputProcessor = {
    id: 'switchgear-step',
    processInputStep: (step: ProcessorStep) => beginStep(runFor(step.requestContext), step),
  };
  const outputProcessor = {
    id: 'switchgear-answer',
    processOutputStep: (step: ProcessorStep) => endStep(runFor(step.requestContext), step),
  };
  const findCall = (name: string, { agent, toolCallId, requestContext = fallback }: ExecuteContext) =>
    runs.get(requestContext)?.calls.get(agent?.toolCallId ?? toolCallId ?? name);
  const tools = typeof settings.tools === 'object' ? Object.keys(settings.tools ?? {}) : ['every tool'];
  reportGuarded(gear, 'mastra', ['the model', ...tools]);
  return {
    ...settings,
    ...(settings.tools !== undefined && { tools: guardTools(settings.tools, findCall, guardedNames) }),
    hooks: guardOnce(hooks, gear, () => ({ ...hooks, ...guard })),
    inputProcessors: appendProcessor(settings.inputProcessors, inputProcessor),
    outputProcessors: appendProcessor(settings.outputProcessors, outputProcessor),
  };
}

interface ExecuteContext {
  readonly agent?: { readonly toolCallId?: string };
  readonly toolCallId?: string;
  readonly requestContext?: object;
  readonly abortSignal?: AbortSignal;
}

type FindCall = (name: string, context: ExecuteContext) => Pick<OpenCall, 'run'> | undefined;

/** Guards the tools of an agent, or a function that makes them for each request. */
function guardTools(tools: unknown, findCall: FindCall, names: Record<string, true>): unknown {
  if (typeof tools === 'function') {
    return async (...args: unknown[]) => guardTools(await tools(...args), findCall, names);
  }
  if (typeof tools !== 'object' || tools === null) return tools;
  return Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => {
      if (typeof tool?.execute !== 'function') return [name, tool];
      names[name] = true;
      return [name, overrideMethods(tool, { execute: executeInTime(name, tool, findCall) })];
    }),
  );
}

/** Runs a tool until it ends, times out or its run halts. */
function executeInTime(name: string, tool: { execute(...args: unknown[]): unknown }, findCall: FindCall) {
  return async (input: unknown, context: ExecuteContext = {}): Promise<unknown> => {
    const call = findCall(name, context);
    if (call === undefined) return tool.execute(input, context);
    const answer = await call.run((signal) =>
      tool.execute(input, { ...context, abortSignal: joinSignals(signal, context.abortSignal) }),
    );
    return 'refusal' in answer ? refusalText(answer.refusal) : answer.value;
  };
}

/** A model of a step: its calls end when the task halts, with the refusal as their answer. */
function guardModel(model: object, run: AgentRun, step: ModelStep): object {
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

/** Passes on the parts of a stream until the task halts or the host cancels. A stream that breaks off before its usage is estimated. */
async function* cutStream(
  run: AgentRun,
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
function meterCut(run: AgentRun, step: ModelStep): void {
  if (!closeStep(run, step)) return;
  const { task, model, inputLength, writtenLength: outputLength } = step;
  meterEstimate(run.host.gear, task, { model, inputLength, outputLength, remedy: undefined });
}

/** Begins the model call of a step; Mastra repeats a call that failed. */
function openStep(run: AgentRun, step: ModelStep, promptLength: number): void {
  if (run.step !== step) run.host.beginCall();
  run.step = step;
  step.writtenLength = 0;
  if (promptLength > 0) step.inputLength = promptLength;
}

/** Ends the model call of a step; returns false if it has ended. */
function closeStep(run: AgentRun, step: ModelStep): boolean {
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

const emptyRun = { task: undefined, step: undefined, turn: 0 };

/** Runs before each model call. A halted run ends here with a tripwire. */
function beginStep(run: AgentRun, { stepNumber, messages = [], model, abort }: ProcessorStep): object {
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
  if (halt === undefined) return isModel ? { model: guardModel(model!, run, step) } : {};
  run.step = undefined;
  endRun(run, task);
  return abort(refusalText(halt), { metadata: { switchgear: makeHaltFacts(halt) } });
}

/** Runs after each model call, before its tools run. */
function endStep(run: AgentRun, step: ProcessorStep): unknown {
  const { text = '', toolCalls = [], usage = {}, messages, abort } = step;
  const { task } = run;
  if (task === undefined) return messages;
  // A tool that suspended its run did not return, so its outcome is unknown.
  for (const { settle } of run.calls.values())
    settle({ error: new DOMException('the run was suspended before the call ended', 'AbortError') });
  run.calls.clear();
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
function meterStep(run: AgentRun, step: ModelStep, usage: NonNullable<ProcessorStep['usage']>, length: number): void {
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

function endRun(run: AgentRun, task: Task): void {
  run.host.end(task);
  run.task = undefined;
}

/** Mastra returns invalid arguments as a value; they are a mistake of the model. */
function classifyEnding(ending: object): 'neutral' | undefined {
  const { value } = ending as { readonly value?: unknown };
  return typeof value === 'object' && value !== null && 'validationErrors' in value ? 'neutral' : undefined;
}

/** The worker of a tool: a subagent, which Mastra offers as a tool with a prefix, or a tool listed in `workers`. */
function findWorkerName(tool: string, workers: readonly string[] = []): string | undefined {
  return workers.includes(tool) ? tool : /^agent-(.+)$/.exec(tool)?.[1];
}

/** Appends a processor to a list, or to a function that makes the list for each request. */
function appendProcessor(list: unknown, processor: object): unknown {
  if (typeof list !== 'function') return [...((list as readonly unknown[] | undefined) ?? []), processor];
  return async (...args: unknown[]) => [...((await list(...args)) as readonly unknown[]), processor];
}
