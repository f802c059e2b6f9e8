/** A guarded call in two steps, for hosts that run calls themselves: admit now, settle once later. */

import type { Action, Permit } from '../../core/action.ts';
import { evictOldest } from '../../core/bounded.ts';
import { peek } from '../../core/classify.ts';
import { SwitchgearError } from '../../core/error.ts';
import { countedIdsMax, patienceMaxMs } from '../../core/limits.ts';
import { type Refusal, refused } from '../../core/refusal.ts';
import { uniqueId } from '../../platform/unique-id.ts';
import { markValue } from '../approval/call-mark.ts';
import type { Admission, AdmitOptions } from '../call-options.ts';
import { explainStop, isStop } from '../route/admission.ts';
import { type CallEnding, proposeOnce, settleEnding } from '../route/call.ts';
import { type CallSite, callSiteFor, targetFor } from '../route/call-site.ts';
import { holdLease, type LeasedCall, settleCall } from '../route/live-call.ts';
import { makeAction, reportMissingTask } from '../route/proposal.ts';
import { refuseOnError } from '../route/refusal-delivery.ts';
import { followStream, isStream } from '../route/stream.ts';
import { frameOf } from '../runtime/async-context.ts';
import { type Checks, name as isName, kind, options, text } from '../runtime/option-checks.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { wasCounted } from '../tasks/observe.ts';
import type { TaskState } from '../tasks/task.ts';
import { recordPermitEvent } from '../tasks/task-events.ts';
import { unknownTaskMessage } from '../tasks/task-tree.ts';

const checks: Checks = { id: text, kind, turnId: text, task: isName };

/** Admissions by task, call id and mark: a second request for the same call gets the same answer. */
const admissions = new WeakMap<Runtime, Map<string, Admission>>();

/** The key of the marks of this process. */
const markSecret = uniqueId() + uniqueId();

/** Decides on a call that the host runs itself and settles later. */
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
    // A call of an unknown task cannot be counted, so it is refused.
    const unknown = new SwitchgearError('unknown_task', unknownTaskMessage(wanted));
    return refusedCall(refuseOnError(runtime, 'admit', name, unknown), runtime);
  }
  if (id === undefined) return decide(runtime, task, name, args, admitOptions, () => {});
  const admitted = admissions.get(runtime) ?? new Map<string, Admission>();
  admissions.set(runtime, admitted);
  const key = keyOf(task, id, name, args);
  // Without a mark, the call cannot be compared with earlier ones.
  if (key === undefined) {
    const unshared = decide(runtime, task, name, args, admitOptions, () => {});
    if (unshared.refused === undefined && task !== undefined) wasCounted(task, 'call', id);
    return unshared;
  }
  // After a halt, a call that was admitted before is not admitted again.
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

/**
 * The key has the mark of the whole arguments, because some hosts reuse call ids in each turn, and a fingerprint is
 * the same for different arguments.
 */
function keyOf(task: TaskState | undefined, id: string, name: string, args: readonly unknown[]): string | undefined {
  return markValue(markSecret, [task?.id, id, name, args]);
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
    const made = makeAction(runtime, site, args, {}, admitOptions.id, admitOptions.turnId);
    const action = made.kind === 'tool' && task !== undefined ? withPatience(made, task) : made;
    // In this entry a call cannot wait or ask.
    const admission = proposeOnce(runtime, site, action, atMs);
    if (!isStop(admission)) return { refused: undefined, settle: settling(runtime, site, admission, settled) };
    return refusedCall(explainStop(admission, site, atMs), site);
  } catch (error) {
    return refusedCall(refuseOnError(runtime, 'admit', name, error), site ?? task ?? runtime);
  }
}

/** A call that the host runs is activity until it is settled: together with the idle limit for ten minutes. */
function withPatience(action: Action, { limits }: TaskState): Action {
  const patienceMs = Math.max(action.patienceMs, patienceMaxMs - 1000 * limits.maxIdleSecs);
  return patienceMs === action.patienceMs ? action : { ...action, patienceMs };
}

function refusedCall(refusal: Refusal, { agent, session }: Pick<CallSite, 'agent' | 'session'>): Admission {
  return { refused: refused(refusal, agent, session), refusal };
}

/**
 * Settles a call by the host's report. A call that is never reported says nothing about the tool, but after a time
 * its slot and its probe are released, and its task can become idle.
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
  const progress = () => {
    if (!call.settled) recordPermitEvent(runtime, 'permit-renewed', site, permit);
  };
  const timeout = { dueMs, fire };
  runtime.timeouts.add(patienceMaxMs, timeout);
  // The sweep renews the lease while this process runs, unless an expired lease is neutral.
  if (permit.probe && site.breaker?.settings.leaseExpiry === 'failure') holdLease(runtime, call);

  return (ending: CallEnding): void => {
    if (call.settled) return;
    release();
    const value = peek(ending, 'value');
    if (!isStream(value)) settleEnding(runtime, call, ending);
    else followStream({ runtime, progress }, value, (end) => settleEnding(runtime, call, end));
  };
}
