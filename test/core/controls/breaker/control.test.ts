/** The breaker as one control among others: which events move it, and which do not. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Action, Outcome, Permit } from '../../../../src/core/action.ts';
import { breaker } from '../../../../src/core/controls/breaker/control.ts';
import type { BreakerState } from '../../../../src/core/controls/breaker/state.ts';
import type { ControlEvent } from '../../../../src/core/event.ts';
import { allow, type Stop } from '../../../../src/core/verdict.ts';
import { failure, settingsOf } from './breaker-story.ts';

const action = (id: number): Action => ({
  id,
  kind: 'tool',
  name: 'search',
  agent: 'Researcher',
  session: 's',
  fingerprint: 0,
  worstMicros: 0,
  worstTokens: 0,
  patienceMs: 0,
});

const stop = (control: string): Stop => ({ kind: 'deny', code: 'circuit_open', control, counters: {} });

function running(said: Parameters<typeof settingsOf>[0]) {
  const control = breaker(settingsOf(said));
  let state: BreakerState = control.initial(0);
  let ids = 0;
  const apply = (event: ControlEvent) => {
    state = control.apply(state, event, 'self');
    return state;
  };
  return {
    control,
    apply,
    judge: (atMs: number) => control.judge(state, { type: 'action-proposed', atMs, action: action(0) }, 'self'),
    begin(atMs: number): Permit {
      const next = action(++ids);
      apply({ type: 'action-decided', atMs, action: next, verdict: allow });
      return { action: next, atMs, generation: state.generation, probe: state.probes.some(({ id }) => id === ids) };
    },
    end: (permit: Permit, outcome: Outcome, atMs: number, stillRuns?: boolean) =>
      apply({ type: 'action-settled', atMs, permit, outcome, ...(stillRuns === undefined ? {} : { stillRuns }) }),
    get state() {
      return state;
    },
  };
}

test('the breaker control is named breaker and has one state per target', () => {
  const { control, state } = running({});
  assert.deepEqual([control.name, control.scope], ['breaker', 'target']);
  assert.equal(state.phase, 'closed');
});

test('allowed and settled calls move the breaker through its phases', () => {
  const run = running({ failureThreshold: 1, successThreshold: 1 });
  run.end(run.begin(0), failure(), 0);
  assert.equal(run.state.phase, 'open');
  const verdict = run.judge(1);
  assert.equal(verdict.kind === 'deny' && verdict.retryAtMs, 60_000);
  const probe = run.begin(60_000);
  assert.ok(probe.probe);
  run.end(probe, { kind: 'success' }, 60_001);
  assert.equal(run.state.phase, 'closed');
  assert.equal(run.judge(60_001), allow);
});

test('the breaker counts only its own refusals, not those of other controls', () => {
  const run = running({});
  run.apply({ type: 'action-decided', atMs: 0, action: action(1), verdict: stop('budget') });
  assert.deepEqual([run.state.requests, run.state.refused], [0, 0]);
  run.apply({ type: 'action-decided', atMs: 0, action: action(2), verdict: stop('breaker') });
  assert.deepEqual([run.state.requests, run.state.refused, run.state.inFlight], [1, 1, 0]);
});

test('an abandoned call keeps its slot until its work ends', () => {
  const run = running({ maxConcurrent: 1 });
  const permit = run.begin(0);
  run.end(permit, failure(), 5, true);
  assert.equal(run.state.inFlight, 1);
  assert.equal(run.judge(6).kind, 'deny');
  run.apply({ type: 'work-ended', atMs: 7, permit });
  assert.equal(run.state.inFlight, 0);
  assert.equal(run.state.failures, 1);
});

test('renewing a permit extends the lease of its probe', () => {
  const run = running({ failureThreshold: 1 });
  run.end(run.begin(0), failure(), 0);
  const probe = run.begin(60_000);
  run.apply({ type: 'permit-renewed', atMs: 70_000, permit: probe });
  assert.deepEqual(run.state.probes, [{ id: 2, endMs: 85_000 }]);
});

test('stopping and resuming a task does not change the breaker', () => {
  const run = running({});
  const before = structuredClone(run.state);
  run.apply({ type: 'task-stopped', atMs: 5 });
  run.apply({ type: 'task-resumed', atMs: 6 });
  assert.deepEqual(run.state, before);
});
