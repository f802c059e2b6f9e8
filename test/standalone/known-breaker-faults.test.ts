/** Twenty-four situations in which circuit breakers are known to go wrong, and how this one behaves in each. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import {
  type BreakerOptions,
  CircuitOpenError,
  createBreaker,
  restoreBreaker,
  type SavedBreaker,
  saveBreaker,
} from '../../src/breaker.ts';
import { createSwitchgear, isRefused, type SwitchgearOptions } from '../../src/index.ts';
import { promisesSettled, simulatedClock } from '../../src/testing/simulated-clock.ts';

const bad = () => Promise.reject(new Error('down'));
const good = async () => 'good';

function started(options: BreakerOptions = {}, saved?: SavedBreaker) {
  const clock = simulatedClock(1_000_000);
  const all = { clock, failureThreshold: 1, successThreshold: 1, ...options };
  const breaker = saved === undefined ? createBreaker(all) : restoreBreaker(saved, all);
  return {
    clock,
    breaker,
    async fail(times = 1) {
      for (let time = 0; time < times; time++) await assert.rejects(breaker.execute(bad), /down/);
    },
    /** A call that ends when it is told to. */
    begin() {
      const work = Promise.withResolvers<string>();
      const call = breaker.execute(() => work.promise);
      call.catch(() => {});
      return {
        call,
        async succeed() {
          work.resolve('late');
          await promisesSettled();
        },
        async fail() {
          work.reject(new Error('late'));
          await promisesSettled();
        },
      };
    },
    refused: () => assert.rejects(breaker.execute(good), CircuitOpenError),
  };
}

function geared(options: SwitchgearOptions = {}) {
  const clock = simulatedClock(1_000_000);
  return { clock, gear: createSwitchgear({ clock, log: 'silent', env: {}, ...options }) };
}

test('situation 1: a success of a call from the closed phase does not close a half-open breaker', async () => {
  const { breaker, clock, begin, fail } = started();
  const [first, second] = [begin(), begin()];
  await fail();
  clock.advance(60_000);
  assert.equal(breaker.state, 'HALF_OPEN');
  await first.succeed();
  assert.equal(breaker.state, 'HALF_OPEN');
  breaker.probeNow();
  await second.succeed();
  assert.equal(breaker.state, 'HALF_OPEN');
  assert.deepEqual([breaker.stats.lateResults, breaker.stats.totalSuccesses], [2, 0]);
});

test('situation 2: a failure of a call from the closed phase does not decide while a probe runs', async () => {
  const { breaker, clock, begin, fail } = started();
  const late = begin();
  await fail();
  clock.advance(60_000);
  const probe = begin();
  await late.fail();
  assert.equal(breaker.state, 'HALF_OPEN');
  await probe.succeed();
  assert.equal(breaker.state, 'CLOSED');
});

test('situation 3: a success from two generations ago does not reset the count of three failures', async () => {
  const { breaker, clock, begin, fail } = started({ failureThreshold: 3 });
  const late = begin();
  await fail(3);
  clock.advance(60_000);
  await breaker.execute(good);
  await fail(2);
  await late.succeed();
  assert.equal(breaker.stats.countedFailures, 2);
  await fail();
  assert.equal(breaker.state, 'OPEN');
});

test('situation 4: four failures and a fifth an hour later do not open a window of five seconds', async () => {
  const rate = { failureThreshold: 99, failureRateThreshold: 0.5, rateWindow: 'time', minimumCalls: 5 } as const;
  for (const options of [rate, { trip: 'time_window', failureThreshold: 5 } as const]) {
    const { breaker, clock, fail } = started({ ...options, monitorWindowSecs: 5 });
    for (let time = 0; time < 4; time++) {
      await fail();
      clock.advance(1_100);
    }
    clock.advance(3_600_000);
    await fail();
    assert.equal(breaker.state, 'CLOSED');
    await fail(4);
    assert.equal(breaker.state, 'OPEN', 'five within the window do');
  }
});

test('situation 5: setting the wall clock back an hour while open does not change the cooldown', async () => {
  const { breaker, clock, fail, refused } = started({ recoveryTimeoutSecs: 1 });
  await fail();
  clock.wallJump(-3_600_000);
  await refused();
  clock.advance(1_000);
  assert.equal(await breaker.execute(good), 'good');
  await fail();
  clock.wallJump(7_200_000);
  await refused();
});

test('situation 6: a breaker held while open and then released is open until the same time', async () => {
  const { breaker, clock, fail, refused } = started();
  await fail();
  clock.advance(10_000);
  breaker.hold();
  clock.advance(10_000);
  breaker.release();
  assert.equal(breaker.state, 'OPEN');
  clock.advance(39_999);
  await refused();
  clock.advance(1);
  assert.equal(await breaker.execute(good), 'good');
});

test('situation 7: a probe that never settles blocks other calls only until its lease ends', async () => {
  const { breaker, clock, begin, fail, refused } = started({ leaseSecs: 15 });
  await fail();
  clock.advance(60_000);
  begin();
  clock.advance(14_999);
  await refused();
  assert.equal(breaker.state, 'HALF_OPEN');
  clock.advance(1);
  await refused();
  assert.equal(breaker.state, 'OPEN');
  clock.advance(60_000);
  assert.equal(await breaker.execute(good), 'good');
  assert.equal(breaker.state, 'CLOSED');
});

test('situation 8: while a probe hangs the next calls are refused at once', () => {
  const { breaker, clock } = started({ onRefusal: 'throw' });
  assert.throws(() =>
    breaker.execute(() => {
      throw new Error('down');
    }),
  );
  clock.advance(60_000);
  void breaker.execute(() => new Promise(() => {}));
  let ran = 0;
  for (let caller = 0; caller < 100; caller++) assert.throws(() => breaker.execute(() => ran++), CircuitOpenError);
  assert.equal(ran, 0);
});

test('situation 9: with a window of calls a probe that never settles blocks only until its lease ends', async () => {
  const { breaker, clock, begin, fail, refused } = started({ trip: 'count_window', windowCalls: 4 });
  await fail();
  clock.advance(60_000);
  begin();
  clock.advance(15_000);
  await refused();
  clock.advance(60_000);
  assert.equal(await breaker.execute(good), 'good');
});

test('situation 10: 5000 calls during a probe are refused, also if the probe succeeds', async () => {
  const { breaker, clock, begin, fail } = started();
  await fail();
  clock.advance(60_000);
  const probe = begin();
  let running = 0;
  const herd = Array.from({ length: 5_000 }, () =>
    breaker.execute(async () => {
      running++;
    }),
  );
  await probe.succeed();
  const ends = await Promise.allSettled(herd);
  assert.equal(running, 0);
  assert.ok(ends.every(({ status }) => status === 'rejected'));
  assert.equal(breaker.state, 'CLOSED');
});

test('situation 11: four late successes while half-open do not count towards the two required', async () => {
  const { breaker, clock, begin, fail } = started({ successThreshold: 2, halfOpenPermits: 2 });
  const late = [begin(), begin(), begin(), begin()];
  await fail();
  clock.advance(60_000);
  const probes = [begin(), begin()];
  for (const call of late) await call.succeed();
  assert.equal(breaker.state, 'HALF_OPEN');
  await probes[0]!.succeed();
  assert.equal(breaker.state, 'HALF_OPEN');
  await probes[1]!.succeed();
  assert.equal(breaker.state, 'CLOSED');
  assert.equal(await breaker.execute(good), 'good');
});

test('situation 12: a breaker that is reset while open stays closed after the cooldown', async () => {
  const { breaker, clock, fail } = started();
  await fail();
  assert.equal(clock.pending, 0);
  breaker.reset();
  clock.advance(120_000);
  assert.equal(breaker.state, 'CLOSED');
  assert.equal(breaker.stats.generation, 3);
});

test('situation 13: after the removal of the first listener only the second is called', async () => {
  const { breaker, fail } = started();
  const heard: string[] = [];
  const leave = breaker.onChange(() => heard.push('first'));
  breaker.onChange(() => heard.push('second'));
  leave();
  await fail();
  assert.deepEqual(heard, ['second']);
  const { gear } = geared();
  const entries: string[] = [];
  const goAway = gear.onEntry(() => entries.push('first'));
  gear.onEntry(() => entries.push('second'));
  goAway();
  gear.breaker('tool').trip();
  assert.ok(entries.includes('second') && !entries.includes('first'));
});

test('situation 14: a call after a timed-out call has a signal of its own', async () => {
  const { breaker, clock } = started({ timeoutSecs: 1, failureThreshold: 9 });
  const hung = breaker.executeWithSignal((signal) => new Promise<AbortSignal>(() => signal));
  clock.advance(1_000);
  await assert.rejects(hung, { name: 'TimeoutError' });
  const aborted = await breaker.executeWithSignal(async (signal) => signal.aborted);
  assert.equal(aborted, false);
  const { gear, clock: gearClock } = geared();
  const signals: AbortSignal[] = [];
  const tool = gear.guard(
    'tool',
    async (hang: boolean) => {
      signals.push(gear.currentCall()!.signal);
      return hang ? new Promise(() => {}) : 'quick';
    },
    { timeoutSecs: 1 },
  );
  const slow = assert.rejects(tool(true) as Promise<unknown>, { name: 'TimeoutError' });
  await gearClock.elapse(1_000);
  await slow;
  assert.equal(await tool(false), 'quick');
  assert.deepEqual(
    signals.map((signal) => signal.aborted),
    [true, false],
  );
});

test('situation 15: a function that returns undefined is a success', async () => {
  const { breaker } = started();
  assert.equal(
    breaker.execute(() => undefined),
    undefined,
  );
  assert.equal(await breaker.execute(async () => undefined), undefined);
  assert.deepEqual([breaker.stats.totalSuccesses, breaker.stats.totalFailures], [2, 0]);
});

test('situation 16: an open breaker that is saved and restored keeps its cooldown', async () => {
  const { breaker, clock, fail } = started();
  clock.advance(150_000);
  await fail();
  const there = started({}, JSON.parse(JSON.stringify(saveBreaker(breaker))));
  assert.equal(there.breaker.state, 'OPEN');
  there.clock.advance(59_999);
  await there.refused();
  there.clock.advance(1);
  assert.equal(await there.breaker.execute(good), 'good');
});

test('situation 17: after recovery a single failure does not open a breaker with minimumCalls of 10', async () => {
  const { breaker, clock, fail } = started({ failureThreshold: 99, failureRateThreshold: 0.5, minimumCalls: 10 });
  await fail(10);
  assert.equal(breaker.state, 'OPEN');
  clock.advance(60_000);
  await breaker.execute(good);
  assert.equal(breaker.state, 'CLOSED');
  await fail();
  assert.equal(breaker.state, 'CLOSED');
});

test('situation 18: the saved state after 200,000 calls is as small as after a hundred', () => {
  for (const options of [{ rateWindow: 'calls' }, { rateWindow: 'time' }, { slowCallSecs: 1 }] as const) {
    const { breaker, clock } = started(options);
    const held = (calls: number) => {
      for (let call = 0; call < calls; call++) {
        if (call % 1_000 === 0) clock.advance(1);
        breaker.execute(() => call);
      }
      return JSON.stringify(saveBreaker(breaker)).length;
    };
    const few = held(100);
    const many = held(200_000);
    assert.ok(many < few + 100 && many < 1_000, `${few} characters after a hundred, ${many} after 200,000`);
    assert.equal(clock.pending, 0);
  }
});

test('situation 19: after dispose no health check starts, and a running health check has no effect', async () => {
  const { gear, clock } = geared();
  let checks = 0;
  const answer = Promise.withResolvers<boolean>();
  const tool = gear.guard('tool', bad, {
    breaker: { failureThreshold: 1, healthCheckIntervalSecs: 5 },
  });
  gear.breaker('tool').checkHealth(() => {
    checks++;
    return answer.promise;
  });
  gear.startTask({ id: 't', limits: { maxIdleSecs: 100_000, maxDurationSecs: 100_000 } }).run(() => {
    void (tool() as Promise<unknown>).catch(() => {});
  });
  await clock.elapse(6_000);
  assert.equal(checks, 1);
  assert.equal(gear.breaker('tool').state, 'OPEN');
  gear.dispose();
  answer.resolve(true);
  await clock.elapse(30_000);
  assert.equal(checks, 1);
  assert.equal(gear.breaker('tool').state, 'OPEN');
  assert.equal(clock.pending, 0);
});

test('situation 20: with maxConcurrent 1 a timed-out call keeps its slot, so five calls run one function', async () => {
  const { breaker, clock } = started({ timeoutSecs: 1, maxConcurrent: 1, failureThreshold: 99 });
  let running = 0;
  const end = Promise.withResolvers<void>();
  for (let time = 0; time < 5; time++) {
    const call = breaker.execute(async () => {
      running++;
      await end.promise;
    });
    const ended = assert.rejects(call, time === 0 ? { name: 'TimeoutError' } : { code: 'concurrency_limit' });
    clock.advance(1_000);
    await ended;
  }
  assert.equal(running, 1);
  assert.deepEqual([breaker.stats.inFlight, breaker.stats.totalFailures, breaker.stats.rejectedRequests], [1, 1, 4]);
  end.resolve();
  await promisesSettled();
  assert.equal(breaker.stats.inFlight, 0);
  assert.equal(await breaker.execute(good), 'good');
});

test('situation 21: a guarded tool with maxConcurrent 1 keeps its slot after its timeout', async () => {
  const { gear, clock } = geared();
  let running = 0;
  const end = Promise.withResolvers<void>();
  const tool = gear.guard(
    'tool',
    async () => {
      running++;
      await end.promise;
      return 'done';
    },
    { timeoutSecs: 1, breaker: { maxConcurrent: 1, failureThreshold: 99 } },
  );
  const first = assert.rejects(tool() as Promise<unknown>, { name: 'TimeoutError' });
  await clock.elapse(1_000);
  await first;
  for (let time = 0; time < 4; time++) assert.ok(isRefused(await tool()));
  assert.equal(running, 1);
  end.resolve();
  await promisesSettled();
  assert.equal(await tool(), 'done');
});

test('situation 22: a listener that throws on a success changes neither the value nor the counts', async () => {
  const { gear } = geared({ policy: { journal: { level: 'all' } } });
  gear.onEntry((entry) => {
    throw new Error(`listener at ${entry.type}`);
  });
  const tool = gear.guard('tool', good);
  assert.equal(await tool(), 'good');
  const { totalSuccesses, totalFailures, totalRequests } = gear.breaker('tool').stats;
  assert.deepEqual([totalSuccesses, totalFailures, totalRequests], [1, 0, 1]);
  assert.ok(gear.snapshot().internalErrors > 0, 'and it is seen');
});

test('situation 23: a listener that throws on a trip does not replace the error of the caller', () => {
  const url = new URL('../../src/breaker.ts', import.meta.url).href;
  const script = `
    import { createBreaker } from ${JSON.stringify(url)};
    const reported = [];
    process.on('uncaughtException', () => reported.push('crash'));
    process.on('warning', ({ message }) => reported.push(message));
    const breaker = createBreaker({ failureThreshold: 1, successThreshold: 1 });
    const heard = [];
    breaker.onChange(() => { throw new Error('listener'); });
    breaker.onChange(({ type }) => heard.push(type));
    const ends = [];
    const note = (how) => (end) => ends.push(how + ' ' + (end?.message ?? end));
    await breaker.execute(() => Promise.reject(new Error('real'))).then(note('value'), note('error'));
    breaker.probeNow();
    await breaker.execute(async () => 'fine').then(note('value'), note('error'));
    try { breaker.execute(() => { throw new Error('sync'); }); } catch (error) { note('thrown')(error); }
    await new Promise(setImmediate);
    console.log(JSON.stringify({ ends, heard, reported, failures: breaker.stats.totalFailures, state: breaker.state }));
  `;
  const flags = ['--no-warnings', '--input-type=module', '-e', script];
  const said = execFileSync(process.execPath, flags, { encoding: 'utf8' });
  assert.deepEqual(JSON.parse(said), {
    ends: ['error real', 'value fine', 'thrown sync'],
    heard: ['opened', 'half-opened', 'closed', 'opened'],
    reported: Array(4).fill("a listener of the breaker 'breaker' threw: Error: listener"),
    failures: 2,
    state: 'OPEN',
  });
});

test('situation 24: a call that its caller aborts does not count as success or failure', async () => {
  const { breaker } = started();
  const controller = new AbortController();
  const { signal } = controller;
  const call = breaker.execute(
    () => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  );
  controller.abort();
  await assert.rejects(call, { name: 'AbortError' });
  assert.deepEqual([breaker.state, breaker.stats.totalFailures, breaker.stats.totalNeutrals], ['CLOSED', 0, 1]);
  const { gear } = geared();
  const tool = gear.guard('tool', async (given: AbortSignal) => given.throwIfAborted(), {
    breaker: { failureThreshold: 1 },
  });
  await assert.rejects(tool(signal) as Promise<unknown>, { name: 'AbortError' });
  assert.equal(gear.breaker('tool').state, 'CLOSED');
  assert.equal(gear.breaker('tool').stats.totalNeutrals, 1);
});
