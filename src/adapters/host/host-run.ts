/**
 * Finds the task of a framework's calls: the task passed to `protect`, the task around the call, or a new one for
 * each run.
 */

import { evictOldest } from '../../core/bounded.ts';
import { hostRestMs, hostRunsMax } from '../../core/limits.ts';
import type { HaltFacts } from '../../core/messages/halt-of.ts';
import { textForModel } from '../../core/messages/model-text.ts';
import { isRefused, type Refusal, RefusedError, refusalOf } from '../../core/refusal.ts';
import type { Switchgear, Task, TaskOptions } from '../../guard/api.ts';
import { defaultSwitchgear } from '../../guard/create-switchgear.ts';
import { type HostAnswer, nodeOf } from '../../guard/entries/host-call.ts';
import { failsAtLimit, invalid, runtimeOf } from '../../guard/internal.ts';
import { judgeByStructure } from './open-worker.ts';

/** The options of every `protect`. */
export interface ProtectOptions {
  /** The gear to use; by default the gear of the process. */
  readonly gear?: Switchgear;
  /** The task of all calls, or the options of the tasks that are started for each run. */
  readonly task?: Task | TaskOptions;
}

// biome-ignore lint/suspicious/noExplicitAny: the input of a tool may have any type.
type ToolInput = any;

/** Answers for a tool whose call failed: with its error, or because its circuit is open. */
export type ToolFallback = (failure: Refusal | Error, ...input: ToolInput[]) => unknown;

/** The options of a `protect` that guards tools. */
export interface FallbackOptions {
  /**
   * What answers for tools whose calls failed, by their names: for an error, a timeout or an open circuit, never for a
   * rule, a limit, a halt or a declined approval.
   * @default {}
   */
  readonly fallbacks?: Readonly<Record<string, ToolFallback>>;
}

/** The fallback of a tool. */
export function fallbackOf({ fallbacks = {} }: FallbackOptions, name: string): ToolFallback | undefined {
  return Object.hasOwn(fallbacks, name) ? fallbacks[name] : undefined;
}

/** Throws if a fallback has the name of no tool. */
export function checkFallbacks({ fallbacks = {} }: FallbackOptions, tools: readonly string[]): void {
  const unknown = Object.keys(fallbacks).find((name) => !tools.includes(name));
  if (unknown === undefined) return;
  const known = tools.length === 0 ? 'there are no tools' : `the tools are ${tools.join(', ')}`;
  throw invalid(`fallbacks: there is no tool named '${unknown}'; ${known}`);
}

/** What a fallback returned as a text for the model. */
export function fallbackText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
}

/** The options of a `protect` that can hide tools from the model. */
export interface HidingOptions extends ProtectOptions, FallbackOptions {
  /**
   * Hides tools from the model while their breakers are open. By default such tools are visible, and a call to one is
   * refused with the reason.
   */
  readonly hideOpenTools?: boolean;
}

/** Whether the value is a task, not options for one. */
export function isTask(taskOrOptions: Task | TaskOptions | undefined): taskOrOptions is Task {
  return taskOrOptions !== undefined && 'observe' in taskOrOptions;
}

export interface HostRun {
  readonly gear: Switchgear;
  /** Returns the task of a call that starts now. */
  beginCall(): Task;
  /** Records the end of a call. A run that the adapter started ends by itself if no other call follows. */
  endCall(task: Task): void;
  /** Stops the clocks of the task until the next call, because the host asks a person. */
  awaitApproval(task: Task): void;
  /** Ends the run after its final answer. */
  end(task: Task): void;
  /** The halt of the latest run. */
  readonly halt: Refusal | undefined;
}

export function createHostRun({ gear = defaultSwitchgear(), task: taskOrOptions }: ProtectOptions = {}): HostRun {
  const { clock } = runtimeOf(gear);
  let ownTask: Task | undefined;
  let latestTask: Task | undefined;
  let runningCalls = 0;
  let isWaiting = false;
  /** The time since which no call is running. */
  let idleSinceMs: number | undefined;
  let cancel: (() => void) | undefined;

  /** Ends the run if it has been idle long enough; otherwise the one timer of the run is set again. */
  function endIfIdle(): void {
    cancel = undefined;
    if (ownTask === undefined || idleSinceMs === undefined) return;
    const idleLimitMs = isWaiting ? 1000 * gear.settings.approval.timeoutSecs : hostRestMs;
    const leftMs = idleSinceMs + idleLimitMs - clock.nowMs();
    if (leftMs <= 0) end(ownTask);
    else cancel = clock.after(leftMs, endIfIdle);
  }

  function end(task: Task): void {
    if (task !== ownTask) return;
    cancel?.();
    cancel = undefined;
    ownTask = undefined;
    isWaiting = false;
    task.end();
  }

  return {
    gear,
    beginCall() {
      latestTask = isTask(taskOrOptions) ? taskOrOptions : gear.currentTask();
      if (latestTask !== undefined) return latestTask;
      if (ownTask === undefined) runningCalls = 0;
      ownTask ??= gear.startTask(taskOrOptions as TaskOptions | undefined);
      if (isWaiting) ownTask.resume();
      isWaiting = false;
      idleSinceMs = undefined;
      runningCalls++;
      latestTask = ownTask;
      return ownTask;
    },
    endCall(task) {
      if (task !== ownTask || --runningCalls > 0) return;
      if (isWaiting) task.pause();
      idleSinceMs = clock.nowMs();
      // A host that stops at its own step limit does not report it; without this timer its task would halt as idle.
      cancel ??= clock.after(hostRestMs, endIfIdle);
    },
    awaitApproval(task) {
      isWaiting ||= task === ownTask;
    },
    end,
    get halt() {
      return latestTask?.halt;
    },
  };
}

/** Tracks the runs of a host. A run can have several names, and has its own task in the session of its conversation. */
export function createHostRuns(options: ProtectOptions): (names: readonly string[], session?: string) => HostRun {
  const runs = new Map<string, HostRun>();
  const { task } = options;
  return (names, session) => {
    const runOptions = isTask(task) || session === undefined ? options : { ...options, task: { session, ...task } };
    const knownName = names.find((name) => runs.has(name));
    const run = (knownName === undefined ? undefined : runs.get(knownName)) ?? createHostRun(runOptions);
    for (const name of names) {
      if (!runs.has(name)) evictOldest(runs, hostRunsMax);
      runs.set(name, run);
    }
    return run;
  };
}

/** Runs a tool that is an agent as a delegation to a worker. */
export async function delegateToWorker<T>(
  { gear }: HostRun,
  task: Task,
  worker: string,
  request: unknown,
  work: () => T | Promise<T>,
): Promise<HostAnswer<T>> {
  const value = await task.run(() => gear.delegate(worker, work, { request, judge: judgeByStructure(worker) }));
  const refusal = isRefused(value) ? refusalOf(value) : undefined;
  return refusal === undefined ? { value: value as T } : { refusal };
}

/** A refusal as one text for the model: what happened, what to do instead and when to try again. */
export function refusalText(refusal: Refusal): string {
  return textForModel(refusal);
}

/** A refusal as an error, for hosts that show thrown errors to the model. */
export function makeRefusedError(refusal: Refusal): RefusedError {
  return Object.assign(new RefusedError(refusal), { message: refusalText(refusal) });
}

/** Throws the halt of a task whose limits end in an error; adapters call this where they would close the answer. */
export function throwAtLimit(gear: Switchgear, task: Task): void {
  const node = nodeOf(runtimeOf(gear), task);
  if (node?.halt !== undefined && failsAtLimit(node)) throw makeRefusedError(node.halt);
}

const turns = new WeakMap<Task, number>();
const closedTasks = new WeakSet<Task>();

/** The current model turn of a task. */
export function turnOf(task: Task): string | undefined {
  return turns.get(task)?.toString();
}

/** Starts the next model turn of a task, at a call of the model. */
export function beginTurn(task: Task): void {
  turns.set(task, (turns.get(task) ?? 0) + 1);
}

/** Whether a halted task may call the model for its closing answer: not if money, time or model calls are used up. */
export function claimClosingAnswer(task: Task, { code, control }: Refusal): boolean {
  const isSpent = code === 'token_spend_limit' || code === 'token_limit' || code === 'model_call_limit';
  if (isSpent || control === 'deadline' || control === 'operator' || closedTasks.has(task)) return false;
  closedTasks.add(task);
  return true;
}

/** The data about a halt in the result of a framework: the refusal, which serializers can copy. */
export function makeHaltFacts(refusal: Refusal): HaltFacts {
  return { ...refusal };
}
