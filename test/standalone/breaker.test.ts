/** The breaker alone: its calls, refusals, events and options, and what a call costs. */

import assert from 'node:assert/strict';
import { createHook } from 'node:async_hooks';
import { test } from 'node:test';
import {
  type BreakerChange,
  type BreakerOptions,
  type BreakerPermit,
  type BreakerRefusal,
  CircuitOpenError,
  createBreaker,
  restoreBreaker,
  type SavedBreaker,
  saveBreaker,
} from '../../src/breaker.ts';
import type { Outcome } from '../../src/core/action.ts';
import { promisesSettled, simulatedClock } from '../../src/testing/simulated-clock.ts';
import { stayAlive } from '../stay-alive.ts';

stayAlive();

const failed: Outcome = { kind: 'failure', error: 'ToolError', errorFingerprint: 0 };
const cancelled: Outcome = { kind: 'neutral', why: 'cancelled' };
const bad = () => {
  throw new Error('down');
};

function started(options: BreakerOptions = {}, startMs = 0, saved?: SavedBreaker) {
  const clock = simulatedClock(startMs);
  const all = { clock, name: 'search', ...options };
  const breaker = saved === undefined ? createBreaker(all) : restoreBreaker(saved, all);
  const changes: string[] = [];
  breaker.onChange(({ type }) => changes.push(type));
  return {
    clock,
    breaker,
    changes,
    /** Lets so many calls fail. */
    fail(times: number) {
      for (let time = 0; time < times; time++) assert.throws(() => breaker.execute(bad), /down/);
    },
  };
}

function permitOf(given: BreakerPermit | BreakerRefusal): BreakerPermit {
  assert.ok(!given.refused);
  return given;
}

test('a synchronous function stays synchronous, with its arguments, value and error unchanged', () => {
  const { breaker } = started();
  const sum: number = breaker.execute((a: number, b: number) => a + b, 2, 3);
  assert.equal(sum, 5);
  assert.equal(
    breaker.execute(() => undefined),
    undefined,
  );
  const error = new TypeError('mine');
  assert.throws(
    () =>
      breaker.execute(() => {
        throw error;
      }),
    (thrown) => thrown === error,
  );
  assert.deepEqual([breaker.stats.totalSuccesses, breaker.stats.totalFailures, breaker.stats.inFlight], [2, 1, 0]);
});

test('execute returns the promise of the function itself', async () => {
  const { breaker } = started();
  const promise = Promise.resolve(7);
  assert.equal(
    breaker.execute(() => promise),
    promise,
  );
  assert.equal(breaker.stats.inFlight, 1);
  assert.equal(await promise, 7);
  assert.equal(breaker.stats.inFlight, 0);
  assert.equal(breaker.stats.totalSuccesses, 1);
});

test('a rejection is counted once and reaches the caller unchanged', async () => {
  const { breaker } = started();
  const error = new Error('no');
  await assert.rejects(
    breaker.execute(() => Promise.reject(error)),
    (thrown) => thrown === error,
  );
  assert.deepEqual([breaker.stats.totalFailures, breaker.stats.countedFailures, breaker.stats.inFlight], [1, 1, 0]);
});

test('the then method of a foreign thenable is called once, in every phase and with a timeout', async () => {
  for (const options of [{}, { timeoutSecs: 5 }, { maxConcurrent: 3 }]) {
    const { breaker } = started(options);
    let asked = 0;
    const query = {
      // biome-ignore lint/suspicious/noThenProperty: a foreign thenable is what this is about.
      then(give: (value: number) => void) {
        asked++;
        give(42);
      },
    };
    const result = breaker.execute(() => query as unknown as PromiseLike<number>);
    assert.equal(await result, 42);
    await result;
    assert.equal(asked, 1);
    assert.equal(breaker.stats.totalSuccesses, 1);
  }
});

test('a returned value whose properties cannot be read reaches the caller', () => {
  const { breaker } = started();
  const shy = new Proxy(
    {},
    {
      get() {
        throw new Error('do not look');
      },
    },
  );
  assert.equal(
    breaker.execute(() => shy),
    shy,
  );
  assert.equal(breaker.stats.inFlight, 0);
});

test('a result marked as an error is a failure, and opens the breaker for the full cooldown', () => {
  const { breaker, clock } = started({ failureThreshold: 2, onRefusal: 'return' }, 1_000_000);
  breaker.execute(() => ({ isError: true }));
  breaker.execute(() => ({ isError: true }));
  assert.equal(breaker.state, 'OPEN');
  const refusal = breaker.execute(() => 1) as unknown as BreakerRefusal;
  assert.equal(refusal.retryAtMs, 1_060_000);
  clock.advance(59_999);
  assert.equal(breaker.state, 'OPEN');
});

test('a promise of a result marked as an error is a failure', async () => {
  const { breaker } = started({ failureThreshold: 1 }, 1_000_000);
  await breaker.execute(async () => ({ error: 'down' }));
  assert.equal(breaker.state, 'OPEN');
});

test('a retry delay in an error or a result starts at the present time', async () => {
  const busy = Object.assign(new Error('busy'), { retryAfterMs: 5_000 });
  const calls = [() => ({ error: busy }), async () => ({ error: busy }), async () => Promise.reject(busy)];
  for (const call of calls) {
    const options = { openOnRetryAfter: true, recoveryTimeoutSecs: 1, onRefusal: 'return' } as const;
    const { breaker } = started(options, 1_000_000);
    await Promise.allSettled([breaker.execute<[], unknown>(call)]);
    const refusal = breaker.admit();
    assert.ok(refusal.refused);
    assert.equal(refusal.retryAtMs, 1_005_000);
  }
});

test('ignored and cancelled errors do not count', () => {
  const { breaker } = started({ failureThreshold: 1 });
  const named = (name: string) => Object.assign(new Error('x'), { name });
  for (const name of ['InvalidArguments', 'AbortError', 'ApprovalDenied']) {
    assert.throws(() =>
      breaker.execute(() => {
        throw named(name);
      }),
    );
  }
  assert.deepEqual([breaker.state, breaker.stats.totalNeutrals, breaker.stats.totalFailures], ['CLOSED', 3, 0]);
});

test('five failures open the breaker for a minute without calls, and then one probe runs', () => {
  const { breaker, clock, changes, fail } = started({ onRefusal: 'throw' });
  fail(5);
  assert.equal(breaker.state, 'OPEN');
  let called = 0;
  const call = () => breaker.execute(() => ++called);
  assert.throws(call, CircuitOpenError);
  assert.equal(called, 0);
  clock.advance(59_999);
  assert.throws(call, CircuitOpenError);
  clock.advance(1);
  assert.equal(breaker.state, 'HALF_OPEN', 'told before anybody asked');
  assert.deepEqual(changes, ['opened']);
  call();
  assert.equal(breaker.state, 'HALF_OPEN');
  call();
  assert.equal(breaker.state, 'CLOSED');
  assert.deepEqual(changes, ['opened', 'half-opened', 'closed']);
  assert.deepEqual(
    [called, breaker.stats.totalRequests, breaker.stats.rejectedRequests, breaker.stats.trips],
    [2, 9, 2, 1],
  );
});

test('asynchronous probes close and reopen the breaker like synchronous probes', async () => {
  const { breaker, clock, fail } = started({ successThreshold: 1 });
  fail(5);
  clock.advance(60_000);
  const slow = Promise.withResolvers<number>();
  const probe = breaker.execute(() => slow.promise);
  await assert.rejects(
    breaker.execute(async () => 1),
    CircuitOpenError,
  );
  slow.reject(new Error('still down'));
  await assert.rejects(probe, /still down/);
  assert.equal(breaker.state, 'OPEN');
  clock.advance(60_000);
  await breaker.execute(async () => 1);
  assert.equal(breaker.state, 'CLOSED');
});

test('a refusal is by default a rejected promise, the same promise for a whole open period', async () => {
  const { breaker, clock, fail } = started();
  fail(5);
  const first = breaker.execute(() => 1) as unknown as Promise<never>;
  const second = breaker.execute(() => 1) as unknown as Promise<never>;
  assert.equal(first, second);
  const error: unknown = await first.catch((reason) => reason);
  assert.ok(error instanceof CircuitOpenError && error instanceof Error);
  assert.equal(error.name, 'CircuitBreakerOpen');
  assert.equal(error.code, 'circuit_open');
  assert.match(error.message, /CircuitBreakerOpen.*'search'/);
  assert.doesNotMatch(String(error.stack), /\n\s+at /, 'without a stack');
  assert.deepEqual(error.refusal, {
    refused: true,
    code: 'circuit_open',
    name: 'search',
    retryAtMs: 60_000,
    message: error.message,
  });
  assert.ok(Object.isFrozen(error.refusal));
  clock.advance(60_000);
  assert.throws(() => breaker.execute(bad));
  const later = breaker.execute(() => 1) as unknown as Promise<never>;
  assert.notEqual(later, first);
  await assert.rejects(later);
});

test('a refusal error leaves Error.stackTraceLimit unchanged', () => {
  const before = Error.stackTraceLimit;
  const { breaker, fail } = started({ onRefusal: 'throw' });
  fail(5);
  assert.throws(() => breaker.execute(() => 1), CircuitOpenError);
  assert.equal(Error.stackTraceLimit, before);
});

test('a refusal without a handler causes no unhandled rejection', async () => {
  const { breaker, fail } = started();
  fail(5);
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  process.on('unhandledRejection', note);
  for (let time = 0; time < 3; time++) void breaker.execute(() => 1);
  await promisesSettled();
  await promisesSettled();
  process.off('unhandledRejection', note);
  assert.deepEqual(unhandled, []);
});

test('refusals can be thrown or returned, and are the same object while the breaker is open', () => {
  const thrown = started({ onRefusal: 'throw' });
  thrown.fail(5);
  const errors = [0, 1].map(() => {
    try {
      return thrown.breaker.execute(() => 1);
    } catch (error) {
      return error;
    }
  });
  assert.ok(errors[0] instanceof CircuitOpenError);
  assert.equal(errors[0], errors[1]);
  const returned = started({ onRefusal: 'return' });
  returned.fail(5);
  const [first, second] = [0, 1].map(() => returned.breaker.execute((): unknown => 1));
  assert.equal((first as BreakerRefusal).refused, true);
  assert.equal(first, second);
  assert.equal(returned.breaker.admit(), first);
});

test('a permit from admit can be settled later, and settling twice counts once', () => {
  const { breaker } = started({ failureThreshold: 2 });
  const permit = permitOf(breaker.admit());
  assert.equal(breaker.stats.inFlight, 1);
  breaker.settle(permit, failed);
  breaker.settle(permit, failed);
  breaker.settle(permit);
  assert.deepEqual(
    [breaker.stats.totalFailures, breaker.stats.totalSuccesses, breaker.stats.inFlight, breaker.stats.lateResults],
    [1, 0, 0, 0],
  );
  assert.equal(breaker.state, 'CLOSED');
  breaker.settle(permitOf(breaker.admit()));
  assert.equal(breaker.stats.totalSuccesses, 1);
  breaker.settle(permitOf(breaker.admit()), cancelled);
  assert.equal(breaker.stats.totalNeutrals, 1);
});

test('a permit from before the trip is a late result, and the permit of a probe counts', () => {
  const { breaker, clock } = started({ failureThreshold: 1, successThreshold: 1 });
  const early = permitOf(breaker.admit());
  breaker.settle(permitOf(breaker.admit()), failed);
  clock.advance(60_000);
  const probe = permitOf(breaker.admit());
  assert.equal(probe.probe, true);
  breaker.settle(early);
  assert.deepEqual([breaker.state, breaker.stats.lateResults], ['HALF_OPEN', 1]);
  breaker.settle(probe, { kind: 'success' });
  assert.equal(breaker.state, 'CLOSED');
});

test('a failure passed to settle opens the breaker from the present time', () => {
  const { breaker } = started({ failureThreshold: 1, onRefusal: 'return' }, 500_000);
  breaker.settle(permitOf(breaker.admit()), failed);
  assert.equal((breaker.admit() as BreakerRefusal).retryAtMs, 560_000);
});

test('a timeout is a failure, keeps the slot and aborts the signal', async () => {
  const { breaker, clock } = started({ timeoutSecs: 2, failureThreshold: 9, maxConcurrent: 1, onRefusal: 'return' });
  const slow = Promise.withResolvers<number>();
  let seen: AbortSignal | undefined;
  const call = breaker.executeWithSignal((signal) => {
    seen = signal;
    return slow.promise;
  });
  clock.advance(1_999);
  assert.equal(seen?.aborted, false);
  clock.advance(1);
  assert.equal(seen?.aborted, true);
  await assert.rejects(call, { name: 'TimeoutError', message: "'search' took longer than 2 s" });
  assert.equal(seen?.reason.name, 'TimeoutError');
  assert.deepEqual([breaker.stats.totalFailures, breaker.stats.inFlight], [1, 1]);
  const refused = breaker.execute((): unknown => 1) as BreakerRefusal;
  assert.equal(refused.code, 'concurrency_limit');
  assert.equal(refused.message, "'search' is at its limit of concurrent calls (1)");
  slow.resolve(1);
  await promisesSettled();
  assert.deepEqual([breaker.stats.totalFailures, breaker.stats.totalSuccesses, breaker.stats.inFlight], [1, 0, 0]);
  assert.equal(
    breaker.execute(() => 1),
    1,
  );
});

test('before the timeout value and error pass unchanged, and no timer fires later', async () => {
  const { breaker, clock } = started({ timeoutSecs: 2 });
  assert.equal(await breaker.execute(async () => 5), 5);
  await assert.rejects(
    breaker.execute(async () => bad()),
    /down/,
  );
  let seen: AbortSignal | undefined;
  await breaker.executeWithSignal(async (signal) => {
    seen = signal;
  });
  clock.advance(10_000);
  assert.equal(seen?.aborted, false);
  assert.deepEqual([breaker.stats.totalSuccesses, breaker.stats.totalFailures], [2, 1]);
  assert.equal(
    breaker.execute(() => 9),
    9,
  );
  assert.throws(() => breaker.execute(bad), /down/);
});

test('a synchronous call over the timeout is a failure; on the system clock from the second call on', () => {
  const { breaker, clock } = started({ timeoutSecs: 2 });
  breaker.execute(() => clock.advance(2_000));
  breaker.execute(() => clock.advance(2_001));
  assert.deepEqual([breaker.stats.totalSuccesses, breaker.stats.totalFailures], [1, 1]);
  const own = createBreaker({ timeoutSecs: 0.02 });
  const block = () => {
    for (const began = performance.now(); performance.now() - began < 25; );
  };
  own.execute(block);
  own.execute(block);
  own.execute(() => 1);
  assert.deepEqual([own.stats.totalSuccesses, own.stats.totalFailures], [2, 1]);
});

test('concurrent calls with a timeout do not affect each other', async () => {
  for (const given of [simulatedClock(), undefined]) {
    const breaker = createBreaker({ timeoutSecs: 0.03, failureThreshold: 9, ...(given && { clock: given }) });
    const [hung, slow] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
    const lost = assert.rejects(
      breaker.execute(() => hung.promise),
      { name: 'TimeoutError' },
    );
    const first = breaker.execute(() => slow.promise);
    assert.equal(await breaker.execute(async () => 'quick'), 'quick');
    slow.resolve('slow');
    assert.equal(await first, 'slow');
    given?.advance(30);
    await lost;
    assert.deepEqual([breaker.stats.totalFailures, breaker.stats.inFlight], [1, 1]);
    const next = breaker.execute(async () => {
      hung.reject(new Error('too late'));
      await promisesSettled();
      return 'next';
    });
    assert.equal(await next, 'next');
    await assert.rejects(
      breaker.execute(async () => bad()),
      /down/,
    );
    const { totalSuccesses: successes, totalFailures: failures, inFlight, lateResults: late } = breaker.stats;
    assert.deepEqual([successes, failures, inFlight, late], [3, 2, 0, 0]);
  }
});

test('with sameErrorOnly the variable parts of an error message do not matter', () => {
  const { breaker } = started({ sameErrorOnly: true, failureThreshold: 3 });
  const fail = (message: string) =>
    assert.throws(() =>
      breaker.execute(() => {
        throw new Error(message);
      }),
    );
  fail("no file 'a.txt' at /tmp/1");
  fail("no file 'b.txt' at /tmp/22");
  assert.equal(breaker.stats.countedFailures, 2);
  fail('no room');
  assert.deepEqual([breaker.stats.countedFailures, breaker.stats.consecutiveFailures], [1, 3]);
  for (const id of [71, 72]) fail(`row ${id} is locked`);
  assert.equal(breaker.stats.countedFailures, 2);
  fail("it's `late`");
  fail("it's `early`");
  assert.deepEqual([breaker.stats.countedFailures, breaker.state], [2, 'CLOSED']);
  fail('it\'s "soon"');
  assert.equal(breaker.state, 'OPEN');
});

test('a stale coarse clock does not shorten the timeout of a new call', async () => {
  const breaker = createBreaker({ timeoutSecs: 0.25, slowCallSecs: 60 });
  // The coarse clock has looked, and a timer waits.
  const hung = assert.rejects(
    breaker.execute(() => new Promise(() => {})),
    { name: 'TimeoutError' },
  );
  const until = performance.now() + 300;
  while (performance.now() < until); // Work that never yields: nobody tells the clock.
  const call = breaker.execute(async () => {
    for (const began = performance.now(); performance.now() - began < 5; ) await promisesSettled();
    return 'done';
  });
  assert.equal(await call, 'done');
  await hung;
});

test('trip opens the breaker, optionally until a time, and reset closes the breaker', () => {
  const { breaker, clock, changes } = started({ onRefusal: 'return' });
  breaker.trip(90_000);
  assert.equal(breaker.state, 'OPEN');
  assert.equal((breaker.admit() as BreakerRefusal).retryAtMs, 90_000);
  breaker.trip();
  assert.equal((breaker.admit() as BreakerRefusal).retryAtMs, 60_000, 'the refusal of before is not told again');
  breaker.reset();
  assert.equal(breaker.state, 'CLOSED');
  assert.deepEqual([breaker.stats.totalRequests, breaker.stats.trips, breaker.stats.rejectedRequests], [0, 0, 0]);
  assert.deepEqual(changes, ['opened', 'opened', 'closed']);
  clock.advance(100_000);
  assert.equal(breaker.state, 'CLOSED');
});

test('an invalid time for trip is an error that quotes the value', () => {
  const { breaker } = started();
  for (const until of [Number.NaN, Number.POSITIVE_INFINITY, '5' as unknown as number]) {
    assert.throws(() => breaker.trip(until), { name: 'SwitchgearError', message: /untilMs.*(NaN|Infinity|5)/ });
  }
  assert.equal(breaker.state, 'CLOSED');
});

test('a held breaker refuses without a retry time in every phase, and release restores the phase', () => {
  for (const startMs of [0, 1_000, -1_000]) {
    const { breaker, clock, fail } = started({ onRefusal: 'return' }, startMs);
    breaker.hold();
    assert.equal(breaker.state, 'OPEN');
    const held = breaker.execute((): unknown => 1) as BreakerRefusal;
    assert.equal(held.refused, true, `held at ${startMs}`);
    assert.equal('retryAtMs' in held, false);
    assert.equal(breaker.admit(), held);
    breaker.release();
    assert.equal(
      breaker.execute(() => 1),
      1,
    );
    fail(5);
    const open = breaker.admit() as BreakerRefusal;
    breaker.hold();
    assert.equal('retryAtMs' in (breaker.admit() as BreakerRefusal), false);
    clock.advance(100_000);
    assert.equal((breaker.admit() as BreakerRefusal).refused, true);
    breaker.release();
    assert.notEqual(open.retryAtMs, undefined);
    assert.equal(breaker.state, 'HALF_OPEN');
  }
});

test('probeNow half-opens an open breaker and has no effect in other phases', () => {
  const { breaker, changes, fail } = started({ successThreshold: 1 });
  breaker.probeNow();
  assert.equal(breaker.state, 'CLOSED');
  fail(5);
  breaker.probeNow();
  assert.equal(breaker.state, 'HALF_OPEN');
  breaker.probeNow();
  breaker.execute(() => 1);
  assert.deepEqual(changes, ['opened', 'half-opened', 'closed']);
});

test('a refusal distinguishes the concurrency limit from an open circuit, also at the same time', () => {
  const { breaker } = started({ maxConcurrent: 2, failureThreshold: 1, onRefusal: 'return' });
  const [first, second] = [permitOf(breaker.admit()), permitOf(breaker.admit())];
  assert.equal((breaker.admit() as BreakerRefusal).code, 'concurrency_limit');
  breaker.trip(1_000);
  assert.equal((breaker.admit() as BreakerRefusal).code, 'concurrency_limit');
  breaker.settle(first);
  const refusal = breaker.admit() as BreakerRefusal;
  assert.deepEqual([refusal.code, refusal.retryAtMs], ['circuit_open', 1_000]);
  breaker.settle(second);
});

test('while half-open a refusal is concurrency_limit only while all slots are taken', () => {
  const { breaker, clock } = started({ maxConcurrent: 2, failureThreshold: 1, onRefusal: 'return' });
  const straggler = permitOf(breaker.admit());
  breaker.settle(permitOf(breaker.admit()), failed);
  clock.advance(60_000);
  const probe = permitOf(breaker.admit());
  assert.equal((breaker.admit() as BreakerRefusal).code, 'concurrency_limit');
  breaker.settle(straggler);
  assert.equal((breaker.admit() as BreakerRefusal).code, 'circuit_open');
  breaker.settle(probe);
});

test('a concurrency refusal made while open does not outlast the open period', () => {
  const { breaker, clock } = started({ maxConcurrent: 1, failureThreshold: 1, onRefusal: 'return' });
  const straggler = permitOf(breaker.admit());
  breaker.trip();
  clock.advance(59_500);
  assert.equal((breaker.admit() as BreakerRefusal).code, 'concurrency_limit');
  breaker.settle(straggler);
  clock.advance(500);
  assert.equal(breaker.state, 'HALF_OPEN');
  assert.equal(breaker.admit().refused, false);
});

test('listeners receive each new phase with generation and cause until they are removed', () => {
  const { breaker, clock, fail } = started({ successThreshold: 1 });
  const heard: BreakerChange[] = [];
  const leave = breaker.onChange((change) => heard.push(change));
  fail(5);
  clock.advance(60_000);
  breaker.execute(() => 1);
  assert.deepEqual(heard, [
    { type: 'opened', name: 'search', generation: 2, cause: 'failures' },
    { type: 'half-opened', name: 'search', generation: 3, cause: 'failures' },
    { type: 'closed', name: 'search', generation: 4, cause: '' },
  ]);
  leave();
  leave();
  fail(5);
  assert.equal(heard.length, 3);
});

test('disposing removes the listeners, and the breaker still works', () => {
  const { breaker, changes, fail } = started();
  breaker[Symbol.dispose]();
  fail(5);
  assert.deepEqual([changes, breaker.state], [[], 'OPEN']);
});

test('a listener may read and change its breaker', () => {
  const { breaker, fail } = started({ onRefusal: 'return' });
  const states: string[] = [];
  breaker.onChange(({ type }) => {
    states.push(breaker.state);
    if (type === 'opened') breaker.reset();
  });
  fail(5);
  assert.deepEqual(states, ['OPEN', 'CLOSED']);
  assert.equal(breaker.state, 'CLOSED');
});

test('a failure in nested calls of one breaker is counted once per call', () => {
  const { breaker } = started({ failureThreshold: 3 });
  assert.throws(() => breaker.execute(() => breaker.execute(bad)), /down/);
  assert.deepEqual([breaker.stats.totalFailures, breaker.stats.inFlight], [2, 0]);
});

test('the success of a call during which the breaker trips is a late result', () => {
  const { breaker } = started({ failureThreshold: 1 });
  breaker.execute(() => {
    assert.throws(() => breaker.execute(bad));
    return 'fine';
  });
  assert.deepEqual([breaker.state, breaker.stats.lateResults, breaker.stats.totalSuccesses], ['OPEN', 1, 0]);
});

test('a breaker in observe mode refuses no call, and a breaker that is off counts no call', () => {
  const watched = started({ mode: 'observe', failureThreshold: 1 });
  watched.fail(3);
  assert.deepEqual(
    [watched.breaker.state, watched.breaker.stats.lateResults, watched.breaker.stats.rejectedRequests],
    ['OPEN', 2, 0],
  );
  watched.breaker.hold();
  assert.equal(
    watched.breaker.execute(() => 1),
    1,
  );
  const off = started({ mode: 'off', failureThreshold: 1 });
  off.fail(3);
  assert.deepEqual([off.breaker.state, off.breaker.stats.totalFailures, off.breaker.stats.inFlight], ['CLOSED', 0, 0]);
});

test('slow calls by the clock in the options open the breaker for the next call', () => {
  const { breaker, clock } = started({ slowCallSecs: 8, minimumCalls: 1, onRefusal: 'return' });
  void breaker.execute(() => new Promise(() => {}));
  clock.advance(8_000);
  assert.equal(
    breaker.execute(() => 1),
    1,
  );
  clock.advance(1_000);
  assert.equal(breaker.state, 'CLOSED');
  const half = started({ slowCallSecs: 8, minimumCalls: 1, onRefusal: 'return' });
  void half.breaker.execute(() => new Promise(() => {}));
  half.clock.advance(9_000);
  const refusal = half.breaker.execute((): unknown => 1) as BreakerRefusal;
  assert.equal(refusal.retryAtMs, 69_000);
  assert.deepEqual(half.changes, ['opened']);
});

test('a restored breaker continues from its saved state', () => {
  const { breaker, clock, fail } = started();
  fail(5);
  clock.advance(20_000);
  const saved = JSON.parse(JSON.stringify(saveBreaker(breaker)));
  const there = started({ onRefusal: 'return' }, 7_000, saved);
  assert.equal(there.breaker.state, 'OPEN');
  assert.equal((there.breaker.admit() as BreakerRefusal).retryAtMs, 47_000);
  const garbage = started({}, 0, null as never);
  assert.equal(garbage.breaker.state, 'CLOSED');
});

test('a breaker without options has a name, no timeout, and uses the system clock', async () => {
  const breaker = createBreaker();
  assert.equal(breaker.name, 'breaker');
  assert.equal(await breaker.execute(async () => 1), 1);
  for (let time = 0; time < 5; time++) assert.throws(() => breaker.execute(bad));
  assert.equal(breaker.state, 'OPEN');
});

const wrong: readonly (readonly [options: unknown, message: RegExp])[] = [
  [null, /null/],
  ['fast', /fast/],
  [[], /object/],
  [{ failureTreshold: 3 }, /failureTreshold/],
  [{ toString: 3 }, /toString/],
  [{ failureThreshold: 0 }, /failureThreshold.*0/],
  [{ failureThreshold: -2 }, /failureThreshold.*-2/],
  [{ failureThreshold: 2.5 }, /failureThreshold.*2\.5/],
  [{ failureThreshold: '5' }, /failureThreshold.*"5"/],
  [{ failureThreshold: Number.NaN }, /failureThreshold.*NaN/],
  [{ failureThreshold: Number.POSITIVE_INFINITY }, /failureThreshold.*Infinity/],
  [{ failureThreshold: undefined }, /failureThreshold.*undefined/],
  [{ failureThreshold: null }, /failureThreshold.*null/],
  [{ successThreshold: 1.5 }, /successThreshold.*1\.5/],
  [{ mode: 'enforced' }, /mode.*"enforced"/],
  [{ mode: 1 }, /mode.*1/],
  [{ trip: 'consecutve' }, /trip.*"consecutve"/],
  [{ recovery: 'auto' }, /recovery.*"auto"/],
  [{ rateWindow: 'minutes' }, /rateWindow.*"minutes"/],
  [{ leaseExpiry: 'never' }, /leaseExpiry.*"never"/],
  [{ windowCalls: 0 }, /windowCalls.*0/],
  [{ windowCalls: 1.5 }, /windowCalls.*1\.5/],
  [{ windowCalls: 1e9 }, /windowCalls.*1000000000/],
  [{ halfOpenPermits: 0.5 }, /halfOpenPermits.*0\.5/],
  [{ halfOpenPermits: 1e6 }, /halfOpenPermits.*1000000/],
  [{ failureRateThreshold: 50 }, /failureRateThreshold.*50/],
  [{ failureRateThreshold: 0 }, /failureRateThreshold.*0/],
  [{ slowRateThreshold: 1.01 }, /slowRateThreshold.*1\.01/],
  [{ slowCallSecs: -1 }, /slowCallSecs.*-1/],
  [{ recoveryTimeoutSecs: 0 }, /recoveryTimeoutSecs.*0/],
  [{ recoveryTimeoutSecs: true }, /recoveryTimeoutSecs.*true/],
  [{ recoveryFactor: 0.5 }, /recoveryFactor.*0\.5/],
  [{ recoveryJitter: -0.1 }, /recoveryJitter.*-0\.1/],
  [{ recoveryJitter: 2 }, /recoveryJitter.*2/],
  [{ maxConcurrent: 0 }, /maxConcurrent.*0/],
  [{ maxConcurrent: 1.5 }, /maxConcurrent.*1\.5/],
  [{ timeoutSecs: 0 }, /timeoutSecs.*0/],
  [{ timeoutSecs: '30' }, /timeoutSecs.*"30"/],
  [{ sameErrorOnly: 'yes' }, /sameErrorOnly.*"yes"/],
  [{ openOnRetryAfter: 1 }, /openOnRetryAfter.*1/],
  [{ countErrors: 'NetworkError' }, /countErrors.*"NetworkError"/],
  [{ countErrors: null }, /countErrors.*null/],
  [{ ignoreErrors: {} }, /ignoreErrors/],
  [{ ignoreErrors: [7] }, /ignoreErrors/],
  [{ trip: 'count_window', windowCalls: 3 }, /failureThreshold is 5.*3 calls/],
  [{ failureRateThreshold: 0.5, windowCalls: 3 }, /minimumCalls is 10.*3 calls/],
  [{ name: 7 }, /name.*7/],
  [{ onRefusal: 'rejct' }, /onRefusal.*"rejct"/],
  [{ clock: {} }, /clock/],
  [{ clock: null }, /clock.*null/],
  [{ clock: Date }, /clock/],
];

for (const [options, message] of wrong) {
  const said = typeof options === 'object' ? shown(options) : options;
  test(`createBreaker(${said}) is an error that quotes the value`, () => {
    assert.throws(() => createBreaker(options as BreakerOptions), { name: 'SwitchgearError', message });
  });
}

function shown(options: unknown): string {
  return JSON.stringify(options, (_, value) =>
    value === undefined || typeof value === 'function' || Number.isNaN(value) || value === Number.POSITIVE_INFINITY
      ? String(value).slice(0, 20)
      : value,
  );
}

test('an invalid function or listener is an error and is not counted', () => {
  const { breaker } = started();
  assert.throws(() => breaker.onChange(7 as never), { name: 'SwitchgearError', message: /listener.*7/ });
  assert.equal(breaker.stats.totalRequests, 0);
});

test('every setting is accepted as an option', () => {
  createBreaker({
    name: 'all',
    mode: 'enforce',
    trip: 'time_window',
    failureThreshold: 3,
    windowCalls: 50,
    monitorWindowSecs: 30.5,
    failureRateThreshold: 0.5,
    rateWindow: 'time',
    minimumCalls: 5,
    slowCallSecs: 0.5,
    slowRateThreshold: 1,
    recovery: 'timed',
    recoveryTimeoutSecs: 0.1,
    recoveryFactor: 1.5,
    recoveryMaxSecs: 100,
    recoveryJitter: 0,
    jitterSeed: 0,
    successThreshold: 1,
    halfOpenPermits: 2,
    leaseSecs: 2.5,
    leaseExpiry: 'neutral',
    maxConcurrent: 7,
    openOnRetryAfter: true,
    sameErrorOnly: true,
    countErrors: [],
    ignoreErrors: ['X'],
    timeoutSecs: 0.5,
    onRefusal: 'return',
  });
});

/** Promises, timers and turns of the microtask queue that one call costs, seen by the engine. */
async function costOf(call: (at: number) => unknown): Promise<{ promises: number; timers: number; hops: number }> {
  const calls = 200;
  const loop = async () => {
    for (let at = 0; at < calls; at++) await call(at);
  };
  await loop();
  const kinds = new Map<string, number>();
  const hook = createHook({ init: (_id, type) => void kinds.set(type, (kinds.get(type) ?? 0) + 1) });
  hook.enable();
  await loop();
  hook.disable();
  let hops = 0;
  for (let at = 0; at < 20; at++) {
    await promisesSettled();
    let turning = true;
    const turn = () => {
      if (!turning) return;
      hops++;
      queueMicrotask(turn);
    };
    queueMicrotask(turn);
    await call(at);
    turning = false;
  }
  return {
    promises: Math.round((kinds.get('PROMISE') ?? 0) / calls),
    timers: kinds.get('Timeout') ?? 0,
    hops: hops / 20,
  };
}

test('a successful call costs one additional promise, no microtask turn and no timer', async () => {
  const work = async (at: number) => at;
  const bare = await costOf(work);
  const breaker = createBreaker();
  const guarded = await costOf((at) => breaker.execute(work, at));
  assert.deepEqual(guarded, { promises: bare.promises + 1, timers: 0, hops: bare.hops });
});

test('with a time window and a clock a successful call costs one additional promise', async () => {
  const work = async (at: number) => at;
  const bare = await costOf(work);
  const breaker = createBreaker({ rateWindow: 'time', clock: simulatedClock() });
  const guarded = await costOf((at) => breaker.execute(work, at));
  assert.deepEqual(guarded, { promises: bare.promises + 1, timers: 0, hops: bare.hops });
});

test('a call with admit and settle costs no additional promise, microtask turn or timer', async () => {
  const breaker = createBreaker();
  const work = async (at: number) => at;
  const handled = async (at: number) => {
    const value = await work(at);
    return value;
  };
  const guarded = async (at: number) => {
    const permit = breaker.admit();
    const value = await work(at);
    if (!permit.refused) breaker.settle(permit);
    return value;
  };
  assert.deepEqual(await costOf(guarded), await costOf(handled));
});

test('a synchronous call creates no promise and no timer', () => {
  const breaker = createBreaker();
  const kinds: string[] = [];
  const hook = createHook({ init: (_id, type) => void kinds.push(type) });
  hook.enable();
  for (let at = 0; at < 100; at++) breaker.execute((value: number) => value, at);
  hook.disable();
  assert.deepEqual(kinds, []);
});

test('a thousand refusals share one promise', async () => {
  const breaker = createBreaker();
  for (let time = 0; time < 5; time++) assert.throws(() => breaker.execute(bad));
  await (breaker.execute(() => 1) as unknown as Promise<never>).catch(() => {});
  const kinds: string[] = [];
  const hook = createHook({ init: (_id, type) => void kinds.push(type) });
  hook.enable();
  for (let at = 0; at < 1_000; at++) void breaker.execute(() => 1);
  hook.disable();
  assert.deepEqual(
    kinds.filter((kind) => kind === 'PROMISE'),
    [],
  );
});

test('settings of what surrounds a call are refused: a breaker alone has no retries, queue or task', () => {
  const refused = {
    retries: 2,
    retryBaseSecs: 1,
    retryMaxWaitSecs: 5,
    retryJitter: 'none',
    maxQueue: 3,
    queueTimeoutSecs: 5,
    maxCalls: 3,
    maxCallsSession: 3,
  };
  const saved = saveBreaker(createBreaker());
  for (const [name, value] of Object.entries(refused)) {
    const options = { [name]: value } as BreakerOptions;
    const sentence = new RegExp(`breaker\\.${name} needs a gear: set it for a guarded tool`);
    assert.throws(() => createBreaker(options), sentence);
    assert.throws(() => restoreBreaker(saved, options), sentence);
  }
  // @ts-expect-error: the types agree.
  assert.throws(() => createBreaker({ retries: 2 }));
  // @ts-expect-error
  assert.throws(() => createBreaker({ maxCalls: 2 }));
});
