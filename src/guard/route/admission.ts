/**
 * Admits and settles actions: `admitAction` judges an action with the local view and reserves what it needs; settling
 * releases it. An internal error refuses a call, or is counted, and never reaches the host.
 */

import { type Action, type Cost, givenBack, type Outcome, type Permit, type RuleHit } from '../../core/action.ts';
import { countedFailures, refusalAt } from '../../core/controls/breaker/breaker.ts';
import type { ResultMark } from '../../core/controls/loop/result-mark.ts';
import { applyAll, checkAll, decide } from '../../core/decide.ts';
import type { ActionSettled } from '../../core/event.ts';
import { burstRefusalsMax, reportedNamesMax } from '../../core/limits.ts';
import { explain } from '../../core/messages/explain.ts';
import { showError } from '../../core/messages/shown-error.ts';
import type { Refusal } from '../../core/refusal.ts';
import { allow, type Decision, type Stop, stricter } from '../../core/verdict.ts';
import { systemClock } from '../../platform/system-clock.ts';
import type { BreakerCounts } from '../../ports/process-counts.ts';
import { reportBreaker } from '../breakers/breaker-registry.ts';
import { appendEntry, showsFailures, wantsTraces } from '../journal/journal.ts';
import { countCost } from '../runtime/process-counts.ts';
import { isObserving, type Runtime } from '../runtime/runtime.ts';
import { halt, haltUnpriced, hintLoop, warnNearLimit } from '../tasks/halt.ts';
import { askOrHalt } from '../tasks/limit-question.ts';
import { compareCall } from '../tasks/recent-output.ts';
import { boundControlsOf, inheritHalt, type TaskState } from '../tasks/task.ts';
import { checkLimits, isStale } from '../tasks/task-events.ts';
import type { CallSite } from './call-site.ts';
import { makeRoom, stackRoom } from './stack-room.ts';

/** Optional data of a settlement. */
export interface Settlement {
  readonly cost?: Cost | undefined;
  /** The model whose unknown price halts the task. */
  readonly unpricedModel?: string | undefined;
  readonly result?: ResultMark | undefined;
  readonly resultHits?: readonly RuleHit[] | undefined;
  readonly stillRuns?: boolean | undefined;
  /** The message of the error, as it came. */
  readonly failureText?: string | undefined;
  /** The HTTP status of the error. */
  readonly failureStatus?: number | undefined;
}

/** A permit, or the stop that refuses the action. */
export type AdmitResult = Permit | Stop;

/** Why an action is refused for good: after a wait, after a question, or because of its depth. */
export type RefusedAfter = 'wait' | 'ask' | 'depth';

export function isStop(admission: AdmitResult): admission is Stop {
  return 'code' in admission;
}

const takenBack = new WeakSet<Stop>();

/** Whether the caller took the call back. */
export function isTakenBack(stop: Stop): boolean {
  return takenBack.has(stop);
}

/** Whether the action can be judged again after a verdict. */
export function needsAnotherRound({ kind }: Stop): boolean {
  return kind === 'wait' || kind === 'ask';
}

/**
 * Judges an action and reserves what it needs. If a custom control throws while it learns of the admission, the
 * admission is undone and the call is refused.
 */
export function admitAction(runtime: Runtime, site: CallSite, action: Action, atMs: number): AdmitResult {
  const { onDecided } = runtime;
  if (onDecided === undefined) return admit(runtime, site, action, atMs);
  const beganMs = systemClock.nowMs();
  const result = admit(runtime, site, action, atMs);
  onDecided(isStop(result) ? result.kind : 'allow', systemClock.nowMs() - beganMs);
  return result;
}

function admit(runtime: Runtime, site: CallSite, action: Action, atMs: number): AdmitResult {
  const { own } = runtime;
  if (stackRoom.isTight) makeRoom();
  if (own === undefined) return judgeAndTake(runtime, site, action, atMs);
  own.harm.error = undefined;
  const result = judgeAndTake(runtime, site, action, atMs);
  const { error } = own.harm;
  if (error === undefined || isStop(result)) return result;
  settleAction(runtime, site, result, givenBack, atMs, {});
  throw error;
}

function judgeAndTake(runtime: Runtime, site: CallSite, action: Action, atMs: number): AdmitResult {
  const task = site.task;
  if (!site.isPast) runtime.store.shared?.refresh();
  const paused = runtime.applyOrders?.(atMs, site);
  if (task?.ended === true) inheritHalt(task);
  if (task?.haltStop !== undefined) {
    runtime.counts.halt++;
    return task.haltStop; // A halt is final: every later call gets the same refusal.
  }
  // A pause does not count as a refusal; the order has its own entry.
  if (paused !== undefined && !isObserving(runtime)) return paused;
  const proposed = inBurst(task, action);
  const decision = decide(site.panel, { type: 'action-proposed', atMs, action: proposed });
  if (decision.verdict.kind === 'allow') return allowAction(runtime, site, proposed, atMs);
  if (!isObserving(runtime)) return refuseAction(runtime, site, proposed, decision, atMs);
  // In observe mode the refusal is written and the call passes.
  writeRefusal(runtime, site, proposed, decision, atMs, { enforced: false });
  return allowAction(runtime, site, proposed, atMs);
}

function allowAction(runtime: Runtime, site: CallSite, action: Action, atMs: number): AdmitResult {
  const { breaker, task, budgetSet } = site;
  if (breaker?.queue?.isAhead && !isObserving(runtime)) return queueBehind(runtime, site, action, atMs);
  // Grants of a shared store are requested last, when all controls allow the call.
  const taken =
    !isObserving(runtime) &&
    (runtime.boundRules?.control.countCall?.(action, atMs) ??
      budgetSet?.reserve(action, atMs) ??
      breaker?.control.acquireProbe?.(action, atMs));
  if (typeof taken === 'object') {
    return refuseAction(runtime, site, action, singleVote(taken), atMs);
  }
  const before = breaker?.cell.state.generation ?? 0;
  if (breaker !== undefined && breaker.settings.mode === 'observe') reportShadow(runtime, site, atMs);
  const inFlight = breaker?.cell.state.inFlight ?? 0;
  try {
    applyAll(site.panel, { type: 'action-decided', atMs, action, verdict: allow });
  } catch (error) {
    if (breaker !== undefined && breaker.cell.state.inFlight > inFlight) {
      // The stack has overflowed after the breaker gave a slot, which is given back when the stack has room.
      const permit = { action, atMs, generation: breaker.cell.state.generation, probe: false };
      const run = () => settleAction(runtime, site, permit, givenBack, atMs, {});
      stackRoom.owed = { run, next: stackRoom.owed };
    }
    throw error;
  }
  runtime.counts.allow++;
  let generation = 0;
  let probe = false;
  if (breaker !== undefined) {
    const state = breaker.cell.state;
    generation = state.generation;
    // If this call is a probe, it is the last one in the list. Comparing counts would miss a slot that an expired
    // lease freed.
    probe = taken === true || (state.phase === 'half-open' && state.probes.at(-1)?.id === action.id);
    if (generation !== before) reportBreaker(runtime, breaker, before, site.place, atMs);
  }
  if (wantsTraces(runtime)) appendEntry(runtime, { type: 'action-allowed', action, probe }, site.place, atMs);
  if (task !== undefined && task.cells.budget.state.calls >= task.noticeCalls) warnNearLimit(runtime, task, atMs);
  return { action, atMs, generation, probe };
}

/** Sends a call that finds a free slot to the end of the queue, because others wait for the slot. */
function queueBehind(runtime: Runtime, site: CallSite, action: Action, atMs: number): Stop {
  const { cell, settings } = site.breaker!;
  const counters = { actual: cell.state.inFlight, limit: settings.maxConcurrent ?? 0 };
  const stop: Stop = { kind: 'wait', code: 'concurrency_limit', control: 'breaker', counters, retryAtMs: atMs };
  return refuseAction(runtime, site, action, singleVote(stop), atMs);
}

function refuseAction(
  runtime: Runtime,
  site: CallSite,
  proposed: Action,
  decision: Decision,
  atMs: number,
  after?: RefusedAfter,
): Stop {
  const { breaker, task } = site;
  const verdict = decision.verdict as Stop;
  if ((!needsAnotherRound(verdict) || verdict.raise !== undefined) && site.takeBack?.(verdict)) {
    const stop: Stop = { ...verdict, kind: 'wait', pending: true };
    applyAll(site.panel, { type: 'action-decided', atMs, action: proposed, verdict: stop });
    takenBack.add(stop);
    return stop;
  }
  const isFinal = !needsAnotherRound(verdict);
  if (isFinal && task !== undefined) countInBurst(runtime, task);
  const action = inBurst(task, proposed);
  const before = breaker?.cell.state.generation ?? 0;
  applyAll(site.panel, { type: 'action-decided', atMs, action, verdict });
  if (breaker !== undefined) reportBreaker(runtime, breaker, before, site.place, atMs);
  if (!isFinal) {
    const type = verdict.kind === 'wait' ? 'action-waited' : 'action-asked';
    if (!verdict.pending) {
      runtime.counts[verdict.kind]++;
      appendEntry(runtime, { type, action, decision }, site.place, atMs);
    }
    return verdict;
  }
  runtime.counts[verdict.kind]++;
  if (breaker !== undefined && verdict.control === 'breaker') breaker.counts.refusals++;
  writeRefusal(runtime, site, action, decision, atMs, { enforced: true, ...(after && { after }) });
  if (task === undefined) return verdict;
  if (verdict.kind === 'halt') halt(runtime, task, verdict, action.name, atMs);
  else checkLimits(runtime, task, atMs); // This refusal may reach the limit of denials.
  return task.haltStop ?? verdict;
}

/**
 * Refusals before the caller could read the first of them count as one (R29): where the host does not tell turns apart,
 * they share a turn until the running job ends.
 */
function countInBurst(runtime: Runtime, task: TaskState): void {
  if (task.burst !== undefined && ++task.burst.refusals <= burstRefusalsMax) return;
  const burst = { turn: `tick-${runtime.idStem}-${++runtime.ids}`, refusals: 1 };
  task.burst = burst;
  queueMicrotask(() => {
    if (task.burst === burst) task.burst = undefined;
  });
}

function inBurst(task: TaskState | undefined, action: Action): Action {
  return task?.burst === undefined || action.turnId !== undefined ? action : { ...action, turnId: task.burst.turn };
}

function writeRefusal(
  runtime: Runtime,
  site: CallSite,
  action: Action,
  decision: Decision,
  atMs: number,
  how: { readonly enforced: boolean; readonly after?: RefusedAfter },
): void {
  const { message } = explainStop(decision.verdict as Stop, site, atMs);
  appendEntry(runtime, { type: 'action-refused', action, decision, message, ...how }, site.place, atMs);
}

/** Writes a refusal that counts for no task. */
export function noteRefusal(runtime: Runtime, site: CallSite, action: Action, stop: Stop, enforced: boolean): void {
  if (enforced) runtime.counts.deny++;
  writeRefusal(runtime, site, action, singleVote(stop), runtime.clock.nowMs(), { enforced });
}

/** Refuses an action that waited, was asked about, or can do neither; it counts like any other refusal. */
export function refuseForGood(
  runtime: Runtime,
  site: CallSite,
  action: Action,
  stop: Stop,
  after = stop.kind as RefusedAfter,
): Stop {
  if (site.task?.haltStop !== undefined) return site.task.haltStop;
  const code = stop.kind === 'ask' ? 'rule_unanswered' : stop.code;
  const waited = stop.kind === 'wait' && { waited: true as const };
  const verdict: Stop = stop.raise?.otherwise ?? { ...stop, kind: 'deny', code, ...waited };
  return refuseAction(runtime, site, action, singleVote(verdict), runtime.clock.nowMs(), after);
}

/** A decision of a single verdict. */
function singleVote(verdict: Stop): Decision {
  return { verdict, votes: [{ control: verdict.control, verdict }] };
}

export function settleAction(
  runtime: Runtime,
  site: CallSite,
  permit: Permit,
  outcome: Outcome,
  atMs: number,
  { cost, unpricedModel, result, resultHits, stillRuns, failureText, failureStatus: status }: Settlement,
): void {
  const breaker = site.breaker;
  const failed = outcome.kind === 'failure';
  const before = breaker?.cell.state.generation ?? 0;
  const lateBefore = breaker?.cell.state.late;
  const mark = markOf(outcome, result);
  // One object shape for all events: unknown fields are undefined, which the journal omits.
  const event = {
    type: 'action-settled',
    atMs,
    permit,
    outcome,
    cost,
    result: mark,
    likeness: site.task?.recentOutput === undefined ? undefined : compareCall(site.task, permit.action.id, mark),
    resultHits,
    stillRuns,
  } as ActionSettled;
  applyAll(site.panel, event);
  if (wantsTraces(runtime)) appendEntry(runtime, { ...event, durationMs: atMs - permit.atMs }, site.place, atMs);
  if (breaker !== undefined) {
    const { cell, settings, name } = breaker;
    const { generation, late } = cell.state;
    countOutcome(breaker.counts, outcome, atMs - permit.atMs);
    if (failed && late === lateBefore && settings.mode !== 'off') {
      const limit = settings.failureThreshold;
      const actual = generation === before ? countedFailures(cell.state, settings, atMs) : limit;
      if (failureText) breaker.lastError = failureText;
      const message = failureText && showsFailures(runtime) ? { message: showError(failureText) } : undefined;
      const withStatus = status === undefined ? undefined : { status };
      const body = {
        type: 'failure-counted',
        name,
        error: outcome.error,
        ...withStatus,
        actual,
        limit,
        ...message,
      } as const;
      appendEntry(runtime, body, site.place, atMs);
    }
    if (generation !== before) reportBreaker(runtime, breaker, before, site.place, atMs);
    breaker.queue?.call();
  }
  if (cost !== undefined) countCost(runtime, cost);
  if (outcome.kind === 'neutral' && outcome.why === 'unauthorized') reportRefusedAccess(runtime, site, atMs);
  if (failed || cost !== undefined || resultHits !== undefined || site.task?.suspected || isStale(site.task)) {
    checkAfterSettling(runtime, site, permit.action, atMs);
  }
  if (unpricedModel !== undefined && site.task !== undefined) haltUnpriced(runtime, site.task, unpricedModel, atMs);
}

function countOutcome(counts: BreakerCounts, outcome: Outcome, durationMs: number): void {
  if (outcome.kind === 'success') {
    counts.successes++;
    counts.successMs += durationMs;
  } else if (outcome.kind === 'failure') {
    counts.failures++;
    counts.failureMs += durationMs;
  } else if (outcome.why !== 'given-back') {
    counts.neutrals++;
    counts.neutralMs += durationMs;
  }
}

/** Reports once for each name that the callee refuses the credentials: no wait and no retry mends that. */
function reportRefusedAccess(runtime: Runtime, { target, place }: CallSite, atMs: number): void {
  const { reportedOnce } = runtime;
  const mark = `access-refused ${target.name}`;
  if (reportedOnce.has(mark) || reportedOnce.size >= reportedNamesMax) return;
  reportedOnce.add(mark);
  appendEntry(runtime, { type: 'access-refused', name: target.name }, place, atMs);
}

/** The mark of an outcome: that of the result, or else of the error; retryable if either says so. */
function markOf(outcome: Outcome, result: ResultMark | undefined): ResultMark | undefined {
  if (outcome.kind !== 'failure') return result;
  const { errorFingerprint: mark, error, retryAtMs } = outcome;
  const known = result ?? { ok: false, exact: mark, loose: mark, length: 0 };
  const retryable = retryAtMs !== undefined || error === 'NetworkError' || error === 'RateLimitExceeded';
  return retryable ? { ...known, retryable } : known;
}

/** Checks limits after a settlement: money spent, an output rule, a tool that failed too often. */
function checkAfterSettling(runtime: Runtime, site: CallSite, action: Action, atMs: number): void {
  const task = site.task;
  if (task === undefined || task.haltStop !== undefined || task.ended) return;
  const shared = checkAll(site.panel.slice(0, site.sharedControlCount), atMs, action);
  // Use the current limits of the task, not those at the start of the call.
  const due = stricter(shared, checkAll(boundControlsOf(runtime, task), atMs));
  if (due.kind === 'halt') halt(runtime, task, due, action.name, atMs);
  else if (due.kind === 'ask' && due.raise !== undefined) askOrHalt(runtime, task, due, action.name, atMs);
  else hintLoop(runtime, task, atMs);
}

function reportShadow(runtime: Runtime, site: CallSite, atMs: number): void {
  const breaker = site.breaker!;
  const { name, settings, cell } = breaker;
  const { generation } = cell.state;
  if (breaker.shadowed === generation || refusalAt(cell.state, settings, atMs) === undefined) return;
  breaker.shadowed = generation;
  appendEntry(runtime, { type: 'breaker-shadowed', key: cell.key, name, generation }, site.place, atMs);
}

export function explainStop(stop: Stop, site: CallSite, atMs: number): Refusal {
  const { task, target, agent } = site;
  if (task?.halt !== undefined) return task.halt;
  const isModel = target.kind === 'model';
  const subject = { name: target.name, agent, atMs, isModel, ...(task && { task: task.id }) };
  const lastError = stop.code === 'circuit_open' ? site.breaker?.lastError : undefined;
  return explain(stop, lastError ? { ...subject, lastError: showError(lastError) } : subject);
}
