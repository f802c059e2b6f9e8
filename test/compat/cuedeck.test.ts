import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCircuitBreaker, OperationFailed } from '../../src/compat/cuedeck.ts';
import { refusalOf } from '../../src/core/refusal.ts';
import { simulatedClock } from '../../src/testing/simulated-clock.ts';

const fail = () => {
  throw new Error('down');
};

function breakerOf(threshold: number, seconds: number) {
  const clock = simulatedClock();
  return { clock, breaker: createCircuitBreaker(threshold, seconds, { clock, log: 'silent', name: 'disk' }) };
}

test('a refusal of a synchronous call is thrown, also after asynchronous calls', async () => {
  const { breaker } = breakerOf(1, 30);
  assert.equal(await breaker.call(async () => 'ok'), 'ok');
  await assert.rejects(
    breaker.call(async () => fail()),
    OperationFailed,
  );
  assert.throws(() => breaker.call(() => 'ok'), { name: 'CircuitBreakerOpen' });
});

test('a refusal by another breaker inside the operation counts as a failure', () => {
  const inner = breakerOf(1, 30).breaker;
  const { breaker } = breakerOf(2, 30);
  assert.throws(() => inner.call(fail), OperationFailed);
  let seen: unknown;
  try {
    breaker.call(() => inner.call(() => 'ok'));
  } catch (error) {
    seen = error;
  }
  assert.ok(seen instanceof OperationFailed);
  assert.equal(refusalOf(seen.cause)?.code, 'circuit_open');
  assert.equal(breaker.failures, 1);
});

test('an operation has no time limit, also as a probe', async () => {
  const { breaker, clock } = breakerOf(1, 30);
  assert.throws(() => breaker.call(fail), OperationFailed);
  clock.advance(30_000);
  let end: (value: string) => void = () => {};
  const probe = breaker.call(
    () =>
      new Promise<string>((resolve) => {
        end = resolve;
      }),
  );
  await clock.elapse(300_000);
  assert.equal(breaker.state, 'HALF_OPEN');
  end('ok');
  assert.equal(await probe, 'ok');
  assert.equal(breaker.state, 'CLOSED');
});

test('reset closes the breaker, and the constructor rejects invalid numbers', () => {
  const { breaker } = breakerOf(1, 30);
  assert.throws(() => breaker.call(fail), OperationFailed);
  breaker.reset();
  assert.deepEqual([breaker.state, breaker.failures, breaker.call(() => 7)], ['CLOSED', 0, 7]);
  assert.throws(() => createCircuitBreaker(0, 30), /failure_threshold.*got 0/);
  assert.throws(() => createCircuitBreaker(5, Number.NaN), /recovery_timeout_secs/);
});
