/** The P clauses about tripping and recovery, and the settings that move them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusalOf } from '../../src/index.ts';
import { attempt, came, fail, ok, refusedValue, stage, tell, times, trip } from './guarded-tool-story.ts';

const { settings } = stage().gear;
const defaults = settings.circuitBreaker;

test('P13: only consecutive failures open the breaker, however far apart they are', async () => {
  const alternating = stage().tool();
  for (let pair = 0; pair < 20; pair++) {
    await tell(alternating, [
      [fail, 'failed', 'CLOSED'],
      [ok, 'ok', 'CLOSED'],
    ]);
  }
  const spaced = stage().tool();
  const seen: string[] = [];
  for (let call = 0; call < 10; call++) {
    seen.push(await came(() => spaced.call(fail)));
    await spaced.clock.elapse(call < 4 ? 100_000 : 1_000);
  }
  assert.deepEqual(seen, [...Array(5).fill('failed'), ...Array(5).fill('circuit_open')]);
});

test('P14: failures 1 to 5 reach the tool, the 5th opens the breaker, and call 6 is rejected', async () => {
  const tool = stage().tool();
  await tell(tool, [...trip, [fail, 'circuit_open', 'OPEN'], [ok, 'circuit_open', 'OPEN']]);
  assert.equal(tool.runs, 5);
});

test('P15: a breaker starts CLOSED and has the states CLOSED, OPEN and HALF_OPEN', async () => {
  const tool = stage().tool();
  const states = new Set<string>([tool.breaker.state]);
  assert.deepEqual([...states], ['CLOSED']);
  for (let call = 0; call < 5; call++) await attempt(() => tool.call(fail));
  states.add(tool.breaker.state);
  await tool.clock.elapse(60_000);
  states.add(tool.breaker.state);
  assert.deepEqual([...states], ['CLOSED', 'OPEN', 'HALF_OPEN']);
});

test('P16: five failures lead from CLOSED to OPEN, four do not', async () => {
  await tell(stage().tool(), [...times(4, [fail, 'failed', 'CLOSED']), [3600, '', 'CLOSED'], [fail, 'failed', 'OPEN']]);
});

test('P17: OPEN turns into HALF_OPEN once 60 s have passed, and not before', async () => {
  await tell(stage().tool(), [
    ...trip,
    [59.999, '', 'OPEN'],
    [ok, 'circuit_open', 'OPEN'],
    [0.001, '', 'HALF_OPEN'],
    [ok, 'ok', 'HALF_OPEN'],
  ]);
});

test('P18: a rejected call leaves an open breaker unchanged', async () => {
  const tool = stage().tool();
  await tell(tool, trip);
  const before = tool.breaker.stats;
  await tell(tool, [[59, '', 'OPEN'], ...times(10, [fail, 'circuit_open', 'OPEN'])]);
  const { totalRequests, rejectedRequests } = before;
  const after = { ...before, totalRequests: totalRequests + 10, rejectedRequests: rejectedRequests + 10 };
  assert.deepEqual(tool.breaker.stats, after);
  await tell(tool, [[1, '', 'HALF_OPEN']]);
});

test('P19: the second success in HALF_OPEN closes the breaker, the first does not', async () => {
  await tell(stage().tool(), [
    ...trip,
    [60, '', 'HALF_OPEN'],
    [ok, 'ok', 'HALF_OPEN'],
    [ok, 'ok', 'CLOSED'],
    ...times(4, [fail, 'failed', 'CLOSED']),
  ]);
});

test('P20: a failure in HALF_OPEN opens the breaker again with a fresh wait, even with empty windows', async () => {
  await tell(stage().tool(), [
    ...trip,
    [3600, '', 'HALF_OPEN'],
    [fail, 'failed', 'OPEN'],
    [fail, 'circuit_open', 'OPEN'],
    [59.999, '', 'OPEN'],
    [0.001, '', 'HALF_OPEN'],
    [ok, 'ok', 'HALF_OPEN'],
    [fail, 'failed', 'OPEN'],
    [ok, 'circuit_open', 'OPEN'],
  ]);
});

test('P21: of many callers in HALF_OPEN exactly one runs, and the next only after it has ended', async () => {
  const { tool, clock } = stage();
  const search = tool('search', { waits: true });
  await refusedValue(search);
  await clock.elapse(60_000);
  const waiting: ((value: string) => void)[] = [];
  const act = () => new Promise<string>((resolve) => waiting.push(resolve));
  const first = Array.from({ length: 20 }, () => came(() => search.call(act)));
  await clock.elapse(0);
  assert.equal(search.runs, 6);
  waiting[0]?.('ok');
  const seen = waiting.length > 1 ? [] : await Promise.all(first);
  assert.deepEqual(seen, ['ok', ...Array(19).fill('circuit_open')]);
  assert.equal(search.breaker.state, 'HALF_OPEN');
  await tell(search, [
    [ok, 'ok', 'CLOSED'],
    [ok, 'ok', 'CLOSED'],
  ]);
});

test('P22: failure_threshold is 5 by default, and another number takes effect', async () => {
  assert.equal(defaults.failureThreshold, 5);
  const tool = stage({ circuit_breaker: { failure_threshold: 2 } }).tool();
  await tell(tool, [
    [fail, 'failed', 'CLOSED'],
    [fail, 'failed', 'OPEN'],
  ]);
});

test('P23: recovery_timeout is 60 s by default, and another number takes effect', async () => {
  assert.equal(defaults.recoveryTimeoutSecs, 60);
  const tool = stage({ circuit_breaker: { recovery_timeout: 0.5 } }).tool();
  await tell(tool, [...trip, [0.499, '', 'OPEN'], [0.001, '', 'HALF_OPEN']]);
});

test('P24: success_threshold is 2 by default, and another number takes effect', async () => {
  assert.equal(defaults.successThreshold, 2);
  const tool = stage({ circuit_breaker: { success_threshold: 3 } }).tool();
  await tell(tool, [
    ...trip,
    [60, '', 'HALF_OPEN'],
    [ok, 'ok', 'HALF_OPEN'],
    [ok, 'ok', 'HALF_OPEN'],
    [ok, 'ok', 'CLOSED'],
  ]);
});

test('P25: a call longer than timeout, 30 s, fails once; its signal aborts, its late end is dropped', async () => {
  assert.equal(defaults.timeoutSecs, 30);
  const { gear, clock } = stage();
  let end: (value: string) => void = () => {};
  let signal: AbortSignal | undefined;
  const slow = gear.guard('slow', async () => {
    signal = gear.currentCall()?.signal;
    return await new Promise<string>((resolve) => {
      end = resolve;
    });
  });
  let seen = 'nothing yet';
  attempt(() => slow()).then(({ error }) => {
    seen = (error as Error | undefined)?.name ?? 'a value';
  });
  await clock.elapse(29_999);
  assert.equal(seen, 'nothing yet');
  assert.equal(gear.breaker('slow').stats.inFlight, 1);
  await clock.elapse(1);
  assert.equal(seen, 'TimeoutError');
  assert.equal(signal?.aborted, true);
  end('too late');
  await clock.elapse(0);
  const { totalFailures, totalSuccesses, totalRequests, consecutiveFailures, inFlight } = gear.breaker('slow').stats;
  assert.deepEqual([totalRequests, totalFailures, consecutiveFailures], [1, 1, 1]);
  assert.deepEqual([totalSuccesses, inFlight], [0, 0]);
});

test('P25: five hanging calls open the breaker, and another timeout takes effect', async () => {
  const { gear, clock } = stage({ circuit_breaker: { timeout: 2 } });
  const hang = gear.guard('hang', async () => await new Promise(() => {}));
  for (let call = 0; call < 5; call++) void attempt(() => hang());
  await clock.elapse(2_000);
  assert.equal(gear.breaker('hang').state, 'OPEN');
  assert.equal(gear.breaker('hang').stats.totalFailures, 5);
});

test('P25: a synchronous call cannot be stopped: its late result passes and counts as a failure', async () => {
  const { tool, clock } = stage();
  const slow = tool();
  const late = () => {
    clock.advance(30_001);
    return 'late';
  };
  await tell(slow, [...times(4, [late, 'late', 'CLOSED']), [late, 'late', 'OPEN']]);
});

test('P26: monitor_window is 300 s by default; it is the window of the failure rate and trips nothing', async () => {
  assert.equal(defaults.monitorWindowSecs, 300);
  const tool = stage().tool();
  for (let call = 0; call < 5; call++) {
    await attempt(() => tool.call(fail));
    await attempt(() => tool.call(ok));
  }
  assert.equal(tool.metrics.failure_rate, 0.5);
  assert.equal(tool.breaker.state, 'CLOSED');
  await tool.clock.elapse(299_000);
  assert.equal(tool.metrics.failure_rate, 0.5);
  await tool.clock.elapse(1_000);
  assert.equal(tool.metrics.failure_rate, undefined);
  const short = stage({ circuit_breaker: { monitor_window: 30 } }).tool();
  for (let call = 0; call < 10; call++) await attempt(() => short.call(ok));
  await short.clock.elapse(30_000);
  assert.equal(short.metrics.failure_rate, undefined);
});

test('P27: by default an open breaker runs health checks; a success makes it HALF_OPEN, never CLOSED', async () => {
  assert.equal(defaults.enableHealthCheck, true);
  const { tool, gear } = stage({ circuit_breaker: { recovery_timeout: 600 } });
  let well = false;
  let asked = 0;
  const search = tool('search', {
    healthCheck: () => {
      asked++;
      return well;
    },
  });
  await tell(search, [
    [ok, 'ok', 'CLOSED'],
    [120, '', 'CLOSED'],
  ]);
  assert.equal(asked, 0, 'nobody asks after a tool that works');
  await tell(search, [...trip, [90, '', 'OPEN']]);
  assert.equal(asked, 3);
  well = true;
  await tell(search, [
    [30, '', 'HALF_OPEN'],
    [300, '', 'HALF_OPEN'],
  ]);
  assert.equal(asked, 4, 'nobody asks once it is known');
  await tell(search, [
    [ok, 'ok', 'HALF_OPEN'],
    [ok, 'ok', 'CLOSED'],
  ]);
  assert.equal(gear.snapshot().breakers.find(({ name }) => name === 'search')?.healthCheck, 'on');
});

test('P27: switched off or without a function, no health check runs, and the snapshot says so', async () => {
  const { tool, gear, clock } = stage({ circuit_breaker: { enable_health_check: false, recovery_timeout: 600 } });
  let asked = 0;
  const off = tool('off', {
    healthCheck: () => {
      asked++;
      return true;
    },
  });
  const none = tool('none');
  await tell(off, trip);
  await tell(none, trip);
  await clock.elapse(300_000);
  assert.equal(asked, 0);
  assert.equal(off.breaker.state, 'OPEN');
  const said = gear.snapshot().breakers.map(({ name, healthCheck }) => `${name} ${healthCheck}`);
  assert.deepEqual(said.sort(), ['none none', 'off off']);
});

test('P28: health_check_interval is 30 s by default, and another number takes effect', async () => {
  assert.equal(defaults.healthCheckIntervalSecs, 30);
  for (const [interval, wanted] of [
    [30, [30, 60, 90]],
    [10, [10, 20, 30, 40, 50, 60, 70, 80, 90]],
  ] as const) {
    const { tool, clock } = stage({ circuit_breaker: { health_check_interval: interval, recovery_timeout: 600 } });
    const askedAt: number[] = [];
    const search = tool('search', {
      healthCheck: () => {
        askedAt.push(clock.nowMs() / 1000);
        throw new Error('still down');
      },
    });
    await tell(search, [...trip, [95, '', 'OPEN']]);
    assert.deepEqual(askedAt, wanted);
  }
});

test('P36: breakers of different tools are independent and may differ in their settings', async () => {
  const { tool } = stage({ tools: { strict: { failure_threshold: 2 } } });
  const strict = tool('strict');
  const other = tool('other');
  await tell(strict, [
    [fail, 'failed', 'CLOSED'],
    [fail, 'failed', 'OPEN'],
  ]);
  await tell(other, [...times(4, [fail, 'failed', 'CLOSED']), [fail, 'failed', 'OPEN']]);
  await tell(tool('third'), [[ok, 'ok', 'CLOSED']]);
  assert.equal(refusalOf(strict.call(ok))?.counters.limit, 2);
});
