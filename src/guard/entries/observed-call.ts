/**
 * Reports an observed call to breakers and rules. The call has started and cannot be refused: a breaker only
 * observes, and only `abort` and `confirm` rules act, by halting the task.
 */

import { createWeighedKeys, getOrCreate, type Weight } from '../../core/bounded.ts';
import { nameError } from '../../core/controls/loop/effect.ts';
import { callSitesMax, foreignChangesPollMs } from '../../core/limits.ts';
import type { Stop } from '../../core/verdict.ts';
import { releaseBreaker } from '../breakers/breaker-registry.ts';
import { reportForgotten } from '../journal/journal.ts';
import { admitAction, isStop } from '../route/admission.ts';
import { settleEnding } from '../route/call.ts';
import { type CallSite, callSiteFor, type Target } from '../route/call-site.ts';
import { makeAction } from '../route/proposal.ts';
import { recordTuning } from '../route/target.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { TaskState } from '../tasks/task.ts';

/** An observed call: the stop that halts its task, if any, and a function that settles it. */
export interface ObservedCall {
  readonly stop: Stop | undefined;
  /**
   * Settles the call; without an ending its outcome is unknown. Returns how often the tool failed in a row, if its
   * breaker is open.
   */
  settle(ending?: { readonly ok: boolean; readonly output: unknown }): number | undefined;
}

/** Observes a call in the session of a task, or in that of the gear. */
export type CallObserver = (id: string, name: string, input: unknown, task?: TaskState) => ObservedCall;

/** Breakers of observed tools, one for each session: new ones, and older ones with failures that no store keeps. */
const newBreakersMax = 1_000;
const failedBreakersMax = 8_000;

/** Breaker settings of observed tools: one breaker per session, which refuses nothing. */
const overrides = { scope: 'session', mode: 'observe' } as const;

export function createCallObserver(runtime: Runtime): CallObserver {
  const targets = new Map<string, Target>();
  const targetForTool = (name: string): Target =>
    getOrCreate(targets, name, callSitesMax, () => {
      recordTuning(runtime, name, overrides);
      return { name, kind: 'tool', overrides };
    });

  const breakers = createWeighedKeys(newBreakersMax, failedBreakersMax);
  /** Forgets the breaker of a tool in an earlier session if there are too many. */
  function boundBreakers({ breaker }: CallSite): void {
    if (breaker === undefined) return;
    const forgotten = breakers.add(breaker.cell.key, (key) => weighBreaker(runtime, key));
    if (forgotten === undefined) return;
    releaseBreaker(runtime, forgotten.key);
    if (forgotten.weight > 0) reportForgotten(runtime, 'failures of tools');
  }

  const callSites = new WeakMap<CallSite, CallSite>();
  /** The call site of an observed tool, without the controls of the task, which observes the call itself. */
  function callSiteForTool(name: string, task: TaskState | undefined): CallSite {
    const target = targetForTool(name);
    let whole = callSiteFor(runtime, target, task);
    if (whole.breaker !== undefined && runtime.breakers.get(whole.breaker.cell.key) !== whole.breaker) {
      (task ?? runtime).callSites!.delete(target); // Its breaker was forgotten.
      whole = callSiteFor(runtime, target, task);
    }
    boundBreakers(whole);
    let site = callSites.get(whole);
    if (site === undefined) {
      const shared = whole.panel.slice(0, whole.sharedControlCount);
      const panel = shared.filter(({ cell }) => cell !== task?.cells.budget);
      site = Object.assign({}, whole, { panel, budgetSet: undefined, isPast: true });
      callSites.set(whole, site);
    }
    return site;
  }

  let refreshedAtMs = Number.NEGATIVE_INFINITY;
  /** Reads operator orders at a limited rate; other changes in the store do not matter for a call that has started. */
  function refreshOrders(nowMs: number): void {
    if (nowMs - refreshedAtMs < foreignChangesPollMs) return;
    refreshedAtMs = nowMs;
    runtime.store.shared?.refresh();
  }

  return (id, name, input, task) => {
    const site = callSiteForTool(name, task);
    const nowMs = runtime.clock.nowMs();
    refreshOrders(nowMs);
    const admission = admitAction(runtime, site, makeAction(runtime, site, [input], {}, id), nowMs);
    if (isStop(admission)) return { stop: toHaltStop(admission), settle: () => undefined };
    const call = { site, permit: admission, settled: false };
    return {
      stop: undefined,
      settle(ending) {
        if (call.settled) return undefined;
        if (ending === undefined) settleEnding(runtime, call, { cancelled: true });
        else
          settleEnding(
            runtime,
            call,
            ending.ok ? { value: ending.output } : { error: makeToolError(name, ending.output) },
          );
        const { phase, streak } = site.breaker?.cell.state ?? {};
        return phase === 'open' ? streak : undefined;
      },
    };
  };
}

/** What would be lost with a breaker: counted failures, or its opening. */
function weighBreaker({ breakers, store }: Runtime, key: string): Weight {
  const state = breakers.get(key)?.cell.state;
  if (state === undefined || store.shared !== undefined) return 0; // A shared store keeps the state.
  return state.phase !== 'closed' || state.heldAtMs >= 0 ? 2 : state.run > 0 ? 1 : 0;
}

/** The error of a failed call, without a stack. */
function makeToolError(tool: string, output: unknown): { readonly name: string; readonly message: string } {
  const message = typeof output === 'string' ? output.slice(0, 500) : '';
  return { name: nameError(tool, message), message };
}

/** Converts a stop of an `abort` or `confirm` rule to a halt, because the call does not wait for an answer. */
function toHaltStop(stop: Stop): Stop | undefined {
  if (stop.kind === 'halt') return stop;
  const otherwise = stop.raise?.otherwise;
  if (otherwise !== undefined) return otherwise.kind === 'halt' ? otherwise : undefined;
  return stop.kind === 'ask' ? { ...stop, kind: 'halt', code: 'rule_unanswered' } : undefined;
}
