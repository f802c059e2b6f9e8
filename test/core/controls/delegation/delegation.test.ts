import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Action, Outcome } from '../../../../src/core/action.ts';
import type { Control } from '../../../../src/core/control.ts';
import {
  type DelegationState,
  delegation,
  failuresOf,
  isCounted,
  mayDelegate,
  recordFailure,
} from '../../../../src/core/controls/delegation/delegation.ts';
import type { ControlEvent } from '../../../../src/core/event.ts';
import { workersMax } from '../../../../src/core/limits.ts';
import type { DelegationSettings } from '../../../../src/core/settings.ts';
import { allow, type Stop } from '../../../../src/core/verdict.ts';

const settings: DelegationSettings = {
  maxFailures: 2,
  workerLimits: {},
  onTrip: 'halt',
  onFailure: 'retry',
  backoff: false,
  tools: false,
  phrases: true,
  phraseMatch: 'reported',
  alternatives: {},
};

const action = (name: string, kind: Action['kind'] = 'delegation'): Action => ({
  id: 1,
  kind,
  name,
  agent: 'supervisor',
  session: 's',
  fingerprint: 0,
  worstMicros: 0,
  worstTokens: 0,
  patienceMs: 0,
});

/** One worker's cell, and what is done to it; `judge` is shown to leave the state alone. */
function cell(change: Partial<DelegationSettings> = {}, worker = 'chef_team', kind: Action['kind'] = 'delegation') {
  const control: Control<DelegationState> = delegation({ ...settings, ...change });
  let state = control.initial(0);
  const apply = (event: ControlEvent) => {
    state = JSON.parse(JSON.stringify(control.apply(state, event, 'self')));
  };
  return {
    state: () => state,
    returned: (failed: boolean, atMs = 0, reason = failed ? 'I cannot' : '') =>
      apply({ type: 'delegation-returned', atMs, worker, failed, reason }),
    settled: (outcome: Outcome, atMs = 0) =>
      apply({
        type: 'action-settled',
        atMs,
        permit: { action: action(worker, kind), atMs, generation: 0, probe: false },
        outcome,
      }),
    admitted: (atMs = 0) => apply({ type: 'action-decided', atMs, action: action(worker, kind), verdict: allow }),
    judge(atMs = 0) {
      const before = JSON.stringify(state);
      const verdict = control.judge(state, { type: 'action-proposed', atMs, action: action(worker, kind) }, 'self');
      assert.equal(JSON.stringify(state), before);
      return verdict;
    },
    check: (atMs = 0) => control.check!(state, atMs),
    gauges: (atMs = 0) => control.gauges!(state, atMs),
  };
}

const failure: Outcome = { kind: 'failure', error: 'NetworkError', errorFingerprint: 0 };

test('the first failure allows a retry, and the second failure ends the root before a third attempt', () => {
  const chef = cell();
  assert.equal(chef.judge(), allow);
  chef.returned(true);
  assert.equal(chef.judge(), allow);
  assert.equal(chef.check(), allow);
  chef.returned(true);
  const halt: Stop = {
    kind: 'halt',
    code: 'delegation_limit',
    control: 'delegation',
    counters: { worker: 'chef_team', actual: 2, limit: 2 },
    ends: 'root',
  };
  assert.deepEqual(chef.check(), halt);
  assert.deepEqual(chef.judge(), halt);
});

test('limits of 1 and 3 trip at 1 and 3 failures, and a worker may have its own limit', () => {
  for (const [change, trips] of [
    [{ maxFailures: 1 }, 1],
    [{ maxFailures: 3 }, 3],
    [{ workerLimits: { chef_team: 4 } }, 4],
    [{ workerLimits: { baker: 1 } }, 2],
  ] as const) {
    const chef = cell(change);
    for (let i = 1; i < trips; i++) {
      chef.returned(true);
      assert.equal(chef.judge(), allow, `${i} of ${trips}`);
    }
    chef.returned(true);
    assert.equal(chef.judge().kind, 'halt');
  }
});

test('a success does not reset the failures of a worker', () => {
  const worker = cell();
  worker.returned(true);
  worker.returned(false);
  assert.equal(worker.state().failures, 1);
  assert.equal(worker.judge(), allow);
  worker.returned(true);
  assert.equal(worker.judge().kind, 'halt');
});

test('with onTrip deny only calls to the failing worker are refused, and the refusal names an alternative', () => {
  const chef = cell({ onTrip: 'deny', alternatives: { chef_team: 'caterer' } });
  chef.returned(true);
  chef.returned(true);
  assert.equal(chef.check(), allow);
  const verdict = chef.judge() as Stop;
  assert.equal(verdict.kind, 'deny');
  assert.equal(verdict.ends, undefined);
  assert.equal(verdict.retryAtMs, undefined);
  assert.deepEqual(verdict.counters, { worker: 'chef_team', actual: 2, limit: 2, alternative: 'caterer' });
});

test('backoff waits 2, then 4 seconds after failures', () => {
  const chef = cell({ backoff: true, maxFailures: 3 });
  chef.returned(true, 1_000);
  assert.deepEqual(chef.judge(2_999), {
    kind: 'wait',
    code: 'delegation_limit',
    control: 'delegation',
    counters: { worker: 'chef_team', actual: 1, limit: 3 },
    retryAtMs: 3_000,
  });
  assert.equal(chef.judge(3_000), allow);
  chef.returned(true, 5_000);
  assert.equal((chef.judge(8_999) as Stop).retryAtMs, 9_000);
  assert.equal(chef.judge(9_000), allow);
});

test('failures are cleared when the last failure is older than resetAfterSecs, not at exactly that age', () => {
  const chef = cell({ resetAfterSecs: 60, onTrip: 'deny' });
  chef.returned(true, 0);
  chef.returned(true, 10_000);
  assert.equal(chef.judge(70_000).kind, 'deny');
  assert.equal((chef.judge(70_000) as Stop).retryAtMs, 70_001);
  assert.equal(chef.judge(70_001), allow);
  assert.deepEqual(chef.gauges(70_001), []);
  chef.returned(true, 70_001);
  assert.equal(chef.state().failures, 1);
});

test('without a reset time failures never expire', () => {
  const chef = cell();
  chef.returned(true, 0);
  chef.returned(true, 1);
  assert.equal(chef.judge(1e12).kind, 'halt');
  assert.equal(chef.check(1e12).kind, 'halt');
});

test('onFailure end stops the run at once, and a later run may try again', () => {
  const chef = cell({ onFailure: 'end' });
  chef.returned(true);
  assert.deepEqual((chef.check() as Stop).counters, { worker: 'chef_team', actual: 1, limit: 2 });
  assert.equal((chef.check() as Stop).ends, 'root');
  assert.equal(chef.judge(), allow);
  chef.admitted();
  assert.equal(chef.check(), allow);
  chef.returned(true);
  assert.equal(chef.judge().kind, 'halt');
});

test('tools are counted only if the settings say so', () => {
  assert.ok(isCounted(settings, action('chef_team')));
  assert.ok(!isCounted(settings, action('search', 'tool')));
  assert.ok(isCounted({ ...settings, tools: true }, action('search', 'tool')));
  assert.ok(isCounted({ ...settings, workerLimits: { search: 3 } }, action('search', 'tool')));
  assert.ok(!isCounted({ ...settings, workerLimits: { search: 3 } }, action('read', 'tool')));
  assert.ok(!isCounted({ ...settings, tools: true }, action('gpt', 'model')));
  assert.ok(!isCounted(settings, action('constructor', 'tool')));
});

test('a counted tool fails only by a settlement with a failure', () => {
  const search = cell({ tools: true }, 'search', 'tool');
  search.settled(failure);
  search.settled({ kind: 'neutral', why: 'cancelled' });
  search.settled({ kind: 'success' });
  assert.equal(search.judge(), allow);
  search.settled(failure);
  assert.equal(search.judge().kind, 'halt');

  const uncounted = cell({}, 'search', 'tool');
  uncounted.settled(failure);
  assert.equal(uncounted.state().failures, 0);
});

test('a delegation counts once: on its return if the settlement is neutral, otherwise on its settlement', () => {
  const chef = cell();
  chef.returned(true);
  chef.settled({ kind: 'neutral', why: 'cancelled' });
  assert.equal(chef.state().failures, 1);
  const ran = cell();
  ran.settled(failure);
  assert.equal(ran.state().failures, 1);
});

test('the halt contains a hint if all failures have the same cause', () => {
  const chef = cell();
  chef.returned(true, 0, 'Neo4j connection timeout');
  chef.returned(true, 0, 'Neo4j connection timeout');
  assert.equal((chef.check() as Stop).counters.hint, 'Database may be down.');
  const mixed = cell();
  mixed.returned(true, 0, 'I cannot');
  mixed.returned(true, 0, 'Neo4j connection timeout');
  assert.equal((mixed.check() as Stop).counters.hint, undefined);
});

test('the state keeps a reason of bounded length, and the gauge reports failures and limit', () => {
  const chef = cell();
  assert.deepEqual(chef.gauges(), []);
  chef.returned(true, 5, 'x'.repeat(10_000));
  assert.equal(chef.state().lastReason.length, 200);
  assert.equal(chef.state().lastFailureAtMs, 5);
  assert.deepEqual(chef.gauges(), [{ name: 'delegation_failures:chef_team', actual: 1, limit: 2 }]);
});

test('recordFailure returns a new map and counts each worker separately', () => {
  const before = Object.freeze({ chef_team: 1 });
  const after = recordFailure(before, 'visualization');
  assert.deepEqual(after, { chef_team: 1, visualization: 1 });
  assert.deepEqual(before, { chef_team: 1 });
  assert.ok(mayDelegate(after, 'chef_team', 2));
  const tripped = recordFailure(after, 'chef_team');
  assert.ok(!mayDelegate(tripped, 'chef_team', 2));
  assert.ok(mayDelegate(tripped, 'visualization', 2));
  assert.ok(mayDelegate(tripped, 'unheard_of', 2));
});

test('workers named like properties of Object.prototype are counted like other workers', () => {
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    assert.ok(mayDelegate({}, name, 1), name);
    const counts = recordFailure(recordFailure({}, name), name);
    assert.equal(failuresOf(counts, name), 2, name);
    assert.equal(Object.getPrototypeOf(counts), Object.prototype, name);
    assert.equal(failuresOf(JSON.parse(JSON.stringify(counts)), name), 2, name);
  }
});

test('a count may be a text of digits; one that cannot be read is above every limit', () => {
  for (const value of [Number.NaN, -3, 'two', {}]) {
    assert.ok(!mayDelegate({ w: value } as never, 'w', 1_000), String(value));
    assert.ok(!mayDelegate(recordFailure({ w: value } as never, 'w'), 'w', 1_000), String(value));
  }
  assert.equal(failuresOf({ w: '2' } as never, 'w'), 2);
  assert.equal(failuresOf({ w: null } as never, 'w'), 0);
  assert.ok(!mayDelegate({ w: Number.POSITIVE_INFINITY }, 'w', 2));
});

test('a full map drops a worker with the fewest failures, never the worker that just failed', () => {
  let counts = recordFailure(recordFailure({}, 'first'), 'first');
  for (let i = 0; i < workersMax; i++) counts = recordFailure(counts, `w${i}`);
  assert.equal(Object.keys(counts).length, workersMax);
  assert.equal(counts.first, 2);
  assert.equal(counts[`w${workersMax - 1}`], 1);
});

test('the delegation control has one state per worker and starts without failures', () => {
  const control = delegation(settings);
  assert.deepEqual([control.name, control.scope], ['delegation', 'target']);
  const nothing = { worker: '', failures: 0, lastFailureAtMs: 0, lastReason: '', hint: '', failedLast: false };
  assert.deepEqual(control.initial(9), nothing);
});

test('an action that is not counted is allowed, even if a worker of the same name failed too often', () => {
  const chef = cell();
  chef.returned(true);
  chef.returned(true);
  const proposal = { type: 'action-proposed', atMs: 0, action: action('chef_team', 'tool') } as const;
  assert.equal(delegation(settings).judge(chef.state(), proposal, 'self'), allow);
});

test('a success clears failedLast and keeps the count of failures', () => {
  const chef = cell();
  chef.returned(true);
  assert.equal(chef.state().failedLast, true);
  chef.returned(false);
  assert.deepEqual([chef.state().failedLast, chef.state().failures], [false, 1]);
});

test('only an allowed delegation clears failedLast, not a refusal or a tool of the same name', () => {
  const control = delegation(settings);
  const failedOnce = () =>
    control.apply(
      control.initial(0),
      { type: 'delegation-returned', atMs: 0, worker: 'chef', failed: true, reason: 'no' },
      'self',
    );
  const deny: Stop = { kind: 'deny', code: 'circuit_open', control: 'breaker', counters: {} };
  const after = (verdict: Stop | typeof allow, kind: Action['kind'] = 'delegation') =>
    control.apply(failedOnce(), { type: 'action-decided', atMs: 0, action: action('chef', kind), verdict }, 'self');
  assert.equal(after(deny).failedLast, true);
  assert.equal(after(allow, 'tool').failedLast, true);
  assert.equal(after(allow).failedLast, false);
});
