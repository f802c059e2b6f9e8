/** Every way in which calls can overlap, checked; and faults planted on purpose, each of them found. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordSettlement } from '../../../../src/core/controls/breaker/breaker.ts';
import { openBreaker, resetBreaker, waitMs } from '../../../../src/core/controls/breaker/phases.ts';
import { exportBreaker, importBreaker } from '../../../../src/core/controls/breaker/saved.ts';
import type { BreakerSettings } from '../../../../src/core/settings.ts';
import { allow } from '../../../../src/core/verdict.ts';
import { settingsOf } from './breaker-story.ts';
import { explore, type Machine, machine, type Plan, Violation } from './interleaving-explorer.ts';

/** Everything short, so that the worlds are few: two failures open, for two seconds; a lease lasts two. */
const small: Partial<BreakerSettings> = {
  failureThreshold: 2,
  successThreshold: 2,
  recoveryTimeoutSecs: 2,
  leaseSecs: 2,
  rateWindow: 'calls',
  windowCalls: 1,
};

const inFive = (said: Partial<BreakerSettings> = {}): Plan => ({
  settings: settingsOf({ ...small, ...said }),
  overlap: 5,
});

const plans: Readonly<Record<string, Plan>> = {
  'one permit': inFive(),
  'two permits': inFive({ halfOpenPermits: 2 }),
  'two permits and six calls': { ...inFive({ halfOpenPermits: 2 }), overlap: 6 },
  'one permit, an expired lease is neutral': inFive({ leaseExpiry: 'neutral' }),
  'two permits, an expired lease is neutral': inFive({ halfOpenPermits: 2, leaseExpiry: 'neutral' }),
  'a longer lease than wait, three permits': inFive({ halfOpenPermits: 3, leaseSecs: 3, recoveryTimeoutSecs: 1 }),
  'cumulative counting': inFive({ trip: 'cumulative', halfOpenPermits: 2 }),
  'a window of three calls': inFive({ trip: 'count_window', windowCalls: 3 }),
  'a window of six seconds': inFive({ trip: 'time_window', monitorWindowSecs: 6, halfOpenPermits: 2 }),
  'a clock that steps back, too': { ...inFive({ halfOpenPermits: 2 }), backwards: true },
  'three of everything and eight calls': {
    ...inFive({
      failureThreshold: 3,
      successThreshold: 3,
      halfOpenPermits: 3,
      recoveryTimeoutSecs: 3,
      leaseSecs: 3,
    }),
    overlap: 8,
  },
  'slow calls': {
    ...inFive({ slowCallSecs: 8, minimumCalls: 2, windowCalls: 2, recoveryTimeoutSecs: 1, leaseSecs: 1 }),
    overlap: 3,
  },
};

const phases = ['closed', 'open', 'half-open', 'closed held', 'open held', 'half-open held'];
const answers = [
  'admitted while closed',
  'admitted while half-open as a probe',
  'refused while closed',
  'refused while open',
  'refused while half-open',
];

for (const [name, plan] of Object.entries(plans)) {
  test(`no interleaving breaks an invariant: ${name}`, (context) => {
    const { worlds, steps, reached } = explore(plan);
    context.diagnostic(`${name}: ${worlds} worlds, ${steps} steps, up to ${plan.overlap} calls at once`);
    for (const seen of [...phases, ...answers]) assert.ok(reached.has(seen), `${seen} was reached`);
    assert.ok(worlds > 300, `${worlds} worlds are too few to have looked at anything`);
  });
}

interface Fault {
  /** The invariants that may notice it first. */
  readonly breaks: readonly number[];
  readonly plan?: Plan;
  readonly machine: Partial<Machine>;
}

const faults: Readonly<Record<string, Fault>> = {
  'results of any generation count': {
    breaks: [2],
    machine: {
      settle: (state, settings, admitted, outcome, atMs, stillRuns) =>
        recordSettlement(state, settings, { ...admitted, generation: state.generation }, outcome, atMs, stillRuns),
    },
  },
  'a late success closes': {
    breaks: [2],
    machine: {
      settle(state, settings, admitted, outcome, atMs, stillRuns) {
        const late = admitted.generation !== state.generation;
        recordSettlement(state, settings, admitted, outcome, atMs, stillRuns);
        if (late && outcome.kind === 'success' && state.phase === 'half-open') {
          state.phase = 'closed';
          state.generation++;
        }
      },
    },
  },
  'a straggler extends the open period': {
    breaks: [2],
    machine: {
      settle(state, settings, admitted, outcome, atMs, stillRuns) {
        const wasOpen = state.phase === 'open';
        recordSettlement(state, settings, admitted, outcome, atMs, stillRuns);
        if (wasOpen && outcome.kind === 'failure') state.openUntilMs = atMs + waitMs(state, settings);
      },
    },
  },
  'a permit never expires': {
    breaks: [4],
    machine: {
      admit(state, settings, id, atMs) {
        const admitted = machine.admit(state, settings, id, atMs);
        state.probes = state.probes.map((probe) => ({ ...probe, endMs: atMs + 1e9 }));
        return admitted;
      },
    },
  },
  'an expired lease can be renewed for ever by nobody': {
    breaks: [4],
    machine: {
      countRefusal(state, settings, atMs) {
        for (const probe of state.probes) probe.endMs = Math.max(probe.endMs, atMs + 1);
        machine.countRefusal(state, settings, atMs);
      },
      judge: (state, settings, atMs) =>
        state.phase === 'half-open' && state.probes.length >= settings.halfOpenPermits
          ? { kind: 'deny', code: 'circuit_open', control: 'breaker', counters: {} }
          : machine.judge(state, settings, atMs),
    },
  },
  'a permit settled twice counts twice': { breaks: [3], machine: { settlesTwice: true } },
  'a herd passes while half-open': {
    breaks: [1],
    machine: {
      judge: (state, settings, atMs) =>
        state.phase === 'half-open' && state.heldAtMs < 0 ? allow : machine.judge(state, settings, atMs),
    },
  },
  'one permit too many': {
    breaks: [1],
    machine: {
      judge: (state, settings, atMs) => machine.judge(state, { ...settings, halfOpenPermits: 3 }, atMs),
      admit: (state, settings, id, atMs) => machine.admit(state, { ...settings, halfOpenPermits: 3 }, id, atMs),
    },
  },
  'a neutral probe keeps its permit': {
    breaks: [3],
    machine: {
      settle(state, settings, admitted, outcome, atMs, stillRuns) {
        const { probes } = state;
        const kept = probes.slice();
        recordSettlement(state, settings, admitted, outcome, atMs, stillRuns);
        if (outcome.kind === 'neutral') state.probes = kept;
      },
    },
  },
  'a cancelled call counts as a failure': {
    breaks: [2],
    machine: {
      settle: (state, settings, admitted, outcome, atMs, stillRuns) =>
        recordSettlement(
          state,
          settings,
          admitted,
          outcome.kind === 'neutral' ? { kind: 'failure', error: 'x', errorFingerprint: 0 } : outcome,
          atMs,
          stillRuns,
        ),
    },
  },
  'a neutral ending counts as a success': {
    breaks: [2],
    machine: {
      settle: (state, settings, admitted, outcome, atMs, stillRuns) =>
        recordSettlement(
          state,
          settings,
          admitted,
          outcome.kind === 'neutral' ? { kind: 'success' } : outcome,
          atMs,
          stillRuns,
        ),
    },
  },
  'a timeout gives the slot back while the work still runs': {
    breaks: [3],
    machine: {
      settle: (state, settings, admitted, outcome, atMs) => recordSettlement(state, settings, admitted, outcome, atMs),
    },
  },
  'a refusal counts as a failure': {
    breaks: [3],
    machine: {
      countRefusal(state, settings, atMs) {
        machine.countRefusal(state, settings, atMs);
        state.failures++;
      },
    },
  },
  'a refused call restarts the wait': {
    breaks: [4],
    machine: {
      countRefusal(state, settings, atMs) {
        machine.countRefusal(state, settings, atMs);
        if (state.phase === 'open') state.openUntilMs = atMs + 9_000;
      },
    },
  },
  'releasing a hold forgets that it was open': {
    breaks: [2],
    machine: {
      release: (state) => {
        state.heldAtMs = -1;
        resetBreaker(state);
      },
    },
  },
  'a hold does not hold': {
    breaks: [3],
    machine: { judge: (state, settings, atMs) => machine.judge({ ...state, heldAtMs: -1 }, settings, atMs) },
  },
  'old samples go one part per call, not by age': {
    breaks: [5],
    plan: plans['a window of six seconds']!,
    machine: {
      settle(state, settings, admitted, outcome, atMs, stillRuns) {
        const own = state.phase === 'closed' && admitted.generation === state.generation;
        if (own) state.bucketAt = Math.max(state.bucketAt, atMs / 1_000 - 1);
        recordSettlement(state, settings, admitted, outcome, atMs, stillRuns);
      },
    },
  },
  'samples are filed under an earlier time': {
    breaks: [5],
    plan: plans['a window of six seconds']!,
    machine: {
      settle: (state, settings, admitted, outcome, atMs, stillRuns) =>
        recordSettlement(state, settings, admitted, outcome, atMs - 3_000, stillRuns),
    },
  },
  'a failed probe is forgiven': {
    breaks: [2, 3],
    machine: {
      settle(state, settings, admitted, outcome, atMs, stillRuns) {
        const forgiven = state.phase === 'half-open' && outcome.kind === 'failure';
        recordSettlement(state, settings, admitted, forgiven ? { kind: 'success' } : outcome, atMs, stillRuns);
      },
    },
  },
  'the time on the wall decides': {
    breaks: [6],
    machine: {
      judge: (state, settings, atMs) =>
        state.phase === 'open' && atMs > 80_000_000 ? allow : machine.judge(state, settings, atMs),
    },
  },
  'a saved breaker starts its wait again': {
    breaks: [8],
    machine: {
      load(saved, settings, atMs) {
        const state = importBreaker(saved, settings, atMs);
        if (state.phase === 'open') openBreaker(state, settings, atMs, 'again');
        return state;
      },
    },
  },
  'a saved breaker forgets its failures': {
    breaks: [8],
    plan: plans['a window of three calls']!,
    machine: { save: (state, settings, atMs) => ({ ...exportBreaker(state, settings, atMs), calls: '' }) },
  },
  'a saved breaker forgets that it was held': {
    breaks: [8],
    machine: { save: (state, settings, atMs) => ({ ...exportBreaker(state, settings, atMs), held: false }) },
  },
};

for (const [name, fault] of Object.entries(faults)) {
  test(`a planted fault is found: ${name}`, (context) => {
    const plan = { ...(fault.plan ?? plans['two permits']!), overlap: 3, machine: fault.machine };
    assert.throws(
      () => explore(plan),
      (error) => {
        assert.ok(error instanceof Violation, String(error));
        context.diagnostic(error.message.split('\n')[0]!);
        assert.ok(fault.breaks.includes(error.invariant), `${error.message}`);
        return true;
      },
    );
  });
}
