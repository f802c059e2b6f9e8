/** Whose task the calls of a framework belong to: the one handed in, the one around, or one of our own for each run. */

import { evictOldest } from '../../core/bounded.ts';
import { hostRestMs, hostRunsMax } from '../../core/limits.ts';
import { isRefused, type Refusal, RefusedError, refusalOf } from '../../core/refusal.ts';
import type { Switchgear, Task, TaskOptions } from '../../guard/api.ts';
import { defaultSwitchgear } from '../../guard/create-switchgear.ts';
import type { HostAnswer } from '../../guard/entries/host-call.ts';
import { runtimeOf } from '../../guard/internal.ts';
import { judgeByStructure } from './open-worker.ts';

/** What every `protect` takes. */
export interface ProtectOptions {
  /** The gear that guards; the one of the process unless said. */
  readonly gear?: Switchgear;
  /** The task that everything belongs to, or options for those that are opened for each run. */
  readonly task?: Task | TaskOptions;
}

/** What a `protect` takes that sees which tools a model is shown. */
export interface HidingOptions extends ProtectOptions {
  /** Hides tools from the model while their circuits are open; unless said, a call of one is told why not. */
  readonly hideOpenTools?: boolean;
}

/** Whether it is a task that runs, and not options for one. */
export function isTask(taskOrOptions: Task | TaskOptions | undefined): taskOrOptions is Task {
  return taskOrOptions !== undefined && 'observe' in taskOrOptions;
}

export interface HostRun {
  readonly gear: Switchgear;
  /** The task of a call that begins now. */
  beginCall(): Task;
  /** The call is over. A run of ours that nothing follows ends by itself. */
  endCall(task: Task): void;
  /** A person is being asked, outside of the run: its task stands still until the next call. */
  awaitApproval(task: Task): void;
  /** The run came to its answer. */
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
  /** Since when nothing is out. */
  let idleSinceMs: number | undefined;
  let cancel: (() => void) | undefined;

  /** One timer for the whole run: whoever looks too early looks again. */
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
      // A host that stops at its own limit of steps tells nobody, and its task would be taken for a silent one.
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

/** The runs of a host, each under all its names, with a task of its own in the session of its conversation. */
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

/** An agent behind a tool is a worker: counted against its limit, its failures booked on itself. */
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
export function refusalText({ message, remediation }: Refusal): string {
  return `${message.replace(/[.\s]+$/, '')}. ${remediation}`;
}

/** A refusal for hosts that show the model what was thrown. */
export function makeRefusedError(refusal: Refusal): RefusedError {
  return Object.assign(new RefusedError(refusal), { message: refusalText(refusal) });
}

const turns = new WeakMap<Task, number>();
const closedTasks = new WeakSet<Task>();

/** The model turn that a task is in. */
export function turnOf(task: Task): string | undefined {
  return turns.get(task)?.toString();
}

/** A model is called: what it asks for belongs to the next turn. */
export function beginTurn(task: Task): void {
  turns.set(task, (turns.get(task) ?? 0) + 1);
}

/** Whether a halted task may have its one closing answer from the model: not where money or time is what ran out. */
export function claimClosingAnswer(task: Task, { code, control }: Refusal): boolean {
  const isSpent = code === 'token_spend_limit' || code === 'token_limit';
  if (isSpent || control === 'deadline' || control === 'operator' || closedTasks.has(task)) return false;
  closedTasks.add(task);
  return true;
}

/** What a framework's result carries about a halt, as plain data. */
export interface HaltFacts {
  readonly code: Refusal['code'];
  readonly message: string;
  readonly explanation: string;
}

export function makeHaltFacts({ code, message, explanation }: Refusal): HaltFacts {
  return { code, message, explanation };
}
