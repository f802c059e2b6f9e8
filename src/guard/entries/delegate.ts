/**
 * Delegates to a worker: checks its failures, runs it as a child task, and counts a failure once, for the innermost
 * worker.
 */

import { type Action, givenBack, type Outcome, type Permit, success } from '../../core/action.ts';
import { evictOldest } from '../../core/bounded.ts';
import { readError } from '../../core/classify.ts';
import { subagentWorker, workerLimit } from '../../core/controls/delegation/delegation.ts';
import { delegationDepthOf, findDelegationHalt } from '../../core/controls/panel.ts';
import {
  endsAsFailed,
  phrasesOf,
  readWorkerFailure,
  readWorkerText,
  type WorkerFailure,
} from '../../core/controls/worker-failure.ts';
import { applyAll } from '../../core/decide.ts';
import { nameLengthMax, reasonLengthMax, workersMax } from '../../core/limits.ts';
import { isRefused, type Refused } from '../../core/refusal.ts';
import { requireSync } from '../../core/thenable.ts';
import { haltOverLimit, type Stop } from '../../core/verdict.ts';
import type { Task, TaskResult } from '../api.ts';
import type { DelegateOptions } from '../call-options.ts';
import { appendEntry, countError } from '../journal/journal.ts';
import { explainStop, refuseForGood } from '../route/admission.ts';
import { proposeInRounds } from '../route/call.ts';
import { type CallSite, callSiteFor, targetFor, workerCell } from '../route/call-site.ts';
import { settleCall, timeoutError } from '../route/live-call.ts';
import { readSettlement } from '../route/outcome.ts';
import { makeAction, reportMissingTask } from '../route/proposal.ts';
import { deliverRefusal, refuseOnError, undecidedRefusal } from '../route/refusal-delivery.ts';
import type { JudgedCall, RoundsResult } from '../route/rounds.ts';
import { frameOf } from '../runtime/async-context.ts';
import { fingerprint } from '../runtime/fingerprint.ts';
import { type Checks, fn, isA, timeoutOf } from '../runtime/option-checks.ts';
import { isObserving, type Runtime } from '../runtime/runtime.ts';
import { halt, openNotice } from '../tasks/halt.ts';
import { runTask } from '../tasks/run-task.ts';
import type { TaskState } from '../tasks/task.ts';
import { startTask } from '../tasks/task-tree.ts';

export const delegateChecks: Checks = { limits: isA, judge: fn, timeoutSecs: isA, request: isA };

const ignored: Outcome = Object.freeze({ kind: 'neutral', why: 'ignored' });

export async function delegate<T>(
  runtime: Runtime,
  worker: string,
  run: (task: Task) => T | Promise<T>,
  { limits, judge, request, timeoutSecs }: DelegateOptions<T>,
): Promise<T | Refused> {
  const { clock } = runtime;
  const secs = timeoutOf('delegate options', timeoutSecs);
  const parent = frameOf(runtime)?.task;
  const args = request === undefined ? [] : [request];
  let site: CallSite | undefined;
  let result: RoundsResult<BegunDelegation>;
  try {
    const current = callSiteFor(runtime, targetFor(runtime, worker, 'delegation'), parent);
    site = current;
    if (parent === undefined) reportMissingTask(runtime, worker, clock.nowMs());
    const act = () => makeAction(runtime, current, args, {});
    // A worker starts in a new tick, with any verdict.
    const stop = refuseTooDeep(runtime, current, act);
    const begin: JudgedCall<BegunDelegation>['begin'] = (permit, isApproved) => ({ permit, isApproved });
    result = await (stop === undefined ? proposeInRounds(runtime, { site: current, args, act, begin }) : { stop });
  } catch (error) {
    return deliverRefusal(runtime, refuseOnError(runtime, 'delegate', worker, error), site);
  }
  if ('stop' in result) return deliverRefusal(runtime, explainStop(result.stop, site, clock.nowMs()), site);
  const { permit, isApproved } = result.begun;
  const call = { site, permit, settled: false };
  if (parent?.halt !== undefined || !isApproved()) {
    settleCall(runtime, call, givenBack); // The task was halted or the request changed, so the worker does not start.
    const changed = undecidedRefusal(worker, 'the request changed after it was approved');
    return deliverRefusal(runtime, parent?.halt ?? changed, site);
  }
  let child: TaskState | undefined;
  let ended: TaskResult<T>;
  try {
    const session = parent === undefined ? { session: site.session } : {};
    const given = { ...session, ...(limits !== undefined && { limits }) };
    child = startTask(runtime, { agent: worker, delegated: true, ...given }, parent);
    ended = await inTime(runtime, child, secs, runTask(runtime, child, run));
  } catch (error) {
    settleCall(runtime, call, ignored);
    const { names, message } = readError(error);
    // Without a child task the worker never ran: the caller made a mistake.
    if (child !== undefined && endsAsFailed({ error })) {
      recordDelegation(runtime, site, child, failure(message || names[0]!));
    }
    throw error;
  }
  if (ended.status === 'halted') {
    settleCall(runtime, call, ignored);
    const { task, control, message } = ended.halt;
    // A worker that a person stopped, or that was halted with an ancestor, has not failed.
    if (task === child.id && control !== 'operator') recordDelegation(runtime, site, child, failure(message));
    return deliverRefusal(runtime, ended.halt, site);
  }
  const { value } = ended;
  settleCall(runtime, call, success, readSettlement(runtime, site, { value }, {}, success));
  recordDelegation(runtime, site, child, readReturn(runtime, site, value, judge, request));
  return value;
}

/** An admitted delegation, and whether its approval is still for its request. */
interface BegunDelegation {
  readonly permit: Permit;
  readonly isApproved: () => boolean;
}

/** Runs the work with a timeout; at the timeout the child task is halted. */
function inTime<T>(runtime: Runtime, child: TaskState, secs: number | undefined, work: Promise<T>): Promise<T> {
  const { clock, timeouts } = runtime;
  if (secs === undefined) return work;
  return new Promise((resolve, reject) => {
    const timeout = {
      dueMs: clock.nowMs() + secs * 1000,
      fire() {
        halt(
          runtime,
          child,
          haltOverLimit('deadline', 'duration_limit', Math.floor(secs) + 1, secs),
          child.agent,
          clock.nowMs(),
        );
        reject(timeoutError(child.agent, secs));
      },
    };
    timeouts.add(secs * 1000, timeout);
    work.finally(() => timeouts.remove(timeout)).then(resolve, reject);
  });
}

/** Refuses a delegation that is deeper than the settings allow. */
function refuseTooDeep(runtime: Runtime, site: CallSite, act: () => Action): Stop | undefined {
  const stop = findTooDeep(runtime, site.task, site.target.name);
  return stop && refuseForGood(runtime, site, act(), stop, 'depth');
}

/** The stop of a delegation by a task, if the worker would be deeper than the settings allow. */
export function findTooDeep(runtime: Runtime, task: TaskState | undefined, worker: string): Stop | undefined {
  const { maxDepth: limit = Number.POSITIVE_INFINITY } = runtime.settings.delegation;
  const depth = task === undefined ? 0 : delegationDepthOf(task) + 1;
  if (depth <= limit || isObserving(runtime)) return undefined;
  const counters = { worker, depth, limit };
  return { kind: 'deny', code: 'delegation_limit', control: 'delegation', counters };
}

function failure(reason: string): WorkerFailure {
  return { failed: true, reason };
}

/** Judges a result: by the caller's `judge`, or else by the failure detectors. */
function readReturn<T>(
  runtime: Runtime,
  site: CallSite,
  value: T,
  judge: DelegateOptions<T>['judge'],
  request: unknown,
): WorkerFailure {
  const worker = site.target.name;
  try {
    const said = requireSync('judge', judge?.(value));
    if (said !== undefined) return { failed: said.failed === true, reason: String(said.reason ?? 'judged a failure') };
  } catch (error) {
    countError(runtime, 'judge', error);
  }
  if (isRefused(value)) return failure(value.error);
  const previous = request === undefined ? undefined : swapReturn(runtime, site, request, value);
  const phrases = phrasesOf(runtime.settings.delegation);
  return readWorkerFailure(value, { phrases, worker, ...(previous !== undefined && { previous }) });
}

/** Stores the answer of a worker, and returns its earlier answer to the same request. */
function swapReturn(
  { returns }: Runtime,
  { session, target }: CallSite,
  request: unknown,
  value: unknown,
): string | undefined {
  const key = `${session}\n${target.name}`;
  const now = { request: fingerprint('request', request), text: readWorkerText(value, target.name) };
  const before = returns.get(key);
  if (before === undefined) evictOldest(returns, workersMax);
  returns.set(key, now);
  return before?.request === now.request ? before.text : undefined;
}

/** Counts the result of a delegation, unless the same failure was counted for a nested worker. */
export function recordDelegation(
  runtime: Runtime,
  site: CallSite,
  child: Pick<TaskState, 'booked'>,
  { failed, reason: said }: WorkerFailure,
): void {
  const { task, target } = site;
  const { session, panel, place } = callSiteFor(runtime, target, task);
  if (failed) {
    const isBooked = (child.booked?.size ?? 0) > 0;
    let via = target.name;
    for (let node: TaskState | undefined = task; node !== undefined; node = node.parent) {
      node.booked ??= new Set();
      if (node.booked.size < workersMax) node.booked.add(via);
      via = node.agent;
    }
    if (isBooked) return;
  } else {
    task?.booked?.delete(target.name); // After a success, a later failure of an outer worker is its own.
  }
  const atMs = runtime.clock.nowMs();
  const worker = target.name;
  const body = { type: 'delegation-returned', worker, failed, reason: said.slice(0, reasonLengthMax) } as const;
  applyAll(panel, { ...body, atMs });
  if (!failed || runtime.store.shared === undefined) {
    const actual = workerCell(runtime, session, worker).state.failures;
    appendEntry(runtime, { ...body, actual, limit: workerLimit(runtime.settings.delegation, worker) }, place, atMs);
  } // A shared failure is told of where it is stored.
  if (!failed) return;
  const due = findDelegationHalt(panel, atMs);
  if (due !== undefined && task !== undefined) halt(runtime, task, due, worker, atMs);
  else if (task !== undefined) noticeTrip(runtime, task, session, worker, atMs);
}

/** Tells a person once that a worker gets no more work, while its task goes on. */
function noticeTrip(runtime: Runtime, task: TaskState, session: string, worker: string, atMs: number): void {
  const { failures: actual } = workerCell(runtime, session, worker).state;
  const limit = workerLimit(runtime.settings.delegation, worker);
  if (actual !== limit || isObserving(runtime)) return;
  const evidence = [`${task.agent}: '${worker}' failed ${actual} times: it gets no more work in this session`];
  openNotice(runtime, task, { counters: { worker, actual, limit }, evidence }, atMs);
}

/** The worker name of a host's subagent; a subagent without a type has the type `default`. */
export function makeWorkerName(type: string | undefined, prompt: unknown): string {
  const name = (type || 'default').slice(0, nameLengthMax / 2).toWellFormed();
  return subagentWorker(name, () => fingerprint('prompt', prompt ?? ''));
}
