/** A guarded call in two steps, for hosts that run it themselves: admitted now, settled later, once. */

import type { Permit } from '../../core/action.ts';
import { evictOldest } from '../../core/bounded.ts';
import { countedIdsMax, patienceMaxMs } from '../../core/limits.ts';
import { type Refusal, refused } from '../../core/refusal.ts';
import type { Admission, AdmitOptions } from '../call-options.ts';
import { explainStop, isStop } from '../route/admission.ts';
import { type CallEnding, proposeOnce, settleEnding } from '../route/call.ts';
import { type CallSite, callSiteFor, targetFor } from '../route/call-site.ts';
import { holdLease, type LeasedCall, settleCall } from '../route/live-call.ts';
import { makeAction, reportMissingTask } from '../route/proposal.ts';
import { refuseOnError, undecidedRefusal } from '../route/refusal-delivery.ts';
import { frameOf } from '../runtime/async-context.ts';
import { fingerprint } from '../runtime/fingerprint.ts';
import { type Checks, isA, name as isName, kind, options, text } from '../runtime/option-checks.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { wasCounted } from '../tasks/observe.ts';
import type { TaskState } from '../tasks/task.ts';
import { unknownTaskMessage } from '../tasks/task-tree.ts';

const checks: Checks = { id: text, kind, turnId: text, task: isA };

/** Admissions by task and call id: a host that enters again for the same call gets the same answer. */
const admissions = new WeakMap<Runtime, Map<string, Admission>>();

/** Decides on a call that the host runs itself; it says later how that ended. */
export function admitHostCall(
  runtime: Runtime,
  name: string,
  args: readonly unknown[],
  admitOptions: AdmitOptions = {},
): Admission {
  isName('the name of a tool', name);
  options('admit options', admitOptions, checks);
  const { id, task: wanted } = admitOptions;
  const task =
    wanted === undefined ? frameOf(runtime)?.task : (runtime.tasks.get(wanted) ?? runtime.halted.get(wanted));
  if (wanted !== undefined && task === undefined) {
    // Nobody can be charged for it: a call that names a task we do not know is not let through unprotected.
    return refusedCall(undecidedRefusal(name, unknownTaskMessage(wanted)), undefined);
  }
  if (id === undefined) return decide(runtime, task, name, args, admitOptions, () => {});
  const admitted = admissions.get(runtime) ?? new Map<string, Admission>();
  admissions.set(runtime, admitted);
  const key = keyOf(task, id, name, args);
  // What was let through before its task was halted is not let through again.
  const known = task?.haltStop === undefined ? admitted.get(key) : undefined;
  if (known !== undefined) return known;
  const admission = decide(runtime, task, name, args, admitOptions, () => admitted.delete(key));
  if (admission.refused === undefined) {
    evictOldest(admitted, countedIdsMax);
    admitted.set(key, admission);
    if (task !== undefined) wasCounted(task, 'call', id);
  }
  return admission;
}

/** The same id with another tool or other arguments is another call: some hosts number their calls anew each turn. */
function keyOf(task: TaskState | undefined, id: string, name: string, args: readonly unknown[]): string {
  return `${task?.id ?? ''}\n${id}\n${name}\n${fingerprint(name, args)}`;
}

function decide(
  runtime: Runtime,
  task: TaskState | undefined,
  name: string,
  args: readonly unknown[],
  admitOptions: AdmitOptions,
  settled: () => void,
): Admission {
  const atMs = runtime.clock.nowMs();
  let site: CallSite | undefined;
  try {
    site = callSiteFor(runtime, targetFor(runtime, name, admitOptions.kind ?? 'tool'), task);
    if (task === undefined) reportMissingTask(runtime, name, atMs);
    const action = makeAction(runtime, site, args, {}, admitOptions.id, admitOptions.turnId);
    // A host that runs calls itself neither waits nor asks here.
    const admission = proposeOnce(runtime, site, action, atMs);
    if (!isStop(admission)) return { refused: undefined, settle: settling(runtime, site, admission, settled) };
    return refusedCall(explainStop(admission, site, atMs), site);
  } catch (error) {
    return refusedCall(refuseOnError(runtime, 'admit', name, error), site);
  }
}

function refusedCall(refusal: Refusal, site: CallSite | undefined): Admission {
  return { refused: refused(refusal, site?.agent ?? '', site?.session ?? ''), refusal };
}

/**
 * The host's word on how it ended. Where it stays away that says nothing about the tool, but what the call holds is
 * given back: its slot, its probe, the patience of its task.
 */
function settling(runtime: Runtime, site: CallSite, permit: Permit, settled: () => void) {
  const call: LeasedCall = { site, permit, settled: false };
  const release = () => {
    runtime.timeouts.remove(timeout);
    settled();
  };
  const dueMs = permit.atMs + patienceMaxMs;
  const fire = () => {
    release();
    settleCall(runtime, call, { kind: 'neutral', why: 'lease-expired' });
  };
  const timeout = { dueMs, fire };
  runtime.timeouts.add(patienceMaxMs, timeout);
  // The sweep renews the lease while this process lives. Where an expired lease is no failure, it may expire.
  if (permit.probe && site.breaker?.settings.leaseExpiry === 'failure') holdLease(runtime, call);

  return (ending: CallEnding): void => {
    if (call.settled) return;
    release();
    settleEnding(runtime, call, ending);
  };
}
