/**
 * The adapter of OpenAI Agents: makes runs of a runner tasks, with guardrails around every tool and a metered model.
 */

import { evictOldest } from '../../core/bounded.ts';
import { countedIdsMax } from '../../core/limits.ts';
import type { Task, TaskOptions } from '../../guard/api.ts';
import { defaultSwitchgear } from '../../guard/create-switchgear.ts';
import { hasMethod, isLiteral, unknownThing } from '../host/check-thing.ts';
import { guardOnce, isGuardedBy, reportGuarded } from '../host/guard-once.ts';
import { type FallbackOptions, isTask, makeHaltFacts, type ProtectOptions } from '../host/host-run.ts';
import { overrideMethods } from '../host/override-methods.ts';
import { type ModelLike, protectOpenAiModel } from './model.ts';
import { guardTool, keyOfToolCall, type OpenCalls, type RunnerContext } from './tool.ts';

/** Options of `protect` for OpenAI Agents. */
export interface OpenAiAgentsOptions extends ProtectOptions, FallbackOptions {
  /**
   * Names of tools that are agents, such as those made by `agent.asTool`.
   * @default []
   */
  readonly workers?: readonly string[];
}

interface AgentLike {
  readonly name: string;
  readonly model: unknown;
  handoffs: readonly unknown[];
  clone(config: object): AgentLike;
  getAllTools(context: unknown): Promise<readonly object[]>;
}

interface HandoffLike {
  readonly agent: AgentLike;
  onInvokeHandoff(...args: readonly unknown[]): AgentLike | Promise<AgentLike>;
}

interface RunOptions {
  readonly signal?: AbortSignal;
}

interface RunResult {
  readonly interruptions?: readonly unknown[];
  readonly state?: object;
  /** In streamed runs: settles when the run ends. */
  readonly completed?: Promise<void>;
}

interface RunnerLike {
  readonly config: { readonly modelProvider?: { getModel(name?: string): ModelLike | Promise<ModelLike> } };
  run(agent: AgentLike, input: unknown, options?: RunOptions): Promise<RunResult>;
}

// biome-ignore lint/suspicious/noExplicitAny: the context of a tool may have any type.
type Loose = any;

/** A schema of zod, of another library, or of JSON, whose literals must not be widened. */
type SchemaLike = object | { readonly type: 'object'; readonly additionalProperties: boolean };

/** The input that a schema reads, so that the parameters of `execute` are inferred as by `tool` itself. */
type OutputOf<P> = P extends { readonly _output: infer O }
  ? O
  : P extends { readonly '~standard': { readonly types?: { readonly output: infer O } } }
    ? O
    : unknown;

interface ToolOptionsLike<P> {
  readonly parameters: P;
  readonly strict?: boolean;
  execute: Loose;
}

/** Errors of tools whose options were protected: the SDK hides the errors of other tools. */
const errors = new Map<string, unknown>();

/**
 * Guards a runner; or wraps the options of a tool, so that the adapter sees its real errors.
 * @example
 * import { Agent, Runner } from '@openai/agents';
 * import { protect } from 'switchgear/adapters/openai-agents';
 *
 * const runner = protect(new Runner());
 * const agent = new Agent({ name: 'Pilot', instructions: 'Answer.' });
 * const { finalOutput } = await runner.run(agent, 'When is high tide?');
 */
export function protect<P extends SchemaLike, R, T extends ToolOptionsLike<P>>(
  tool: T & { readonly parameters: P; execute(input: OutputOf<P>, context?: Loose, details?: Loose): R },
  options?: OpenAiAgentsOptions,
): T;
export function protect<T extends object>(thing: T, options?: OpenAiAgentsOptions): T;
export function protect<T extends object>(thing: T, options: OpenAiAgentsOptions = {}): T {
  if (hasMethod(thing, 'run') && 'config' in thing) return protectRunner(thing as T & RunnerLike, options);
  if (isLiteral(thing) && hasMethod(thing, 'execute')) return recordErrors(thing as T & { execute: Execute });
  const kinds = 'a Runner, or the options of a tool';
  const isMadeTool = hasMethod(thing, 'invoke');
  const advice = isMadeTool
    ? 'the runner guards its calls: write protect(new Runner())'
    : 'write const runner = protect(new Runner()); await runner.run(agent, …)';
  throw unknownThing(kinds, thing, advice);
}

type Execute = (
  input: unknown,
  context?: unknown,
  details?: { readonly toolCall?: { readonly callId?: string; readonly arguments?: string } },
) => unknown;

function recordErrors<T extends { execute: Execute }>(tool: T): T {
  return {
    ...tool,
    async execute(input: unknown, context: unknown, details: Parameters<Execute>[2]) {
      try {
        return await tool.execute(input, context, details);
      } catch (error) {
        evictOldest(errors, countedIdsMax);
        errors.set(keyOfToolCall(details?.toolCall), error);
        throw error;
      }
    },
  };
}

function protectRunner<R extends RunnerLike & object>(runner: R, options: OpenAiAgentsOptions): R {
  const { gear = defaultSwitchgear(), task: taskOption, workers = [] } = options;
  if (isGuardedBy(runner, gear)) return runner;
  const calls: OpenCalls = new Map();
  const signals = new WeakMap<Task, AbortSignal>();
  const guardAgent = createAgentGuard({ ...options, gear, calls, errors, signals, workers });
  const pausedTasks = new WeakMap<object, Task>();
  const { modelProvider } = runner.config;
  const getModel = async (name?: string) =>
    protectOpenAiModel(await modelProvider!.getModel(name), gear, name ?? 'default');
  const RunnerClass = runner.constructor as new (config: object) => R;
  const inner = new RunnerClass({ ...runner.config, ...(modelProvider && { modelProvider: { getModel } }) });

  /** The task of a run, and whether the adapter must end it. */
  function openRun(input: unknown): readonly [Task, boolean] {
    const outerTask = isTask(taskOption) ? taskOption : gear.currentTask();
    if (outerTask !== undefined) return [outerTask, false];
    const pausedTask = typeof input === 'object' && input !== null ? pausedTasks.get(input) : undefined;
    pausedTask?.resume();
    return [pausedTask ?? gear.startTask(taskOption as TaskOptions | undefined), true];
  }

  async function run(agent: AgentLike, input: unknown, runOptions?: RunOptions): Promise<RunResult> {
    const [task, isOwn] = openRun(input);
    if (runOptions?.signal) signals.set(task, runOptions.signal);
    const finish = (result?: RunResult, error?: unknown) => {
      settleUnfinished(calls, task, error);
      if (result !== undefined && task.halt) Object.assign(result, { switchgear: makeHaltFacts(task.halt) });
      if (!isOwn) return;
      if (result?.state === undefined || !result.interruptions?.length) task.end();
      else {
        pausedTasks.set(result.state, task);
        task.pause();
      }
    };
    try {
      const result = await task.run(() => inner.run(guardAgent(agent), guardState(input, guardAgent), runOptions));
      if (result.completed === undefined) finish(result);
      else result.completed.then(() => finish(result)).catch((error) => finish(result, error));
      return result;
    } catch (error) {
      finish(undefined, error);
      throw error;
    }
  }

  reportGuarded(gear, 'openai-agents', ['every run, with its model calls and tools']);
  return guardOnce(runner, gear, () => overrideMethods(inner, { run }));
}

/** Makes guarded copies of agents: one copy for each agent, also if handoffs form a cycle. */
function createAgentGuard(runnerContext: RunnerContext) {
  const twins = new WeakMap<AgentLike, AgentLike>();
  const guardedTools = new WeakMap<object, object>();
  return function guardAgent(agent: AgentLike): AgentLike {
    const knownTwin = twins.get(agent);
    if (knownTwin !== undefined) return knownTwin;
    const { model } = agent;
    const isModel = typeof (model as ModelLike | null)?.getResponse === 'function';
    const twin = agent.clone(
      isModel ? { model: protectOpenAiModel(model as ModelLike, runnerContext.gear, readModelName(model)) } : {},
    );
    twins.set(agent, twin);
    twins.set(twin, twin);
    // Not `tools`, which lacks the tools of MCP servers.
    twin.getAllTools = async (context) => {
      const tools = await agent.getAllTools(context);
      return tools.map((tool) => {
        // The SDK requests the tools in every turn, so guarded tools are cached.
        const guardedTool = guardedTools.get(tool) ?? guardTool(tool, runnerContext);
        guardedTools.set(tool, guardedTool);
        return guardedTool;
      });
    };
    twin.handoffs = agent.handoffs.map((each) => {
      if (!('onInvokeHandoff' in (each as object))) return guardAgent(each as AgentLike);
      const handoff = each as HandoffLike;
      const onInvokeHandoff = async (...args: unknown[]) => guardAgent(await handoff.onInvokeHandoff(...args));
      return overrideMethods(handoff, { onInvokeHandoff, agent: guardAgent(handoff.agent) });
    });
    return twin;
  };
}

/** Replaces the current agent of a deserialized state by its guarded copy. */
function guardState(input: unknown, guardAgent: (agent: AgentLike) => AgentLike): unknown {
  const state = input as { _currentAgent?: AgentLike } | null;
  if (typeof state === 'object' && state?._currentAgent !== undefined) {
    state._currentAgent = guardAgent(state._currentAgent);
  }
  return input;
}

/** Settles calls that did not reach their output guardrail because an error ended the run. */
function settleUnfinished(calls: OpenCalls, task: Task, error: unknown): void {
  const thrown = (error as { readonly error?: unknown } | undefined)?.error ?? error;
  for (const [id, call] of calls) {
    if (call.task !== task) continue;
    call.settle({ error: thrown ?? new DOMException('the run ended before the call', 'AbortError') });
    calls.delete(id);
  }
}

function readModelName(model: unknown): string {
  const { model: name } = model as { readonly model?: unknown };
  return typeof name === 'string' ? name : (model as object).constructor.name;
}
