/** The adapter of Mastra: adds hooks around the tools and processors around the model to the settings of an agent. */

import type { Task } from '../guard/api.ts';
import { defaultSwitchgear } from '../guard/create-switchgear.ts';
import { beginHostCall, type OpenCall } from '../guard/entries/host-call.ts';
import { guardOnce, isGuardedBy } from './host/guard-once.ts';
import { createHostRun, type HostRun, makeHaltFacts, type ProtectOptions, refusalText } from './host/host-run.ts';
import { meterUsage } from './host/meter-usage.ts';
import { openWorker } from './host/open-worker.ts';

/** The settings that the adapter reads; all others pass unchanged. */
export interface MastraSettings {
  readonly name: string;
  readonly hooks?: unknown;
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
  readonly calls: Map<string, OpenCall['settle']>;
  task: Task | undefined;
  model: string;
  turn: number;
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
  // The request context identifies a run: all hooks and processors of the run get the same object.
  const runs = new WeakMap<object, AgentRun>();
  const fallback = {};
  const { gear = defaultSwitchgear() } = options;
  const hooks = (settings.hooks ?? {}) as Hooks;
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
        ? beginHostCall(run.host.gear, name, [input], host)
        : openWorker(run.host.gear, task, worker, input));
      const endCall = () => run.host.endCall(task);
      if (answer.refusal !== undefined) {
        endCall();
        return { proceed: false, output: refusalText(answer.refusal) };
      }
      run.calls.set(context.toolCallId ?? name, (ending) => {
        answer.settle(ending);
        endCall();
      });
      return hostAnswer;
    },
    async afterToolCall(end) {
      const { toolName, context = {}, error } = end;
      const { calls } = runFor(context.requestContext);
      const id = context.toolCallId ?? toolName;
      // Mastra wraps the error of a tool.
      const thrown = error instanceof Error ? (error.cause ?? error) : error;
      calls.get(id)?.(error === undefined ? { value: end.output } : { error: thrown });
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
  return {
    ...settings,
    hooks: guardOnce(hooks, gear, () => ({ ...hooks, ...guard })),
    inputProcessors: appendProcessor(settings.inputProcessors, inputProcessor),
    outputProcessors: appendProcessor(settings.outputProcessors, outputProcessor),
  };
}

const emptyRun = { task: undefined, model: '', turn: 0 };

/** Runs before each model call. A halted run ends here with a tripwire. */
function beginStep(run: AgentRun, { stepNumber, messages = [], model, abort }: ProcessorStep): object {
  const task = run.host.beginCall();
  run.task = task;
  run.model = model?.modelId ?? '';
  run.turn++;
  if (stepNumber === 0) {
    task.observe({
      type: 'user',
      text: JSON.stringify(messages.findLast(({ role }) => role === 'user')?.content ?? ''),
    });
  }
  const { halt } = task;
  if (halt === undefined) return {};
  endRun(run, task);
  return abort(refusalText(halt), { metadata: { switchgear: makeHaltFacts(halt) } });
}

/** Runs after each model call, before its tools run. */
function endStep(run: AgentRun, { text = '', toolCalls = [], usage = {}, messages }: ProcessorStep): unknown {
  const { task, host } = run;
  if (task === undefined) return messages;
  // A tool that suspended its run did not return, so its outcome is unknown.
  for (const settle of run.calls.values())
    settle({ error: new DOMException('the run was suspended before the call ended', 'AbortError') });
  run.calls.clear();
  task.observe({ type: 'assistant', text, toolUse: toolCalls.length > 0 });
  meterUsage(host.gear, task, {
    model: run.model,
    inputTokens: usage.inputTokens ?? 0,
    outputTokens: usage.outputTokens ?? 0,
    cacheReadTokens: usage.cachedInputTokens ?? 0,
    cacheWriteTokens: usage.cacheCreationInputTokens ?? 0,
  });
  host.endCall(task);
  if (toolCalls.length === 0) endRun(run, task);
  return messages;
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
