/** Sends work to a worker: counted against its limit, run as a child task, its failure booked once and on the leaf. */

import { type Action, givenBack, type Outcome, success } from '../../core/action.ts';
import { makeRoom } from '../../core/bounded.ts';
import { classify, readError } from '../../core/classify.ts';
import { workerLimit } from '../../core/controls/delegation/delegation.ts';
import { textOf, type WorkerFailure, workerFailure } from '../../core/controls/delegation/worker-failure.ts';
import { applyAll } from '../../core/decide.ts';
import { reasonLengthMax, workersMax } from '../../core/limits.ts';
import { isRefused, type Refused } from '../../core/refusal.ts';
import { over, type Stop } from '../../core/verdict.ts';
import type { DelegateOptions, Task, TaskResult } from '../api.ts';
import { countError, write } from '../journal/journal.ts';
import { type Admission, comesBack, conclude, isStop, refusalOf } from '../route/admission.ts';
import { type Lane, laneOf, targetFor, workerCell } from '../route/call-site.ts';
import { finish, timeoutError } from '../route/live-call.ts';
import { noLists, settlingOf } from '../route/outcome.ts';
import { actionOf } from '../route/proposal.ts';
import { answer, broken } from '../route/refusing.ts';
import { frameOf } from '../runtime/async-context.ts';
import { fingerprint } from '../runtime/fingerprint.ts';
import { type Checks, fn, isA, timeoutOf } from '../runtime/option-checks.ts';
import { observes, type Works } from '../runtime/runtime.ts';
import { halt } from '../tasks/halt.ts';
import { runTask } from '../tasks/run-task.ts';
import type { TaskNode } from '../tasks/task.ts';
import { startTask } from '../tasks/task-tree.ts';

export const delegateChecks: Checks = { limits: isA, judge: fn, timeoutSecs: isA, request: isA };

const ignored: Outcome = Object.freeze({ kind: 'neutral', why: 'ignored' });

export async function delegate<T>(
  works: Works,
  worker: string,
  run: (task: Task) => T | Promise<T>,
  { limits, judge, request, timeoutSecs }: DelegateOptions<T>,
): Promise<T | Refused> {
  const { clock } = works;
  const secs = timeoutOf('delegate options', timeoutSecs);
  const parent = frameOf(works)?.task;
  const args = request === undefined ? [] : [request];
  let lane: Lane | undefined;
  let admission: Admission;
  try {
    const current = laneOf(works, targetFor(works, worker, 'delegation'), parent);
    lane = current;
    const act = () => ({ ...actionOf(works, current, args, {}), fingerprint: 0 });
    const said = tooDeep(works, current, act) ?? works.admit(works, current, act(), clock.nowMs());
    // A worker is sent out in a tick of its own, whatever was said.
    admission = await (isStop(said) && comesBack(said)
      ? (works.rounds?.(works, current, args, said, act) ?? conclude(works, current, act(), said))
      : said);
  } catch (error) {
    return answer(works, broken(works, 'delegate', worker, error), lane);
  }
  if (isStop(admission)) return answer(works, refusalOf(admission, lane, clock.nowMs()), lane);
  const call = { lane, permit: admission, settled: false };
  if (parent?.halt !== undefined) {
    finish(works, call, givenBack); // Halted since: the worker is not sent out any more.
    return answer(works, parent.halt, lane);
  }
  let child: TaskNode | undefined;
  let result: TaskResult<T>;
  try {
    child = startTask(works, { agent: worker, ...(limits !== undefined && { limits }) }, parent);
    result = await inTime(works, child, secs, runTask(works, child, run));
  } catch (error) {
    finish(works, call, ignored);
    const { names, message } = readError(error);
    const { kind } = classify({ error }, noLists, clock.nowMs(), () => 0);
    // Without a child it never ran, and whoever sent it got it wrong.
    if (kind === 'failure' && child !== undefined) book(works, lane, child, failure(message || names[0]!));
    throw error;
  }
  if (result.status === 'halted') {
    finish(works, call, ignored);
    const { task, control, message } = result.halt;
    // Stopped by a person, or along with a task above it, a worker has not failed.
    if (task === child.id && control !== 'operator') book(works, lane, child, failure(message));
    return answer(works, result.halt, lane);
  }
  const { value } = result;
  finish(works, call, success, settlingOf(works, lane, { value }, {}, success));
  book(works, lane, child, readReturn(works, lane, value, judge, request));
  return value;
}

/** The work, or the end of its time: then the child is halted, so that nothing goes on in its name. */
function inTime<T>(works: Works, child: TaskNode, secs: number | undefined, work: Promise<T>): Promise<T> {
  const { clock, timeouts } = works;
  if (secs === undefined) return work;
  return new Promise((resolve, reject) => {
    const timeout = {
      dueMs: clock.nowMs() + secs * 1000,
      fire() {
        halt(works, child, over('deadline', 'duration_limit', secs, secs), child.agent, clock.nowMs());
        reject(timeoutError(child.agent, secs));
      },
    };
    timeouts.add(secs * 1000, timeout);
    work.finally(() => timeouts.remove(timeout)).then(resolve, reject);
  });
}

/** The word against a delegation below the depth that the settings allow. */
function tooDeep(works: Works, lane: Lane, act: () => Action): Stop | undefined {
  const { maxDepth: limit = Number.POSITIVE_INFINITY } = works.settings.delegation;
  const depth = lane.task === undefined ? 0 : lane.task.depth + 1;
  if (depth <= limit || lane.task === undefined || observes(works)) return undefined;
  const counters = { worker: lane.target.name, depth, limit };
  return conclude(
    works,
    lane,
    act(),
    { kind: 'deny', code: 'delegation_limit', control: 'delegation', counters },
    'depth',
  );
}

function failure(reason: string): WorkerFailure {
  return { failed: true, reason };
}

/** What a return means: the caller's judgement, or else what the detectors read. */
function readReturn<T>(
  works: Works,
  lane: Lane,
  value: T,
  judge: DelegateOptions<T>['judge'],
  request: unknown,
): WorkerFailure {
  const worker = lane.target.name;
  try {
    const said = judge?.(value);
    if (said !== undefined) return { failed: said.failed === true, reason: String(said.reason ?? 'judged a failure') };
  } catch (error) {
    countError(works, 'judge', error);
  }
  if (isRefused(value)) return failure(value.error);
  const previous = request === undefined ? undefined : swapReturn(works, lane, request, value);
  const { phrases } = works.settings.delegation;
  return workerFailure(value, { phrases, worker, ...(previous !== undefined && { previous }) });
}

/** Remembers what a worker said, and gives back what it said to the same request before. */
function swapReturn(
  { returns }: Works,
  { session, target }: Lane,
  request: unknown,
  value: unknown,
): string | undefined {
  const key = `${session}\n${target.name}`;
  const now = { request: fingerprint('request', request), text: textOf(value, target.name) };
  const before = returns.get(key);
  if (before === undefined) makeRoom(returns, workersMax);
  returns.set(key, now);
  return before?.request === now.request ? before.text : undefined;
}

/** Books how a delegation came back, unless the same failure was booked further down. */
export function book(
  works: Works,
  lane: Lane,
  child: Pick<TaskNode, 'booked'>,
  { failed, reason: said }: WorkerFailure,
): void {
  const { task, target, session, panel, place } = lane;
  if (task === undefined) return; // Outside any task nobody counts delegations.
  if (failed) {
    const isBooked = (child.booked?.size ?? 0) > 0;
    let via = target.name;
    for (let node: TaskNode | undefined = task; node !== undefined; node = node.parent) {
      node.booked ??= new Set();
      if (node.booked.size < workersMax) node.booked.add(via);
      via = node.agent;
    }
    if (isBooked) return;
  } else {
    task.booked?.delete(target.name); // It came right: what fails above from now on has failed by itself.
  }
  const atMs = works.clock.nowMs();
  const worker = target.name;
  const body = { type: 'delegation-returned', worker, failed, reason: said.slice(0, reasonLengthMax) } as const;
  applyAll(panel, { ...body, atMs });
  if (!failed || works.store.shared === undefined) {
    const actual = workerCell(works, session, worker).state.failures;
    write(works, { ...body, actual, limit: workerLimit(works.settings.delegation, worker) }, place, atMs);
  } // A shared failure is told of where it is stored.
  if (!failed) return;
  const seat = panel.find(({ control }) => control.name === 'delegation');
  const due = seat?.control.check?.(seat.cell.state, atMs);
  if (due?.kind === 'halt') halt(works, task, due, worker, atMs);
}
