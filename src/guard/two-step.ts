/** A guarded call in two steps, for hosts that run it themselves: admitted now, settled later, once. */

import { cancelled, type Outcome, type Permit } from '../core/action.ts';
import type { Ending } from '../core/classify.ts';
import { classify } from '../core/classify.ts';
import { countedIdsMax, lanesMax } from '../core/limits.ts';
import { quoted } from '../core/quoted.ts';
import { type Refusal, refused } from '../core/refusal.ts';
import { actionOf } from './actions.ts';
import * as check from './arguments.ts';
import { frameOf } from './context.ts';
import { noLists, settlingOf } from './endings.ts';
import { errorFingerprint, fingerprint } from './fingerprint.ts';
import type { Admission, Switchgear } from './front-door.ts';
import { isStop, type Settling } from './guard.ts';
import type { Lane } from './lanes.ts';
import type { Leased } from './live-calls.ts';
import { isKnown } from './observing.ts';
import { brokenRefusal, finalStop } from './refusing.ts';
import type { Runner } from './run.ts';
import type { Target } from './targets.ts';
import type { TaskNode } from './task-node.ts';

export interface HostCalls extends Runner {
  readonly find: (id: string) => TaskNode | undefined;
  /** Admissions by task and call id: a host that enters again for the same call gets the same answer. */
  readonly admitted: Map<string, Admission>;
}

const admitOptionNames = ['id', 'kind', 'turnId', 'task'];

export function admitCall(
  calls: HostCalls,
  name: string,
  args: readonly unknown[],
  given: NonNullable<Parameters<Switchgear['admit']>[2]>,
): Admission {
  check.name('the name of a tool', name);
  check.options('admit options', given, admitOptionNames);
  if (given.id !== undefined) check.text('id', given.id);
  if (given.turnId !== undefined) check.text('turnId', given.turnId);
  if (given.kind !== undefined) check.oneOf('kind', given.kind, ['tool', 'model', 'delegation', 'step']);
  const task = given.task === undefined ? frameOf(calls.gear)?.task : calls.find(given.task);
  if (given.task !== undefined && task === undefined) {
    // Nobody can be charged for it: a call that names a task we do not know is not let through unprotected.
    return refusedCall(brokenRefusal(name, `no task with the id ${quoted(given.task)} is running`), undefined);
  }
  const key = given.id === undefined ? undefined : keyOf(task, given.id, name, args);
  // What was let through before its task was halted is not let through again.
  const known = key === undefined || task?.haltStop !== undefined ? undefined : calls.admitted.get(key);
  if (known !== undefined) return known;
  const admission = decideCall(calls, task, name, args, given, () => key !== undefined && calls.admitted.delete(key));
  if (key !== undefined && admission.refused === undefined) {
    if (calls.admitted.size >= countedIdsMax) calls.admitted.delete(calls.admitted.keys().next().value!);
    calls.admitted.set(key, admission);
    if (task !== undefined) isKnown(task, 'call', given.id);
  }
  return admission;
}

/** The same id with another tool or other arguments is another call: some hosts number their calls anew each turn. */
function keyOf(task: TaskNode | undefined, id: string, name: string, args: readonly unknown[]): string {
  return `${task?.id ?? ''}\n${id}\n${name}\n${fingerprint(name, args)}`;
}

function decideCall(
  calls: HostCalls,
  task: TaskNode | undefined,
  name: string,
  args: readonly unknown[],
  given: NonNullable<Parameters<Switchgear['admit']>[2]>,
  settled: () => void,
): Admission {
  const { guard, seating, clock, notes } = calls;
  const atMs = clock.nowMs();
  const target = targetFor(name, given.kind ?? 'tool');
  let lane: Lane | undefined;
  try {
    lane = seating.lane(target, task);
    if (task === undefined) calls.missingTask(name, atMs);
    const action = actionOf(calls, lane, args, {}, { id: given.id, turnId: given.turnId });
    const admission = guard.admit(lane, action, atMs);
    if (isStop(admission)) {
      const { kind } = admission;
      // A host that runs calls itself neither waits nor asks here.
      const last =
        kind === 'wait' || kind === 'ask' ? guard.conclude(lane, action, finalStop(admission), kind, atMs) : admission;
      return refusedCall(guard.refusalOf(last, lane, atMs), lane);
    }
    const settlement = settleOnce(calls, lane, admission, settled);
    // Where an expired lease is no failure, it may simply expire.
    if (admission.probe && lane.breaker?.settings.leaseExpiry === 'failure') calls.live.add(settlement.probe);
    return { refused: undefined, settle: settlement.settle };
  } catch (error) {
    notes.countError('admit', error, atMs);
    return refusedCall(brokenRefusal(name, error), lane);
  }
}

const targets = new Map<string, Target>();

/** One target per kind and name, so that its lane is found again. */
function targetFor(name: string, kind: Target['kind']): Target {
  const key = `${kind}\n${name}`;
  let target = targets.get(key);
  if (target === undefined) {
    if (targets.size >= lanesMax) targets.clear();
    target = { name, kind, overrides: undefined, healthCheck: undefined };
    targets.set(key, target);
  }
  return target;
}

function refusedCall(refusal: Refusal, lane: Lane | undefined): Admission {
  return { refused: refused(refusal, lane?.agent ?? '', lane?.session ?? ''), refusal };
}

function settleOnce(calls: HostCalls, lane: Lane, permit: Permit, settled: () => void) {
  let done = false;

  function finish(atMs: number, outcome: Outcome, settling: Settling): void {
    calls.live.remove(probe);
    try {
      calls.guard.settle(lane, permit, outcome, atMs, settling);
    } catch (error) {
      calls.notes.countError('settle', error, atMs);
    }
  }

  function settle(ending: Ending | { readonly cancelled: true }): void {
    if (done) return;
    done = true;
    settled();
    const atMs = calls.clock.nowMs();
    let outcome: Outcome = cancelled; // Also where the ending cannot be read: its slot must not stay taken.
    let settling: Settling = {};
    try {
      if (!('cancelled' in ending)) {
        if ('value' in ending) settling = settlingOf(calls, { lane }, ending, {});
        outcome = classify(ending, lane.breaker?.settings ?? noLists, atMs, errorFingerprint);
      }
    } catch (error) {
      calls.notes.countError('settle', error, atMs);
    }
    finish(atMs, outcome, settling);
  }

  /** Its lease goes on while this process lives. A settlement that stays away says nothing about the tool. */
  const probe: Leased = {
    lane,
    permit,
    letGo() {},
    expire(atMs) {
      if (done) return;
      done = true;
      settled();
      finish(atMs, { kind: 'neutral', why: 'lease-expired' }, {});
    },
  };
  return { settle, probe };
}
