/**
 * The one gate: admit judges an action on the local view and takes what it needs, settle gives it back.
 * Gates fail closed, observers swallow: a bug of ours refuses a call or is counted, and never reaches the host.
 */

import { type Action, type Cost, givenBack, type Outcome, type Permit, type RuleHit } from '../../core/action.ts';
import { countedFailures, refusalAt } from '../../core/controls/breaker/breaker.ts';
import type { ResultMark } from '../../core/controls/loop/result-mark.ts';
import { applyAll, checkAll, decide } from '../../core/decide.ts';
import type { ActionSettled } from '../../core/event.ts';
import { explain } from '../../core/messages/explain.ts';
import type { Refusal } from '../../core/refusal.ts';
import { allow, type Decision, type Stop, stricter } from '../../core/verdict.ts';
import { reportBreaker } from '../breakers/breaker-registry.ts';
import { appendEntry, wantsTraces } from '../journal/journal.ts';
import { isObserving, type Runtime } from '../runtime/runtime.ts';
import { halt, hintLoop, warnNearLimit } from '../tasks/halt.ts';
import { compareCall } from '../tasks/recent-output.ts';
import { boundControlsOf, inheritHalt } from '../tasks/task.ts';
import { checkLimits, isStale } from '../tasks/task-events.ts';
import type { CallSite } from './call-site.ts';

/** What settling an action may bring along. */
export interface Settlement {
  readonly cost?: Cost | undefined;
  readonly result?: ResultMark | undefined;
  readonly resultHits?: readonly RuleHit[] | undefined;
  readonly stillRuns?: boolean | undefined;
}

/** A permit, or the verdict that stands against it. */
export type AdmitResult = Permit | Stop;

/** What an action was before its last word: it waited, was asked about, or was too deep from the start. */
export type RefusedAfter = 'wait' | 'ask' | 'depth';

export function isStop(admission: AdmitResult): admission is Stop {
  return 'code' in admission;
}

/** Whether a verdict is not the last word. */
export function needsAnotherRound({ kind }: Stop): boolean {
  return kind === 'wait' || kind === 'ask';
}

/**
 * Judges an action and takes what it needs. A custom control that threw while it learnt of the admission takes the
 * admission back: the call is refused.
 */
export function admitAction(runtime: Runtime, site: CallSite, action: Action, atMs: number): AdmitResult {
  const { own } = runtime;
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
  if (task?.haltStop !== undefined) return task.haltStop; // Latched: one refusal for every later call.
  if (paused !== undefined && !isObserving(runtime)) return paused; // It counts nowhere: the order was written down.
  const decision = decide(site.panel, { type: 'action-proposed', atMs, action });
  if (decision.verdict.kind === 'allow') return allowAction(runtime, site, action, atMs);
  if (!isObserving(runtime)) return refuseAction(runtime, site, action, decision, atMs);
  // The gear only observes: what would have been refused is written down and passes.
  writeRefusal(runtime, site, action, decision, atMs, { enforced: false });
  return allowAction(runtime, site, action, atMs);
}

function allowAction(runtime: Runtime, site: CallSite, action: Action, atMs: number): AdmitResult {
  const { breaker, task, budgetSet } = site;
  // What only a shared store can grant is asked for last: nobody else is against the call.
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
  applyAll(site.panel, { type: 'action-decided', atMs, action, verdict: allow });
  let generation = 0;
  let probe = false;
  if (breaker !== undefined) {
    const state = breaker.cell.state;
    generation = state.generation;
    // The last probe is this one, if it is one: counting them would miss a slot that an expired lease made free.
    probe = taken === true || (state.phase === 'half-open' && state.probes.at(-1)?.id === action.id);
    if (generation !== before) reportBreaker(runtime, breaker, before, site.place, atMs);
  }
  if (wantsTraces(runtime)) appendEntry(runtime, { type: 'action-allowed', action, probe }, site.place, atMs);
  if (task !== undefined && task.cells.budget.state.calls >= task.noticeCalls) warnNearLimit(runtime, task, atMs);
  return { action, atMs, generation, probe };
}

function refuseAction(
  runtime: Runtime,
  site: CallSite,
  action: Action,
  decision: Decision,
  atMs: number,
  after?: RefusedAfter,
): Stop {
  const { breaker, task } = site;
  const verdict = decision.verdict as Stop;
  const before = breaker?.cell.state.generation ?? 0;
  applyAll(site.panel, { type: 'action-decided', atMs, action, verdict });
  if (breaker !== undefined) reportBreaker(runtime, breaker, before, site.place, atMs);
  if (needsAnotherRound(verdict)) {
    const type = verdict.kind === 'wait' ? 'action-waited' : 'action-asked';
    if (!verdict.pending) appendEntry(runtime, { type, action, decision }, site.place, atMs);
    return verdict;
  }
  writeRefusal(runtime, site, action, decision, atMs, { enforced: true, ...(after && { after }) });
  if (task === undefined) return verdict;
  if (verdict.kind === 'halt') halt(runtime, task, verdict, action.name, atMs);
  else checkLimits(runtime, task, atMs); // One refusal more may be one too many.
  return task.haltStop ?? verdict;
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

/** The last word on an action that waited or was asked about, or could not be: it counts like any other refusal. */
export function refuseForGood(
  runtime: Runtime,
  site: CallSite,
  action: Action,
  stop: Stop,
  after = stop.kind as RefusedAfter,
): Stop {
  if (site.task?.haltStop !== undefined) return site.task.haltStop;
  const verdict: Stop = { ...stop, kind: 'deny', code: stop.kind === 'ask' ? 'rule_unanswered' : stop.code };
  return refuseAction(runtime, site, action, singleVote(verdict), runtime.clock.nowMs(), after);
}

/** A decision that one voice made. */
function singleVote(verdict: Stop): Decision {
  return { verdict, votes: [{ control: verdict.control, verdict }] };
}

export function settleAction(
  runtime: Runtime,
  site: CallSite,
  permit: Permit,
  outcome: Outcome,
  atMs: number,
  { cost, result, resultHits, stillRuns }: Settlement,
): void {
  const breaker = site.breaker;
  const failed = outcome.kind === 'failure';
  const before = breaker?.cell.state.generation ?? 0;
  const lateBefore = breaker?.cell.state.late;
  const mark = markOf(outcome, result);
  // One shape for all: fields that are not known are undefined, which the journal leaves out.
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
    if (failed && late === lateBefore && settings.mode !== 'off') {
      const limit = settings.failureThreshold;
      const actual = generation === before ? countedFailures(cell.state, settings, atMs) : limit;
      appendEntry(runtime, { type: 'failure-counted', name, error: outcome.error, actual, limit }, site.place, atMs);
    }
    if (generation !== before) reportBreaker(runtime, breaker, before, site.place, atMs);
  }
  if (failed || cost !== undefined || resultHits !== undefined || site.task?.suspected || isStale(site.task)) {
    checkAfterSettling(runtime, site, permit.action, atMs);
  }
}

/** A failure is known by what it brought or else by its error; waiting may mend it, whoever says so. */
function markOf(outcome: Outcome, result: ResultMark | undefined): ResultMark | undefined {
  if (outcome.kind !== 'failure') return result;
  const { errorFingerprint: mark, error, retryAtMs } = outcome;
  const known = result ?? { ok: false, exact: mark, loose: mark, length: 0 };
  const retryable = retryAtMs !== undefined || error === 'NetworkError' || error === 'RateLimitExceeded';
  return retryable ? { ...known, retryable } : known;
}

/** What the ending of an action made due: money spent, an output rule, a tool that failed once too often. */
function checkAfterSettling(runtime: Runtime, site: CallSite, action: Action, atMs: number): void {
  const task = site.task;
  if (task === undefined || task.haltStop !== undefined || task.ended) return;
  const shared = checkAll(site.panel.slice(0, site.sharedControlCount), atMs, action);
  // The task's limits as they are now, not as it began.
  const due = stricter(shared, checkAll(boundControlsOf(runtime, task), atMs));
  if (due.kind === 'halt') halt(runtime, task, due, action.name, atMs);
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
  return task?.halt ?? explain(stop, { name: target.name, agent, atMs, ...(task && { task: task.id }) });
}
