import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  checkCircuitBreaker,
  delegationBreaker,
  MAX_DELEGATION_FAILURES,
  recordDelegationFailure,
} from '../../src/compat/delegation.ts';

const quiet = () => {};

test('recording a failure returns an update and leaves the state unchanged', () => {
  const state = Object.freeze({ messages: [], delegation_failures: Object.freeze({ visualization: 1 }) });
  const update = recordDelegationFailure(state, 'chef_team', 'I cannot', quiet);
  assert.deepEqual(update, { delegation_failures: { visualization: 1, chef_team: 1 } });
  assert.deepEqual(recordDelegationFailure({}, 'chef_team', 'I cannot', quiet), {
    delegation_failures: { chef_team: 1 },
  });
});

test('delegation to a worker is allowed until the failures of the worker reach the limit', () => {
  assert.equal(MAX_DELEGATION_FAILURES, 2);
  const once = recordDelegationFailure({}, 'chef_team', 'no', quiet);
  assert.deepEqual(checkCircuitBreaker(once, 'chef_team'), [true, '']);
  const twice = recordDelegationFailure(once, 'chef_team', 'no', quiet);
  assert.deepEqual(checkCircuitBreaker(twice, 'chef_team'), [
    false,
    'CIRCUIT BREAKER: chef_team has failed 2 times (limit: 2)',
  ]);
  assert.deepEqual(checkCircuitBreaker(twice, 'baker'), [true, '']);
  assert.deepEqual(checkCircuitBreaker(twice, 'chef_team', 3), [true, '']);
});

test('each failure logs two lines, and the trip logs a third line', () => {
  const lines: string[] = [];
  const once = recordDelegationFailure({}, 'chef_team', 'I cannot', (line) => lines.push(line));
  assert.deepEqual(lines, [
    '\u26a0\ufe0f  DELEGATION FAILURE: chef_team failed (attempt #1, limit: 2)',
    '   Reason: I cannot',
  ]);
  recordDelegationFailure(once, 'chef_team', 'I cannot', (line) => lines.push(line));
  assert.equal(lines.length, 5);
  assert.equal(lines[4], '\u{1f534} CIRCUIT BREAKER: chef_team has failed 2 times (limit: 2). Stopping delegation.');
});

test('both functions and their log lines use a limit of 1 or 3', () => {
  for (const maxFailures of [1, 3]) {
    const lines: string[] = [];
    const breaker = delegationBreaker({ maxFailures, log: (line) => lines.push(line) });
    let state = {};
    for (let i = 0; i < maxFailures; i++) {
      assert.equal(breaker.checkCircuitBreaker(state, 'w')[0], true, `${i} of ${maxFailures}`);
      state = breaker.recordDelegationFailure(state, 'w', 'no');
    }
    const [mayDelegate, reason] = breaker.checkCircuitBreaker(state, 'w');
    assert.equal(mayDelegate, false);
    assert.match(reason, new RegExp(`limit: ${maxFailures}\\)$`));
    assert.equal(lines.filter((line) => line.includes('Stopping')).length, 1);
  }
});

test('delegationBreaker rejects an invalid limit, and checkCircuitBreaker uses the default limit', () => {
  for (const bad of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.throws(() => delegationBreaker({ maxFailures: bad }), {
      code: 'invalid_limit',
      message: new RegExp(`got ${bad}$`),
    });
    assert.equal(checkCircuitBreaker({ delegation_failures: { w: 2 } }, 'w', bad)[0], false, String(bad));
    assert.equal(checkCircuitBreaker({ delegation_failures: { w: 1 } }, 'w', bad)[0], true, String(bad));
  }
});

test('a state without failure counts has zero failures', () => {
  for (const state of [undefined, null, {}, { delegation_failures: null }]) {
    assert.deepEqual(checkCircuitBreaker(state as never, 'w'), [true, '']);
    assert.deepEqual(recordDelegationFailure(state as never, 'w', '', quiet), { delegation_failures: { w: 1 } });
  }
});

test('D4: a count that came back as text is read, and one that cannot be read refuses the worker', () => {
  const stored = { delegation_failures: { w: '2' } } as never;
  assert.equal(checkCircuitBreaker(stored, 'w')[0], false);
  assert.deepEqual(recordDelegationFailure(stored, 'w', '', quiet), { delegation_failures: { w: 3 } });
  const unreadable = [{ w: Number.NaN }, { w: -1 }, { w: {} }, { w: 'two' }, { w: true }, 'a text', ['w'], 5];
  for (const counts of unreadable) {
    const state = { delegation_failures: counts } as never;
    assert.deepEqual(checkCircuitBreaker(state, 'w'), [false, 'CIRCUIT BREAKER: delegation_failures cannot be read']);
    const recorded = recordDelegationFailure(state, 'w', '', quiet);
    assert.equal(checkCircuitBreaker(recorded, 'w')[0], false, JSON.stringify(counts));
  }
  assert.equal(checkCircuitBreaker({ delegation_failures: { other: 'two' } } as never, 'w')[0], true);
});

test('the name of a worker may be any string', () => {
  const once = recordDelegationFailure({}, '__proto__', 'no', quiet);
  const twice = recordDelegationFailure(once, '__proto__', 'no', quiet);
  assert.equal(checkCircuitBreaker(twice, '__proto__')[0], false);
  assert.equal(checkCircuitBreaker({}, 'constructor')[0], true);
  assert.equal(checkCircuitBreaker({}, null as never)[0], true);
});

test('with unreadable state the check refuses, a failure is still recorded, and neither function throws', () => {
  const hostile = {
    get delegation_failures(): never {
      throw new Error('hostile');
    },
  };
  assert.deepEqual(checkCircuitBreaker(hostile, 'w'), [false, 'CIRCUIT BREAKER: delegation_failures cannot be read']);
  assert.deepEqual(recordDelegationFailure(hostile, 'w', 'no', quiet), { delegation_failures: { w: 2 } });
});

test('a log function that throws does not prevent the count of the failure', () => {
  const update = recordDelegationFailure({}, 'w', 'no', () => {
    throw new Error('disk full');
  });
  assert.deepEqual(update, { delegation_failures: { w: 1 } });
});
