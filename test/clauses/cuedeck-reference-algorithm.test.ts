/** The C clauses about the reference algorithm and the error it hands to the agent. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCircuitBreaker, OperationFailed } from '../../src/compat/index.ts';
import { refusalOf } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';
import { type Act, attempt, came, fail, ok, stage, tell, trip } from './guarded-tool-story.ts';

/** A breaker as in the reference algorithm, on a clock that stands still. */
function reference(threshold: number, seconds: number) {
  const clock = simulatedClock();
  const breaker = createCircuitBreaker(threshold, seconds, { clock, log: 'silent' });
  const seen = async (act: Act) => `${await came(() => breaker.call(act))} -> ${breaker.state} ${breaker.failures}`;
  return { clock, breaker, seen };
}

test('C17: a breaker is created from a threshold and a timeout in seconds', async () => {
  const { clock, breaker, seen } = reference(2, 10);
  assert.equal(await seen(fail), 'failed -> CLOSED 1');
  assert.equal(await seen(fail), 'failed -> OPEN 2');
  clock.advance(9_999);
  assert.equal(breaker.state, 'OPEN');
  clock.advance(1);
  assert.equal(breaker.state, 'HALF_OPEN');
});

test('C18: the operation runs outside any lock: it may call the same breaker, and calls overlap', async () => {
  const { breaker } = reference(3, 10);
  const inner: unknown[] = [];
  const outer = breaker.call(() => {
    inner.push(breaker.call(() => 'inside'));
    for (let call = 0; call < 3; call++) {
      try {
        breaker.call(fail);
      } catch {
        inner.push(breaker.state);
      }
    }
    return 'outside';
  });
  assert.equal(outer, 'outside');
  assert.deepEqual(inner, ['inside', 'CLOSED', 'CLOSED', 'OPEN']);
  assert.equal(breaker.state, 'OPEN', 'what began before it opened does not close it');
});

test('C19: an open breaker runs no operation before the timeout; then it is half-open and runs it', async () => {
  const { clock, breaker } = reference(1, 10);
  let runs = 0;
  const operation = () => {
    runs++;
    return 'ok';
  };
  await attempt(() => breaker.call(fail));
  clock.advance(5_000);
  assert.equal(await came(() => breaker.call(operation)), 'threw circuit_open');
  assert.equal(runs, 0);
  clock.advance(5_000);
  assert.equal(await came(() => breaker.call(() => `${breaker.state} ${operation()}`)), 'HALF_OPEN ok');
  assert.equal(runs, 1);
});

test('C20: an elapsed time exactly equal to the timeout is enough', async () => {
  const { clock, seen } = reference(1, 30);
  await seen(fail);
  clock.advance(29_999);
  assert.equal(await seen(ok), 'threw circuit_open -> OPEN 1');
  clock.advance(1);
  assert.equal(await seen(ok), 'ok -> CLOSED 0');
});

test('C21: a success sets the count to 0, so only failures in a row trip, and closes a half-open breaker', async () => {
  const { clock, seen } = reference(3, 30);
  const story = [fail, fail, ok, fail, fail, fail];
  const wanted = [
    'failed -> CLOSED 1',
    'failed -> CLOSED 2',
    'ok -> CLOSED 0',
    'failed -> CLOSED 1',
    'failed -> CLOSED 2',
    'failed -> OPEN 3',
  ];
  for (const [index, act] of story.entries()) assert.equal(await seen(act), wanted[index]);
  clock.advance(30_000);
  assert.equal(await seen(ok), 'ok -> CLOSED 0');
});

test('C22: a failure adds one, and from the threshold on the breaker is open with a fresh timeout', async () => {
  const { clock, seen, breaker } = reference(2, 30);
  assert.equal(await seen(fail), 'failed -> CLOSED 1');
  clock.advance(1_000_000);
  assert.equal(await seen(fail), 'failed -> OPEN 2');
  clock.advance(29_999);
  assert.equal(breaker.state, 'OPEN');
  clock.advance(1);
  assert.equal(await seen(fail), 'failed -> OPEN 3');
  clock.advance(29_999);
  assert.equal(breaker.state, 'OPEN');
});

test('C23: a rejected call and a failed operation are two kinds of error, the second with its cause', async () => {
  const { breaker } = reference(1, 30);
  const cause = new Error('the disk is full');
  const failed = await attempt(() =>
    breaker.call(async () => {
      throw cause;
    }),
  );
  assert.ok(failed.error instanceof OperationFailed);
  assert.equal(failed.error.cause, cause);
  assert.equal(refusalOf(failed.error), undefined);
  const rejected = await attempt(() => breaker.call(ok));
  assert.equal(rejected.error instanceof OperationFailed, false);
  assert.equal(refusalOf(rejected.error)?.code, 'circuit_open');
});

test('C24: the thrown error contains the words that the prompt refers to', async () => {
  const tool = stage({ preset: 'cuedeck' }).tool('search');
  await tell(tool, trip);
  const { error } = await attempt(() => tool.call(ok));
  const { name, message } = (error ?? {}) as Partial<Error>;
  assert.equal(name, 'CircuitBreakerOpen');
  assert.match(String(message), /^Error: CircuitBreakerOpen \(System Paused\)/);
  assert.match(String(message), /'search'/);
  const { error: alone } = await attempt(() => reference(1, 30).breaker.call(fail));
  assert.doesNotMatch(String(alone), /CircuitBreakerOpen/, 'an operation that failed does not carry them');
});
