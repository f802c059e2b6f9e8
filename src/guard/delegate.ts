/** Sends work to a worker: counted against its limit, run as a child task, its failure booked once and on the leaf. */

import type { Action } from '../core/action.ts';
import { classify } from '../core/classify.ts';
import { applyAll } from '../core/decide.ts';
import { workerLimit } from '../core/delegation.ts';
import { reasonLengthMax } from '../core/limits.ts';
import { isRefused, type Refusal, type Refused, RefusedError, refused } from '../core/refusal.ts';
import type { DelegationSettings } from '../core/settings.ts';
import { workerFailure } from '../core/worker-failure.ts';
import { frameOf } from './context.ts';
import type { DelegateOptions, Task, TaskResult } from './front-door.ts';
import { isStop } from './guard.ts';
import type { Lane } from './lanes.ts';
import { brokenRefusal, type Runner, sleepUntil } from './run.ts';
import type { Target } from './targets.ts';
import type { TaskNode } from './task-node.ts';

export interface Delegating extends Runner {
  readonly settings: () => DelegationSettings;
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
  const parent = frameOf(delegating.gear)?.task;
  const target: Target = { name: worker, kind: 'delegation', overrides: undefined, healthCheck: undefined };
  let lane: Lane;
  try {
    lane = seating.lane(target, parent);
  } catch (error) {
    notes.countError('delegate', error, clock.nowMs());
    return deliver<T>(delegating, brokenRefusal(worker, error), undefined);
  }
  const admitted = await admitDelegation(delegating, lane);
  if ('refusal' in admitted) return deliver<T>(delegating, admitted.refusal, lane);

  let child: TaskNode | undefined;
  const book = (booking: Booking) => bookReturn(delegating, lane, child, booking);
  try {
    const result = await delegating.runChild(worker, parent, options.limits, (task, node) => {
      child = node;
      return run(task);
    });
    guard.settle(lane, admitted.permit, { kind: 'success' }, clock.nowMs());
    if (result.status === 'halted') {
      book({ failed: true, reason: result.halt.message });
      return deliver<T>(delegating, result.halt, lane);
    }
    const said = options.judge?.(result.value);
    book(said === undefined ? readResult(delegating.settings(), worker, result.value) : { reason: '', ...said });
    return result.value;
  } catch (error) {
    const atMs = clock.nowMs();
    guard.settle(lane, admitted.permit, { kind: 'neutral', why: 'ignored' }, atMs);
    const outcome = classify({ error }, { countErrors: [], ignoreErrors: [], sameErrorOnly: false }, atMs, () => 0);
    if (outcome.kind === 'failure') book({ failed: true, reason: String((error as Error)?.message ?? error) });
    throw error;
  }
}

async function admitDelegation(delegating: Delegating, lane: Lane) {
  const { guard, clock } = delegating;
  const action: Action = {
    id: delegating.nextId(),
    kind: 'delegation',
    name: lane.target.name,
    agent: lane.agent,
    session: lane.session,
    fingerprint: 0,
    worstMicros: 0,
    worstTokens: 0,
    patienceMs: lane.patienceMs,
    ...(lane.task === undefined ? {} : { task: lane.task.id }),
  };
  const depth = delegating.settings().maxDepth;
  if (depth !== undefined && lane.task !== undefined && lane.task.depth + 1 > depth) {
    const counters = { worker: lane.target.name, actual: lane.task.depth + 1, limit: depth };
    const stop = { kind: 'deny', code: 'delegation_limit', control: 'delegation', counters } as const;
    return { refusal: guard.refusalOf(stop, lane, clock.nowMs()) };
  }
  let admission = guard.admit(lane, action, clock.nowMs());
  if (isStop(admission) && admission.kind === 'wait') {
    await sleepUntil(delegating, lane.task, admission.retryAtMs ?? 0);
    admission = guard.admit(lane, action, clock.nowMs());
  }
  return isStop(admission) ? { refusal: guard.refusalOf(admission, lane, clock.nowMs()) } : { permit: admission };
}

function readResult(settings: DelegationSettings, worker: string, value: unknown): Booking {
  if (isRefused(value)) return { failed: true, reason: value.error };
  return workerFailure(value, { phrases: settings.phrases, worker });
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
