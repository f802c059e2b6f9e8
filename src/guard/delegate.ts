/** Sends work to a worker: counted against its limit, run as a child task, its failure booked once and on the leaf. */

import { type Action, givenBack, type Outcome, type Permit } from '../core/action.ts';
import { defaultBreaker } from '../core/breaker/defaults.ts';
import { classify, readError } from '../core/classify.ts';
import { applyAll } from '../core/decide.ts';
import { workerLimit } from '../core/delegation.ts';
import { reasonLengthMax, workersMax } from '../core/limits.ts';
import { checkPart } from '../core/part.ts';
import { isRefused, type Refusal, type Refused, RefusedError, refused } from '../core/refusal.ts';
import type { DelegationSettings } from '../core/settings.ts';
import type { Stop } from '../core/verdict.ts';
import { textOf, workerFailure } from '../core/worker-failure.ts';
import { actionOf } from './actions.ts';
import { frameOf } from './context.ts';
import { noLists, settlingOf } from './endings.ts';
import { fingerprint } from './fingerprint.ts';
import type { DelegateOptions, Task, TaskResult } from './front-door.ts';
import { isStop, type Settling } from './guard.ts';
import type { Lane } from './lanes.ts';
import { brokenRefusal } from './refusing.ts';
import { laterRounds } from './rounds.ts';
import type { Runner } from './run.ts';
import type { Target } from './targets.ts';
import type { TaskNode } from './task-node.ts';

export interface Delegating extends Runner {
  readonly settings: () => DelegationSettings;
  readonly observes: () => boolean;
  readonly runChild: <T>(
    worker: string,
    parent: TaskNode | undefined,
    limits: DelegateOptions<T>['limits'],
    run: (task: Task, node: TaskNode) => T | Promise<T>,
  ) => Promise<TaskResult<T>>;
}

interface Booking {
  readonly failed: boolean;
  readonly reason: string;
}

export async function delegate<T>(
  delegating: Delegating,
  worker: string,
  run: (task: Task) => T | Promise<T>,
  options: DelegateOptions<T>,
): Promise<T | Refused> {
  const { guard, clock, seating, notes } = delegating;
  const timeoutSecs =
    options.timeoutSecs === 0
      ? undefined
      : checkPart(defaultBreaker, timeoutOf(options), 'delegate options').timeoutSecs;
  const parent = frameOf(delegating.gear)?.task;
  const target: Target = { name: worker, kind: 'delegation', overrides: undefined, healthCheck: undefined };
  let lane: Lane;
  try {
    lane = seating.lane(target, parent);
  } catch (error) {
    notes.countError('delegate', error, clock.nowMs());
    return deliver<T>(delegating, brokenRefusal(worker, error), undefined);
  }
  const admitted = await admitDelegation(delegating, lane, options.request);
  if ('refusal' in admitted) return deliver<T>(delegating, admitted.refusal, lane);
  const settle = (outcome: Outcome, settling: Settling = {}) =>
    guard.settle(lane, admitted.permit, outcome, clock.nowMs(), settling);
  if (parent?.halt !== undefined) {
    settle(givenBack); // Halted since: the worker is not sent out any more.
    return deliver<T>(delegating, parent.halt, lane);
  }

  let child: TaskNode | undefined;
  const book = (booking: Booking) => bookReturn(delegating, lane, child, booking);
  let result: TaskResult<T>;
  try {
    const work = delegating.runChild(worker, parent, options.limits, (task, node) => {
      child = node;
      return run(task);
    });
    result = await inTime(delegating, worker, timeoutSecs, work, () => child);
  } catch (error) {
    settle({ kind: 'neutral', why: 'ignored' });
    const { kind } = classify({ error }, noLists, clock.nowMs(), () => 0);
    // Without a child it never ran, and whoever sent it got it wrong.
    if (kind === 'failure' && child !== undefined) book({ failed: true, reason: reasonOf(error) });
    throw error;
  }
  if (result.status === 'halted') {
    settle({ kind: 'neutral', why: 'ignored' });
    const { task, control, message } = result.halt;
    // Stopped by a person, or along with a task above it, a worker has not failed.
    if (task === child?.id && control !== 'operator') book({ failed: true, reason: message });
    return deliver<T>(delegating, result.halt, lane);
  }
  settle({ kind: 'success' }, settlingOf(delegating, { lane }, { value: result.value }, {}));
  book(readReturn(delegating, lane, result.value, options));
  return result.value;
}

/** The work, or the end of its time: then the child is halted, so that nothing goes on in its name. */
function inTime<T>(
  { guard, clock, timeouts }: Delegating,
  worker: string,
  timeoutSecs: number | undefined,
  work: Promise<T>,
  child: () => TaskNode | undefined,
): Promise<T> {
  if (timeoutSecs === undefined) return work;
  return new Promise((resolve, reject) => {
    const timeout = timeouts.add(timeoutSecs * 1000, clock.nowMs(), () => {
      const counters = { actual: timeoutSecs, limit: timeoutSecs };
      const stop = { kind: 'halt', code: 'duration_limit', control: 'deadline', counters } as const;
      const node = child();
      if (node !== undefined) guard.halt(node, stop, worker, clock.nowMs());
      reject(new DOMException(`'${worker}' took longer than ${timeoutSecs} s`, 'TimeoutError'));
    });
    work.finally(() => timeouts.remove(timeout)).then(resolve, reject);
  });
}

/** The permit, or the refusal: by the same rounds as any call. */
async function admitDelegation(
  delegating: Delegating,
  lane: Lane,
  request: unknown,
): Promise<{ readonly permit: Permit } | { readonly refusal: Refusal }> {
  const { guard, clock, notes } = delegating;
  const args = request === undefined ? [] : [request];
  const act = () => ({ ...actionOf(delegating, lane, args, {}, {}), fingerprint: 0 });
  try {
    let admission = tooDeep(delegating, lane, act) ?? guard.admit(lane, act(), clock.nowMs());
    if (isStop(admission)) admission = await laterRounds(delegating, lane, args, admission, act);
    return isStop(admission) ? { refusal: guard.refusalOf(admission, lane, clock.nowMs()) } : { permit: admission };
  } catch (error) {
    notes.countError('delegate', error, clock.nowMs());
    return { refusal: brokenRefusal(lane.target.name, error) };
  }
}

/** The word against a delegation below the depth that the settings allow. */
function tooDeep({ guard, clock, settings, observes }: Delegating, lane: Lane, act: () => Action): Stop | undefined {
  const limit = settings().maxDepth;
  const depth = (lane.task?.depth ?? -1) + 1;
  if (limit === undefined || lane.task === undefined || depth <= limit || observes()) return undefined;
  const counters = { worker: lane.target.name, depth, limit };
  const stop = { kind: 'deny', code: 'delegation_limit', control: 'delegation', counters } as const;
  return guard.conclude(lane, act(), stop, 'depth', clock.nowMs());
}

/** What a return means: the caller's judgement, or else what the detectors read. */
function readReturn<T>(delegating: Delegating, lane: Lane, value: T, { judge, request }: DelegateOptions<T>): Booking {
  const { notes, clock, settings } = delegating;
  const worker = lane.target.name;
  try {
    const said = judge?.(value);
    if (said !== undefined) return { failed: said.failed === true, reason: String(said.reason ?? 'judged a failure') };
  } catch (error) {
    notes.countError('judge', error, clock.nowMs());
  }
  if (isRefused(value)) return { failed: true, reason: value.error };
  const previous = request === undefined ? undefined : swapReturn(delegating.gear, lane, request, value);
  const reading = { phrases: settings().phrases, worker };
  return workerFailure(value, previous === undefined ? reading : { ...reading, previous });
}

/** What each worker of a gear said last, and to which request. */
const lastReturns = new WeakMap<object, Map<string, { readonly request: number; readonly text: string }>>();

/** Remembers what a worker said, and gives back what it said to the same request before. */
function swapReturn(gear: object, { session, target }: Lane, request: unknown, value: unknown): string | undefined {
  const returns = lastReturns.get(gear) ?? new Map<string, { request: number; text: string }>();
  lastReturns.set(gear, returns);
  const key = `${session}\n${target.name}`;
  const now = { request: fingerprint('request', request), text: textOf(value, target.name) };
  const before = returns.get(key);
  if (before === undefined && returns.size >= workersMax) returns.delete(returns.keys().next().value!);
  returns.set(key, now);
  return before?.request === now.request ? before.text : undefined;
}

function timeoutOf({ timeoutSecs }: DelegateOptions<never>): { readonly timeoutSecs?: number } {
  return timeoutSecs === undefined ? {} : { timeoutSecs };
}

function reasonOf(error: unknown): string {
  const { names, message } = readError(error);
  return message || names[0]!;
}

/** Books how a delegation came back, unless the same failure was booked further down. */
function bookReturn(
  delegating: Delegating,
  lane: Lane,
  child: TaskNode | undefined,
  { failed, reason }: Booking,
): void {
  const { task, target, session } = lane;
  if (task === undefined) return; // Outside any task nobody counts delegations.
  const { guard, notes, clock, seating } = delegating;
  const below = child?.bookedBelow === true;
  if (failed)
    for (let node: TaskNode | undefined = task; node !== undefined; node = node.parent) node.bookedBelow = true;
  if (failed && below) return;
  const atMs = clock.nowMs();
  const worker = target.name;
  const short = reason.slice(0, reasonLengthMax);
  applyAll(lane.panel, { type: 'delegation-returned', atMs, worker, failed, reason: short });
  const actual = seating.worker(session, worker).state.failures;
  const limit = workerLimit(delegating.settings(), worker);
  notes.write({ type: 'delegation-returned', worker, failed, reason: short, actual, limit }, lane.place, atMs);
  if (!failed) return;
  const seat = lane.panel.find(({ control }) => control.name === 'delegation');
  const due = seat?.control.check?.(seat.cell.state, atMs);
  if (due?.kind === 'halt') guard.halt(task, due, worker, atMs);
}

function deliver<T>(delegating: Delegating, refusal: Refusal, lane: Lane | undefined): T | Refused {
  if (delegating.throws) throw new RefusedError(refusal);
  return refused(refusal, lane?.agent ?? '', lane?.session ?? '');
}
