/**
 * The breaker of a service that many tools share, such as an MCP server: it counts whether the upstream answers at all,
 * while the breaker of each tool counts what the tool answers.
 */

import { type Action, cancelled, givenBack, type Outcome, type Permit } from '../../core/action.ts';
import { cellKey } from '../../core/cell-key.ts';
import type { BreakerState } from '../../core/controls/breaker/state.ts';
import { resolveBreaker } from '../../core/controls/resolve-settings.ts';
import { applyAll, decide } from '../../core/decide.ts';
import { patienceMaxMs } from '../../core/limits.ts';
import { explain } from '../../core/messages/explain.ts';
import { showError } from '../../core/messages/shown-error.ts';
import type { Refusal } from '../../core/refusal.ts';
import type { BreakerSettings } from '../../core/settings.ts';
import { allow, type Stop } from '../../core/verdict.ts';
import { breakerAt, reportBreaker } from '../breakers/breaker-registry.ts';
import type { CallSite, Target } from '../route/call-site.ts';
import { holdLease, type LeasedCall, settleCall } from '../route/live-call.ts';
import { isObserving, type Runtime } from '../runtime/runtime.ts';

/** How a call of the upstream ended: with an answer, without one, or unknown. */
export type UpstreamOutcome = 'answered' | 'failed' | 'unknown';

/** A running call of an upstream. */
export interface UpstreamCall {
  /** Settles the call once. `reason` is the text of a failure. */
  settle(outcome: UpstreamOutcome, reason?: string): void;
}

export interface UpstreamBreaker {
  readonly name: string;
  readonly settings: BreakerSettings;
  readonly phase: BreakerState['phase'];
  /** The stop of a call now, or undefined. Reserves and counts nothing. */
  judge(): Stop | undefined;
  /** Admits a call that its own controls have allowed; takes the probe of a half-open breaker. */
  admit(): UpstreamCall | Stop;
  /** The refusal of a call, in words about the upstream. */
  explain(stop: Stop): Refusal;
}

/** Finds the breaker of an upstream, which all processes on the store share. */
export function upstreamBreaker(
  runtime: Runtime,
  name: string,
  overrides: Partial<BreakerSettings> = {},
): UpstreamBreaker {
  const target: Target = { name, kind: 'tool' };
  let site: CallSite | undefined;
  let calls = 0;

  /** The call site, made again after the settings changed. Only the breaker judges there. */
  const siteNow = (): CallSite => {
    if (site?.epoch !== runtime.epoch) site = makeUpstreamSite(runtime, target, overrides);
    return site!;
  };

  const propose = (action: Action, atMs: number): Stop | undefined => {
    const { verdict } = decide(siteNow().panel, { type: 'action-proposed', atMs, action });
    return verdict.kind === 'allow' || isObserving(runtime) ? undefined : verdict;
  };

  const makeUpstreamAction = (): Action => ({
    id: `${runtime.idStem}-upstream-${++calls}`,
    ...{ kind: target.kind, name, agent: runtime.agent, session: runtime.session, fingerprint: 0 },
    ...{ worstMicros: 0, worstTokens: 0, patienceMs: patienceMaxMs },
  });

  return {
    name,
    get settings() {
      return siteNow().breaker!.settings;
    },
    get phase() {
      return siteNow().breaker!.cell.state.phase;
    },
    judge() {
      const { phase, heldAtMs } = siteNow().breaker!.cell.state;
      if (phase === 'closed' && heldAtMs < 0 && site?.breaker?.settings.slowCallSecs === undefined) return undefined;
      const action = makeUpstreamAction();
      if (propose(action, runtime.clock.nowMs()) === undefined) return undefined;
      // The call itself looks into the store before it is judged; a call that is refused here would never look.
      runtime.store.shared?.refresh();
      return propose(action, runtime.clock.nowMs());
    },
    admit() {
      const current = siteNow();
      const action = makeUpstreamAction();
      const atMs = runtime.clock.nowMs();
      const stop = propose(action, atMs);
      if (stop !== undefined) return stop;
      const breaker = current.breaker!;
      const taken = !isObserving(runtime) && breaker.control.acquireProbe?.(action, atMs);
      if (typeof taken === 'object') return taken;
      const before = breaker.cell.state.generation;
      applyAll(current.panel, { type: 'action-decided', atMs, action, verdict: allow });
      const { generation, phase, probes } = breaker.cell.state;
      const probe = taken === true || (phase === 'half-open' && probes.at(-1)?.id === action.id);
      if (generation !== before) reportBreaker(runtime, breaker, before, current.place, atMs);
      return makeUpstreamCall(runtime, current, { action, atMs, generation, probe });
    },
    explain(stop) {
      const { agent, breaker } = siteNow();
      const { lastError } = breaker!;
      const subject = { name, agent, atMs: runtime.clock.nowMs() };
      return explain(stop, lastError ? { ...subject, lastError: showError(lastError) } : subject);
    },
  };
}

function makeUpstreamSite(runtime: Runtime, target: Target, overrides: Partial<BreakerSettings>): CallSite {
  const { agent, session, settings } = runtime;
  const { name } = target;
  const own = resolveBreaker(settings, { tool: name, agent, overrides });
  const breaker = breakerAt(runtime, cellKey('breaker', 'shared', 'upstream', name), name, agent, own);
  return {
    target,
    task: undefined,
    panel: [breaker],
    sharedControlCount: 1,
    breaker,
    budgetSet: undefined,
    features: [],
    timeoutMs: 0,
    patienceMs: patienceMaxMs,
    retry: undefined,
    place: { session, agent, breaker: breaker.cell.key },
    agent,
    session,
    epoch: runtime.epoch,
  };
}

function makeUpstreamCall(runtime: Runtime, site: CallSite, permit: Permit): UpstreamCall {
  const call: LeasedCall = { site, permit, settled: false };
  if (permit.probe) holdLease(runtime, call);
  return {
    settle(outcome, reason) {
      if (call.settled) return;
      const settlement = outcome === 'failed' && reason !== undefined ? { failureText: reason } : {};
      settleCall(runtime, call, outcomes[outcome], settlement);
    },
  };
}

const outcomes: Readonly<Record<UpstreamOutcome, Outcome>> = {
  answered: { kind: 'success' },
  failed: { kind: 'failure', error: 'NetworkError', errorFingerprint: 1 },
  unknown: cancelled,
};

/** Settles the permit of a call that never began. */
export function giveBack(runtime: Runtime, site: CallSite, permit: Permit): void {
  settleCall(runtime, { site, permit, settled: false }, givenBack);
}
