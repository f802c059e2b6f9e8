/** Guards a call of a framework with the framework's call id, turn, signal and way to ask a person. */

import { type Action, cancelled, type Permit } from '../../core/action.ts';
import { evictOldest, getOrCreate } from '../../core/bounded.ts';
import type { Ending } from '../../core/classify.ts';
import { decide } from '../../core/decide.ts';
import { callSitesMax, countedIdsMax } from '../../core/limits.ts';
import type { Refusal } from '../../core/refusal.ts';
import type { BreakerSettings } from '../../core/settings.ts';
import type { Stop } from '../../core/verdict.ts';
import { nextTurn } from '../../platform/system-clock.ts';
import type { Answer } from '../../ports/approver.ts';
import type { Call, Switchgear, Task } from '../api.ts';
import { digestApproval } from '../approval/approval-digest.ts';
import { formatInputLine, showInput } from '../approval/shown-input.ts';
import type { GuardOptions } from '../call-options.ts';
import { countError } from '../journal/journal.ts';
import {
  type AdmitResult,
  admitAction,
  explainStop,
  isStop,
  needsAnotherRound,
  refuseForGood,
} from '../route/admission.ts';
import { settleEnding } from '../route/call.ts';
import { type CallSite, callSiteFor, type Target } from '../route/call-site.ts';
import { LiveCall, settleCall } from '../route/live-call.ts';
import { makeAction, reportMissingTask } from '../route/proposal.ts';
import { attachHint, refuseOnError } from '../route/refusal-delivery.ts';
import {
  type Approval,
  digestOf,
  type JudgedCall,
  laterRounds,
  type RoundsResult,
  tooLargeReason,
} from '../route/rounds.ts';
import { followStream, isStream, streamingCall } from '../route/stream.ts';
import { applyInside, frameOf } from '../runtime/async-context.ts';
import { isObserving, type Runtime, runtimeOf } from '../runtime/runtime.ts';
import { wasCounted } from '../tasks/observe.ts';
import type { TaskState } from '../tasks/task.ts';

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
  readonly ask?: ((question: string) => Answer | Promise<Answer>) | undefined;
  /** The stream inside a result: the call settles when the stream ends. */
  readonly streamIn?: { find(value: T): unknown; replace(value: T, stream: object): T } | undefined;
}

export type HostAnswer<T> = { readonly value: T } | { readonly refusal: Refusal };

/** Runs a guarded call. It is admitted synchronously; errors of the function pass through. */
export async function hostCall<T>(
  gear: Switchgear,
  name: string,
  args: readonly unknown[],
  run: (call: Call) => T | PromiseLike<T>,
  host: HostCall<T> = {},
): Promise<HostAnswer<T>> {
  const runtime = runtimeOf(gear);
  const { clock } = runtime;
  let site: CallSite;
  let admission: AdmitResult;
  let act: () => Action;
  try {
    [site, act] = proposalOf(runtime, name, args, host);
    if (site.task === undefined) reportMissingTask(runtime, name, clock.nowMs());
    else wasCounted(site.task, 'call', host.id);
    admission = admitAction(runtime, site, act(), clock.nowMs());
  } catch (error) {
    return { refusal: refuseOnError(runtime, 'admit', name, error) };
  }
  const begin = (permit: Permit): BegunCall<T> => {
    const call = new LiveCall(runtime, site, permit);
    return { call, work: perform(call, run, host) };
  };
  let result: RoundsResult<BegunCall<T>>;
  if (!isStop(admission)) result = { begun: begin(admission) };
  else if (!needsAnotherRound(admission)) result = { stop: admission };
  else {
    const judged = { site, args, act, begin };
    const isHostAsked = admission.kind === 'ask' && runtime.approver === undefined && host.ask !== undefined;
    const answer = isHostAsked ? await askHost(runtime, judged, admission, host) : undefined;
    try {
      result =
        answer !== undefined && 'kind' in answer
          ? { stop: refuseForGood(runtime, site, act(), answer, 'ask') }
          : await laterRounds(runtime, judged, admission, answer);
    } catch (error) {
      return { refusal: refuseOnError(runtime, 'admit', name, error) };
    }
  }
  if ('stop' in result) return { refusal: explainStop(result.stop, site, clock.nowMs()) };
  const { call, work } = result.begun;
  try {
    return { value: await work };
  } catch (error) {
    const halt = site.task?.halt;
    // A call that the halt of its task aborted ends as a refused call, with any error of the client.
    if (halt !== undefined && call.aborted && !host.signal?.aborted) return { refusal: halt };
    throw error;
  }
}

/** A call that was admitted and runs. */
interface BegunCall<T> {
  readonly call: LiveCall;
  readonly work: Promise<T>;
}

/** The digests of calls that a host was asked about and has not answered yet, by call. */
interface AskedDigests {
  readonly byCall: Map<string, string>;
  /** Whether digests were evicted: an unknown call may be one of them. */
  hasForgotten: boolean;
}

const askedDigests = new WeakMap<Runtime, AskedDigests>();

/** Remembers what a host is asked about until its answer; what was asked first under a call id stays. */
function rememberAsked(runtime: Runtime, site: CallSite, id: string | undefined, digest: string): void {
  if (id === undefined || id === '') return;
  const asked = askedDigests.get(runtime) ?? { byCall: new Map<string, string>(), hasForgotten: false };
  askedDigests.set(runtime, asked);
  const key = askedKey(runtime, site, id);
  if (asked.byCall.has(key)) return;
  if (evictOldest(asked.byCall, countedIdsMax) !== undefined) asked.hasForgotten = true;
  asked.byCall.set(key, digest);
}

/** Why the answer of a host may be for another input: the host was asked about another, or the question is unknown. */
function findChange(runtime: Runtime, site: CallSite, id: string | undefined, digest: string): string | undefined {
  const asked = askedDigests.get(runtime);
  if (asked === undefined || id === undefined || id === '') return undefined;
  const first = asked.byCall.get(askedKey(runtime, site, id));
  if (first === undefined && asked.hasForgotten) return 'too many questions are open, so it must be asked about again';
  return first === undefined || first === digest ? undefined : 'its arguments changed after a person was asked';
}

/** The key of a question: two conversations of one gear may use the same call id. */
function askedKey({ session }: Runtime, { target, task }: CallSite, id: string): string {
  return JSON.stringify([task?.session ?? session, target.name, id]);
}

/** The digest of a call without its task, which may be another one when the host comes back with the answer. */
function digestHostCall({ store }: Runtime, name: string, args: readonly unknown[], stop: Stop): string | undefined {
  return digestApproval(store, { tool: name, task: undefined, args, stop });
}

/**
 * Asks a person through the host. Returns the approval, or the stop that refuses the call: also if the host was asked
 * about other arguments under the same call id. Errors of the host pass through.
 */
async function askHost<T>(
  runtime: Runtime,
  judged: JudgedCall<T>,
  stop: Stop,
  { id, ask }: Pick<HostCall, 'id' | 'ask'>,
): Promise<Approval | Stop> {
  const { site, args } = judged;
  const { name } = site.target;
  const unanswered: Stop = { ...stop, kind: 'deny', code: 'rule_unanswered' };
  const digest = digestOf(runtime, judged, stop);
  const asked = digestHostCall(runtime, name, args, stop);
  if (digest === undefined || asked === undefined) return { ...unanswered, reason: tooLargeReason };
  const change = findChange(runtime, site, id, asked);
  rememberAsked(runtime, site, id, asked);
  const why = stop.reason === undefined ? '' : `: ${stop.reason}`;
  const shown = formatInputLine(showInput(args, runtime.settings.approval.redact));
  const answer = await ask!(`${site.agent} wants to call ${name}${why}${shown === undefined ? '' : `, ${shown}`}`);
  askedDigests.get(runtime)?.byCall.delete(askedKey(runtime, site, id ?? ''));
  if (answer?.approved === false) return { ...unanswered, code: 'rule_declined' };
  if (answer?.approved !== true) return unanswered;
  if (change !== undefined) return { ...unanswered, reason: change };
  return { by: answer.by, stop, digest };
}

/** Whether the host may have to ask a person. */
export function mayAsk(gear: Switchgear): boolean {
  const { approver, rules, own } = runtimeOf(gear);
  return approver === undefined && (rules !== undefined || own !== undefined);
}

/** Whether the host would have to ask a person about a call. Reserves and counts nothing. */
export function wouldAsk(gear: Switchgear, name: string, args: readonly unknown[], host: HostCall = {}): boolean {
  const runtime = runtimeOf(gear);
  if (!mayAsk(gear)) return false;
  try {
    const [site, act] = proposalOf(runtime, name, args, host);
    const proposal = { type: 'action-proposed', atMs: runtime.clock.nowMs(), action: act() } as const;
    if (site.task?.haltStop !== undefined) return false;
    const { verdict } = decide(site.panel, proposal);
    if (verdict.kind !== 'ask') return false;
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
    const [site, act] = proposalOf(runtime, name, [], { task });
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
  args: readonly unknown[],
  host: Pick<HostCall, 'id' | 'turnId' | 'task' | 'kind' | 'breaker'>,
): [CallSite, () => Action] {
  const { id, turnId, task, kind = 'tool', breaker } = host;
  const node = task === undefined ? frameOf(runtime)?.task : nodeOf(runtime, task);
  const key = breaker === undefined ? `${kind} ${name}` : `${kind} ${name} ${JSON.stringify(breaker)}`;
  const make = (): Target => ({ name, kind, ...(breaker && { overrides: breaker }) });
  const site = callSiteFor(runtime, getOrCreate(runtime.targets, key, callSitesMax, make), node);
  return [site, () => makeAction(runtime, site, args, {}, id, turnId)];
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

interface PromiseEnds {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** A running call. */
export interface OpenCall {
  readonly refusal: undefined;
  settle(ending: Ending): void;
  /** Runs the work of the call with its signal, until it ends or the call is given up. */
  run<T>(work: (signal: AbortSignal) => T | PromiseLike<T>): Promise<HostAnswer<T>>;
}

/**
 * Admits a call that the host runs and settles. Its timeout is up to the host, unless the adapter runs the work by
 * `run`: then `isTimed` is true.
 */
export async function beginHostCall(
  gear: Switchgear,
  name: string,
  args: readonly unknown[],
  host: HostCall = {},
  isTimed = false,
): Promise<OpenCall | { readonly refusal: Refusal }> {
  const opened = Promise.withResolvers<Call>();
  const work = Promise.withResolvers<unknown>();
  const run = (call: Call) => {
    opened.resolve(call);
    return work.promise;
  };
  const breaker = isTimed ? host.breaker : ({ ...host.breaker, timeoutSecs: undefined } as object);
  const answered = hostCall(gear, name, args, run, { ...host, ...(breaker && { breaker }) });
  answered.catch(() => {}); // The host learns about an error from the call itself.
  const answer = await Promise.race([opened.promise.then((call) => ({ call })), answered]);
  if ('refusal' in answer) return answer;
  const { call } = answer as { readonly call: Call };
  return {
    refusal: undefined,
    settle: endingOf(work),
    run: <T>(own: (signal: AbortSignal) => T | PromiseLike<T>) => runOpen(answered, call, own, host.signal),
  };
}

/** Runs the work of an open call: the first of the work's end and the end of the call. */
function runOpen<T>(
  answered: Promise<HostAnswer<unknown>>,
  call: Call,
  work: (signal: AbortSignal) => T | PromiseLike<T>,
  hostSignal: AbortSignal | undefined,
): Promise<HostAnswer<T>> {
  const ended = async () => ({ value: await work(joinSignals(call.signal, hostSignal)) });
  return Promise.race([ended(), answered as Promise<HostAnswer<T>>]);
}

/** A signal that aborts with either of two. */
export function joinSignals(signal: AbortSignal, other: AbortSignal | null | undefined): AbortSignal {
  return other ? AbortSignal.any([other, signal]) : signal;
}

/** Combines `resolve` and `reject` of a promise into one function of an ending. */
export function endingOf({ resolve, reject }: PromiseEnds): OpenCall['settle'] {
  return (ending) => ('value' in ending ? resolve(ending.value) : reject(ending.error));
}
