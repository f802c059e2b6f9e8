/** Guards a call of a framework with the framework's call id, turn, signal and way to ask a person. */

import { type Action, cancelled, type Permit } from '../../core/action.ts';
import { getOrCreate } from '../../core/bounded.ts';
import type { Ending } from '../../core/classify.ts';
import { decide } from '../../core/decide.ts';
import { callSitesMax } from '../../core/limits.ts';
import type { Refusal } from '../../core/refusal.ts';
import type { BreakerSettings } from '../../core/settings.ts';
import { nextTurn } from '../../platform/system-clock.ts';
import type { Answer } from '../../ports/approver.ts';
import type { Call, Switchgear, Task } from '../api.ts';
import type { GuardOptions } from '../call-options.ts';
import { countError } from '../journal/journal.ts';
import { type AdmitResult, admitAction, explainStop, isStop, needsAnotherRound } from '../route/admission.ts';
import { settleEnding } from '../route/call.ts';
import { type CallSite, callSiteFor, type Target } from '../route/call-site.ts';
import { LiveCall, settleCall } from '../route/live-call.ts';
import { makeAction, reportMissingTask } from '../route/proposal.ts';
import { CallAttempt, findFailure, finishAttempts } from '../route/recovery.ts';
import { attachHint, refuseOnError } from '../route/refusal-delivery.ts';
import { type JudgedCall, laterRounds, type RoundsResult } from '../route/rounds.ts';
import { followStream, isStream, streamingCall } from '../route/stream.ts';
import { applyInside, frameOf } from '../runtime/async-context.ts';
import { isObserving, type Runtime, runtimeOf } from '../runtime/runtime.ts';
import { noteAskingHost } from '../tasks/limit-question.ts';
import { wasCounted } from '../tasks/observe.ts';
import type { TaskState } from '../tasks/task.ts';
import { digestHostCall, HostQuestions, rememberAsked } from './host-questions.ts';

/** The host's data of a call. */
export interface HostCall<T = unknown> {
  /** The host's call id: an observed call with the same id is not counted again. */
  readonly id?: string | undefined;
  /** The model turn of the call. */
  readonly turnId?: string | undefined;
  readonly kind?: 'tool' | 'model';
  /** The task of the call; by default the task around the code. */
  readonly task?: Task | undefined;
  /** The host's signal: a call that it aborts is cancelled and does not count as a failure. */
  readonly signal?: AbortSignal | undefined;
  readonly breaker?: Partial<BreakerSettings> | undefined;
  readonly classify?: GuardOptions['classify'];
  /** Returns the part of a wrapped result that the model reads, by which results are compared. */
  readonly shown?: ((value: unknown) => unknown) | undefined;
  /** Asks a person through the host, if the gear has no approver. Errors that it throws pass through. */
  readonly ask?: ((question: string, args: readonly unknown[]) => Answer | Promise<Answer>) | undefined;
  /** Whether the work takes the arguments from its second parameter, so that a person may edit them. */
  readonly canEdit?: boolean | undefined;
  /** Called instead of a call that failed, with its error or the refusal of an open circuit. */
  readonly fallback?: ((failure: Refusal | Error, ...args: readonly unknown[]) => T | Promise<T>) | undefined;
  /** Whether a part of the result has reached the host: then the call is not tried again, and has no fallback. */
  readonly isForwarded?: (() => boolean) | undefined;
  /** The stream inside a result: the call settles when the stream ends. */
  readonly streamIn?: { find(value: T): unknown; replace(value: T, stream: object): T } | undefined;
}

export type HostAnswer<T> = { readonly value: T } | { readonly refusal: Refusal };

/** The work of a host's call, with the arguments that were admitted. */
export type HostWork<T> = (call: Call, args: readonly unknown[]) => T | PromiseLike<T>;

/**
 * Runs a guarded call, with its retries and its fallback. It is admitted synchronously; errors of the function pass
 * through.
 */
export async function hostCall<T>(
  gear: Switchgear,
  name: string,
  args: readonly unknown[],
  run: HostWork<T>,
  host: HostCall<T> = {},
): Promise<HostAnswer<T>> {
  const runtime = runtimeOf(gear);
  const first = new CallAttempt();
  const firstAnswer = attemptHostCall(runtime, name, args, run, host, first);
  const { site } = first;
  if (host.fallback === undefined && site?.retry === undefined) return firstAnswer;
  return recoverHostCall(runtime, { name, args, run, host, site, first, firstAnswer });
}

/** A host's call after its first attempt began. */
export interface BegunAttempt<T> {
  readonly name: string;
  readonly args: readonly unknown[];
  readonly run: HostWork<T>;
  readonly host: HostCall<T>;
  readonly site: CallSite | undefined;
  readonly first: CallAttempt;
  readonly firstAnswer: Promise<HostAnswer<T>>;
}

/** Tries a call again while its settings allow, and answers for its failure with the fallback. */
export async function recoverHostCall<T>(runtime: Runtime, begun: BegunAttempt<T>): Promise<HostAnswer<T>> {
  const { name, args, run, host, site, first, firstAnswer } = begun;
  const { signal, fallback } = host;
  const readValue = async (answering: Promise<HostAnswer<T>>) => {
    const answer = await answering;
    return 'value' in answer ? answer.value : undefined;
  };
  let retries = 0;
  const begin = (attempt: CallAttempt) => {
    // Another id: the call that timed out before may still run.
    const again = host.id === undefined ? host : { ...host, id: `${host.id} retry ${++retries}` };
    return readValue(attemptHostCall(runtime, name, args, run, again, attempt));
  };
  const call = { site: { task: site?.task }, plan: site?.retry, signal, begin, isForwarded: host.isForwarded };
  const last = await finishAttempts(runtime, call, first, readValue(firstAnswer));
  const { attempt, ending } = last;
  const failure = fallback && !host.isForwarded?.() ? findFailure(last, signal) : undefined;
  if (failure !== undefined) return { value: await fallback!(failure, ...(attempt.args ?? args)) };
  if (attempt.refusal !== undefined) return { refusal: attempt.refusal };
  if ('error' in ending) throw ending.error;
  return { value: ending.value as T };
}

/** Makes one attempt of a host's call. */
export async function attemptHostCall<T>(
  runtime: Runtime,
  name: string,
  ownArgs: readonly unknown[],
  run: HostWork<T>,
  host: HostCall<T>,
  attempt: CallAttempt,
): Promise<HostAnswer<T>> {
  const { clock } = runtime;
  const refuse = (refusal: Refusal): HostAnswer<T> => {
    attempt.refusal = refusal;
    return { refusal };
  };
  let site: CallSite;
  let admission: AdmitResult;
  let args = ownArgs;
  let act: () => Action;
  try {
    [site, act] = proposalOf(runtime, name, () => args, host);
    attempt.site = site;
    if (site.task === undefined) reportMissingTask(runtime, name, clock.nowMs());
    else wasCounted(site.task, 'call', host.id);
    if (host.ask !== undefined) noteAskingHost(site.task);
    admission = admitAction(runtime, site, act(), clock.nowMs());
  } catch (error) {
    return refuse(refuseOnError(runtime, 'admit', name, error));
  }
  const begin = (permit: Permit): BegunCall<T> => {
    const call = new LiveCall(runtime, site, permit);
    attempt.call = call;
    return { call, work: perform(call, (running) => run(running, args), host) };
  };
  let result: RoundsResult<BegunCall<T>>;
  if (!isStop(admission)) result = { begun: begin(admission) };
  else if (!needsAnotherRound(admission)) result = { stop: admission };
  else {
    const isHostAsked = runtime.approver === undefined && host.ask !== undefined;
    const questions = isHostAsked ? new HostQuestions(runtime, host) : undefined;
    const judged: JudgedCall<BegunCall<T>> = {
      site,
      signal: host.signal,
      act,
      begin,
      get args() {
        return args;
      },
      edit: host.canEdit
        ? (edited) => {
            args = edited;
            attempt.args = edited;
          }
        : undefined,
      ask: questions && ((stop) => questions.ask(judged, stop)),
      askLimit: questions && ((question) => questions.askLimit(question, args)),
    };
    try {
      result = await laterRounds(runtime, judged, admission);
    } catch (error) {
      if (host.signal?.aborted || questions?.hasThrown) throw error;
      return refuse(refuseOnError(runtime, 'admit', name, error));
    }
  }
  if ('stop' in result) return refuse(explainStop(result.stop, site, clock.nowMs()));
  const { call, work } = result.begun;
  try {
    return { value: await work };
  } catch (error) {
    const halt = site.task?.halt;
    // A call that the halt of its task aborted ends as a refused call, with any error of the client.
    if (halt !== undefined && call.aborted && !host.signal?.aborted) return refuse(halt);
    throw error;
  }
}

/** A call that was admitted and runs. */
interface BegunCall<T> {
  readonly call: LiveCall;
  readonly work: Promise<T>;
}

/** Whether the host may have to ask a person. */
export function mayAsk(gear: Switchgear): boolean {
  const { approver, rules, own, settings } = runtimeOf(gear);
  if (approver !== undefined) return false;
  const limits = [settings.task, ...Object.values(settings.agents).map(({ task = {} }) => task)];
  const asksAtLimit = limits.some(({ atLimit }) => atLimit === 'ask');
  return rules !== undefined || own !== undefined || asksAtLimit;
}

/**
 * Whether the host would have to ask a person about a call; about a limit only if the host comes back with the answer.
 * Reserves and counts nothing.
 */
export function wouldAsk(
  gear: Switchgear,
  name: string,
  args: readonly unknown[],
  host: HostCall = {},
  comesBack = false,
): boolean {
  const runtime = runtimeOf(gear);
  if (!mayAsk(gear)) return false;
  try {
    const [site, act] = proposalOf(runtime, name, () => args, host);
    const proposal = { type: 'action-proposed', atMs: runtime.clock.nowMs(), action: act() } as const;
    if (site.task?.haltStop !== undefined) return false;
    const { verdict } = decide(site.panel, proposal);
    if (verdict.kind !== 'ask') return false;
    if (verdict.raise !== undefined) return comesBack;
    const digest = digestHostCall(runtime, name, args, verdict);
    if (digest !== undefined) rememberAsked(runtime, site, host.id, digest);
    return true;
  } catch (error) {
    countError(runtime, 'admit', error);
    return false; // The call itself is judged later, and refused on an error.
  }
}

/** Whether a tool's breaker would refuse a call now. Reserves and counts nothing. */
export function isCircuitOpen(gear: Switchgear, name: string, task: Task): boolean {
  const runtime = runtimeOf(gear);
  if (isObserving(runtime)) return false;
  try {
    const [site, act] = proposalOf(runtime, name, () => [], { task });
    const { verdict } = decide(site.panel, { type: 'action-proposed', atMs: runtime.clock.nowMs(), action: act() });
    return 'code' in verdict && verdict.code === 'circuit_open';
  } catch (error) {
    countError(runtime, 'admit', error);
    return false; // The call itself is judged later, and refused on an error.
  }
}

function proposalOf(
  runtime: Runtime,
  name: string,
  argsNow: () => readonly unknown[],
  host: Pick<HostCall, 'id' | 'turnId' | 'task' | 'kind' | 'breaker'>,
): [CallSite, () => Action] {
  const { id, turnId, task, kind = 'tool', breaker } = host;
  const node = task === undefined ? frameOf(runtime)?.task : nodeOf(runtime, task);
  const key = breaker === undefined ? `${kind} ${name}` : `${kind} ${name} ${JSON.stringify(breaker)}`;
  const make = (): Target => ({ name, kind, ...(breaker && { overrides: breaker }) });
  const site = callSiteFor(runtime, getOrCreate(runtime.targets, key, callSitesMax, make), node);
  return [site, () => makeAction(runtime, site, argsNow(), {}, id, turnId)];
}

/** The state of a task, also after its halt. */
export function nodeOf({ tasks, halted }: Runtime, { id }: Task): TaskState | undefined {
  return tasks.get(id) ?? halted.get(id);
}

/**
 * Runs an admitted call until it ends, times out, its task halts or the host's signal aborts. The slot is kept until
 * the work really ends.
 */
function perform<T>(call: LiveCall, run: (call: Call) => T | PromiseLike<T>, host: HostCall<T>): Promise<T> {
  const { runtime, site } = call;
  const { signal, classify, shown, streamIn } = host;
  const isUncut = isObserving(runtime); // An observing gear does not interrupt calls.
  const options: GuardOptions = {
    classify: (ending) => classify?.(ending) ?? ('error' in ending && signal?.aborted ? 'neutral' : undefined),
  };

  return new Promise<T>((resolve, reject) => {
    if (!isUncut) call.limit(reject);
    const onAbort = () => nextTurn(() => cancelCall(call, signal?.reason, reject));
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
    const ended = (ending: Ending) => {
      call.unlimit();
      settleEnding(runtime, call, ending, options, { isUncut, shown });
    };
    const work = async () => (await applyInside(call, run, undefined, [call])) as T;
    work()
      .then(
        (value) => {
          const stream = streamIn === undefined ? value : streamIn.find(value);
          if (isStream(stream)) {
            call.unlimit();
            const followed = followStream(streamingCall(call, signal), stream, (ending, partial) =>
              settleEnding(runtime, call, ending, options, { shown, partial }),
            );
            resolve(streamIn === undefined ? (followed as T) : streamIn.replace(value, followed));
            return;
          }
          ended({ value });
          resolve((isUncut ? value : attachHint(site, value)) as T);
        },
        (error) => {
          ended({ error });
          reject(error);
        },
      )
      .finally(() => signal?.removeEventListener('abort', onAbort));
  });
}

/** Gives up a call that its host cancelled, unless it has ended by its signal. */
function cancelCall(call: LiveCall, reason: unknown, reject: (error: unknown) => void): void {
  if (call.settled || isObserving(call.runtime)) return;
  if (!call.isLimited) return; // It returned a stream, which follows the signal itself.
  call.unlimit();
  call.abort(reason);
  settleCall(call.runtime, call, cancelled, { stillRuns: true });
  reject(reason);
}

/** A signal that aborts with either of two. */
export function joinSignals(signal: AbortSignal, other: AbortSignal | null | undefined): AbortSignal {
  return other ? AbortSignal.any([other, signal]) : signal;
}
