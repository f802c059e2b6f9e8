/**
 * Has breakers and rules learn of a call that is on its way already. Nobody can refuse it any more: a breaker only
 * observes, and of the rules only those speak that end a task or want a person asked.
 */

import { getOrCreate } from '../../core/bounded.ts';
import { callSitesMax, foreignChangesPollMs } from '../../core/limits.ts';
import type { Stop } from '../../core/verdict.ts';
import { admitAction, isStop } from '../route/admission.ts';
import { settleEnding } from '../route/call.ts';
import { type CallSite, callSiteFor, type Target } from '../route/call-site.ts';
import { makeAction } from '../route/proposal.ts';
import { recordTuning } from '../route/target.ts';
import type { Runtime } from '../runtime/runtime.ts';

/** A call that was seen: what stands against its task going on, and how to say what it brought. */
export interface ObservedCall {
  readonly stop: Stop | undefined;
  /** Says how it ended; nothing where nobody knows. */
  settle(ending?: { readonly ok: boolean; readonly output: unknown }): void;
}

export type CallObserver = (id: string, name: string, input: unknown) => ObservedCall;

/** A tool of the agent's own is down for this session at most, and is never refused here. */
const overrides = { scope: 'session', mode: 'observe' } as const;

export function createCallObserver(runtime: Runtime): CallObserver {
  const targets = new Map<string, Target>();
  const targetForTool = (name: string): Target =>
    getOrCreate(targets, name, callSitesMax, () => {
      recordTuning(runtime, name, overrides);
      return { name, kind: 'tool', overrides };
    });

  const callSites = new WeakMap<CallSite, CallSite>();
  /** The task counts what it observes; here it is only about what is called. */
  function callSiteForTool(name: string): CallSite {
    const taskless = callSiteFor(runtime, targetForTool(name), undefined);
    let site = callSites.get(taskless);
    if (site === undefined) {
      const panel = taskless.panel.slice(0, taskless.sharedControlCount);
      site = Object.assign({}, taskless, { panel, budgetSet: undefined, isPast: true });
      callSites.set(taskless, site);
    }
    return site;
  }

  let refreshedAtMs = Number.NEGATIVE_INFINITY;
  /** Orders of an operator are heard in time; nothing else that others do matters for a call that was made. */
  function refreshOrders(nowMs: number): void {
    if (nowMs - refreshedAtMs < foreignChangesPollMs) return;
    refreshedAtMs = nowMs;
    runtime.store.shared?.refresh();
  }

  return (id, name, input) => {
    const site = callSiteForTool(name);
    const nowMs = runtime.clock.nowMs();
    refreshOrders(nowMs);
    const admission = admitAction(runtime, site, makeAction(runtime, site, [input], {}, id), nowMs);
    if (isStop(admission)) return { stop: toHaltStop(admission), settle() {} };
    const call = { site, permit: admission, settled: false };
    return {
      stop: undefined,
      settle(ending) {
        if (call.settled) return;
        if (ending === undefined) settleEnding(runtime, call, { cancelled: true });
        else
          settleEnding(runtime, call, ending.ok ? { value: ending.output } : { error: makeToolError(ending.output) });
      },
    };
  };
}

/** An error without a stack, which nobody will read. */
function makeToolError(output: unknown): { readonly name: string; readonly message: string } {
  return { name: 'ToolError', message: typeof output === 'string' ? output.slice(0, 500) : '' };
}

/** A rule that forbids ends the task; so does one that wants a person asked, since the call does not wait for them. */
function toHaltStop(stop: Stop): Stop | undefined {
  if (stop.kind === 'halt') return stop;
  return stop.kind === 'ask' ? { ...stop, kind: 'halt', code: 'rule_unanswered' } : undefined;
}
