/** The adapter of Mastra: adds hooks around the tools and processors around the model to the settings of an agent. */

import { defaultSwitchgear } from '../../guard/create-switchgear.ts';
import { joinSignals } from '../../guard/entries/host-call.ts';
import { beginHostCall, type OpenCall, type RefusedOpening } from '../../guard/entries/open-call.ts';
import { createCallsById } from '../host/calls-by-id.ts';
import { hasMethod, isLiteral, unknownThing } from '../host/check-thing.ts';
import { guardOnce, isGuardedBy, reportGuarded } from '../host/guard-once.ts';
import { createHostRun, type FallbackOptions, fallbackOf, type ProtectOptions, refusalText } from '../host/host-run.ts';
import { openWorker } from '../host/open-worker.ts';
import { overrideMethods } from '../host/override-methods.ts';
import { beginStep, emptyRun, endStep, type MastraRun, type ProcessorStep, type RunningCall } from './steps.ts';

/** The settings that the adapter reads; all others pass unchanged. */
export interface MastraSettings {
  readonly name: string;
  readonly hooks?: unknown;
  readonly tools?: unknown;
  readonly inputProcessors?: unknown;
  readonly outputProcessors?: unknown;
}

/** Options of `protect` for Mastra. */
export interface MastraOptions extends ProtectOptions, FallbackOptions {
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
  const runs = new WeakMap<object, MastraRun>();
  const fallback = {};
  const { gear = defaultSwitchgear() } = options;
  const hooks = (settings.hooks ?? {}) as Hooks;
  const guardedNames: GuardedNames = {};
  if (isGuardedBy(hooks, gear)) return settings;

  function runFor(context: object = fallback): MastraRun {
    const run = runs.get(context) ?? {
      ...emptyRun,
      host: createHostRun(options),
      calls: createCallsById(),
      awaited: new Map(),
    };
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
        canEdit: guardedNames[name] === 'agent',
        fallback: fallbackOf(options, name),
        // A tool that was given to a call runs in the hooks of Mastra, once.
        isForwarded: () => guardedNames[name] !== 'agent',
      };
      const answer = await (worker === undefined
        ? beginHostCall(run.host.gear, name, [input], host, Object.hasOwn(guardedNames, name))
        : openWorker(run.host.gear, task, worker, input));
      const endCall = () => run.host.endCall(task);
      if (answer.refusal !== undefined) {
        endCall();
        const { instead } = answer as RefusedOpening;
        return { proceed: false, output: instead === undefined ? refusalText(answer.refusal) : instead.value };
      }
      const settle: OpenCall['settle'] = (ending) => {
        answer.settle(ending);
        endCall();
      };
      const id = findCallId(name, context);
      const [args] = answer.args;
      const running = { settle, run: answer.run, ...(args !== input && { edited: { args } }) };
      run.calls.add(id, input, running);
      run.awaited.get(id)?.(running);
      return hostAnswer;
    },
    async afterToolCall(end) {
      const { toolName, input, context = {}, error } = end;
      const { calls } = runFor(context.requestContext);
      const id = findCallId(toolName, context);
      // Mastra wraps the error of a tool.
      const thrown = error instanceof Error ? (error.cause ?? error) : error;
      calls.take(id, input)?.settle(error === undefined ? { value: end.output } : { error: thrown });
      await hooks.afterToolCall?.(end);
    },
  };
  const inputProcessor = {
    id: 'switchgear-step',
    processInputStep: (step: ProcessorStep) => {
      const run = runFor(step.requestContext);
      return beginStep(run, step, (tools) => guardGivenTools(tools, run, guardedNames));
    },
  };
  const outputProcessor = {
    id: 'switchgear-answer',
    processOutputStep: (step: ProcessorStep) => endStep(runFor(step.requestContext), step),
  };
  const findCall: FindCall = (name, input, context) =>
    runs.get(context.requestContext ?? fallback)?.calls.find(findCallId(name, context), input);
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

type FindCall = (name: string, input: unknown, context: ExecuteContext) => RunningCall | undefined;

/** The tools that run in time by name: those of the agent, and those given to a call. */
type GuardedNames = Record<string, 'agent' | 'call'>;

/** Guards the tools of an agent, or a function that makes them for each request. */
function guardTools(tools: unknown, findCall: FindCall, names: GuardedNames): unknown {
  if (typeof tools === 'function') {
    return async (...args: unknown[]) => guardTools(await tools(...args), findCall, names);
  }
  if (typeof tools !== 'object' || tools === null) return tools;
  return Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => {
      if (typeof tool?.execute !== 'function') return [name, tool];
      names[name] = 'agent';
      return [name, overrideMethods(tool, { execute: executeInTime(name, tool, findCall) })];
    }),
  );
}

/** Guards the tools that were given to a call and not to the agent; undefined if there are none. */
function guardGivenTools(
  tools: Readonly<Record<string, unknown>>,
  run: MastraRun,
  names: GuardedNames,
): object | undefined {
  const given = Object.entries(tools).flatMap(([name, tool]) => {
    if (names[name] === 'agent' || !hasMethod(tool, 'execute')) return [];
    names[name] = 'call';
    return [[name, overrideMethods(tool, { execute: executeGiven(name, tool as Executable, run) })]];
  });
  return given.length === 0 ? undefined : { ...tools, ...Object.fromEntries(given) };
}

/** Runs a tool that was given to a call. Its own `execute` runs the hooks, which open the call. */
function executeGiven(name: string, tool: Executable, run: MastraRun) {
  return async (input: unknown, context: ExecuteContext = {}): Promise<unknown> => {
    const id = findCallId(name, context);
    const opened = Promise.withResolvers<Pick<OpenCall, 'run'>>();
    const ending = new AbortController();
    run.awaited.set(id, opened.resolve);
    const abortSignal = joinSignals(ending.signal, context.abortSignal);
    const work = (async () => tool.execute(input, { ...context, abortSignal }))();
    const inTime = opened.promise.then((call) => call.run(() => work));
    try {
      const answer = await Promise.race([work.then((value) => ({ value })), inTime]);
      if (!('refusal' in answer)) return answer.value;
      ending.abort();
      return refusalText(answer.refusal);
    } catch (error) {
      ending.abort(error);
      throw error;
    } finally {
      run.awaited.delete(id);
    }
  };
}

interface Executable {
  execute(...args: unknown[]): unknown;
}

function findCallId(name: string, { agent, toolCallId }: ExecuteContext): string {
  return agent?.toolCallId ?? toolCallId ?? name;
}

/** Runs a tool until it ends, times out or its run halts. */
function executeInTime(name: string, tool: Executable, findCall: FindCall) {
  return async (input: unknown, context: ExecuteContext = {}): Promise<unknown> => {
    const call = findCall(name, input, context);
    if (call === undefined) return tool.execute(input, context);
    const answer = await call.run((signal) =>
      tool.execute(call.edited === undefined ? input : call.edited.args, {
        ...context,
        abortSignal: joinSignals(signal, context.abortSignal),
      }),
    );
    return 'refusal' in answer ? refusalText(answer.refusal) : answer.value;
  };
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
