/** Where the programs behind seeds 000 and 001 went wrong: each defect that was found in them, told to the gear. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBreaker } from '../../src/breaker.ts';
import { createCircuitBreaker, getCircuitBreaker } from '../../src/compat/index.ts';
import { createSwitchgear, defaultSwitchgear, memoryStore, refusalOf } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';
import { attempt, came, fail, ok, refusedValue, stage, tell, times, trip } from '../clauses/guarded-tool-story.ts';

/** An act that ends when it is told to. */
function held() {
  let end: (value: string) => void = () => {};
  let give: (error: Error) => void = () => {};
  const act = () =>
    new Promise<string>((resolve, reject) => {
      end = resolve;
      give = reject;
    });
  return { act, end: (value = 'ok') => end(value), fail: () => give(new Error('down')) };
}

test('P 1: alternating failures and successes never open the breaker; only failures in a row count', async () => {
  const tool = stage().tool();
  for (let pair = 0; pair < 50; pair++) {
    await attempt(() => tool.call(fail));
    assert.equal(tool.breaker.stats.consecutiveFailures, 1);
    await attempt(() => tool.call(ok));
  }
  assert.deepEqual([tool.breaker.state, tool.breaker.stats.consecutiveFailures], ['CLOSED', 0]);
});

test('P 2: failures in a row open it, even if no window holds two of them', async () => {
  const tool = stage().tool();
  for (let call = 0; call < 5; call++) {
    assert.equal(tool.breaker.state, 'CLOSED');
    await tool.clock.elapse(86_400_000);
    await attempt(() => tool.call(fail));
  }
  assert.equal(tool.breaker.state, 'OPEN');
});

test('P 3: a probe that fails long after every window emptied closes the door at once', async () => {
  const tool = stage().tool();
  await tell(tool, [...trip, [100_000, '', 'HALF_OPEN'], [fail, 'failed', 'OPEN'], [ok, 'circuit_open', 'OPEN']]);
});

test('P 4: half-open lets one call pass at a time, and hints at a short wait to the others', async () => {
  const { tool, clock } = stage();
  const search = tool('search', { waits: true });
  await refusedValue(search);
  await clock.elapse(60_000);
  const probe = held();
  const first = came(() => search.call(probe.act));
  const refused = await search.call(ok);
  assert.equal(refusalOf(refused)?.code, 'circuit_open');
  const waitMs = (refusalOf(refused)?.retryAtMs ?? 0) - clock.nowMs();
  assert.ok(waitMs > 0 && waitMs <= 5_000, `${waitMs} ms`);
  probe.end();
  assert.equal(await first, 'ok');
});

test('P 5: a call that was admitted earlier and fails late does not push the recovery back', async () => {
  const { tool, clock } = stage();
  const search = tool('search', { waits: true, timeoutSecs: 0 });
  const straggler = held();
  const late = came(() => search.call(straggler.act));
  await tell(search, [...trip, [59, '', 'OPEN']]);
  straggler.fail();
  assert.equal(await late, 'failed');
  assert.equal(search.breaker.stats.lateResults, 1);
  await clock.elapse(1_000);
  assert.equal(search.breaker.state, 'HALF_OPEN');
});

test('P 6: a timeout counts as one failure; a call that its caller cancelled counts as none', async () => {
  const { tool, clock } = stage();
  const hung = tool('hung', { waits: true });
  for (let call = 0; call < 5; call++) void attempt(() => hung.call(held().act));
  await clock.elapse(30_000);
  assert.deepEqual([hung.breaker.state, hung.breaker.stats.totalFailures], ['OPEN', 5]);
  const cancelled = tool('cancelled', { waits: true });
  const abort = () => {
    throw new DOMException('the user went away', 'AbortError');
  };
  await tell(cancelled, times(20, [abort, 'failed', 'CLOSED']));
  assert.equal(cancelled.breaker.stats.totalNeutrals, 20);
});

test('P 7: the health check runs though the first call found the circuit closed, for sync tools too', async () => {
  for (const waits of [false, true]) {
    let asked = 0;
    const tool = stage().tool('search', {
      waits,
      healthCheck: () => {
        asked++;
        return true;
      },
    });
    await tell(tool, [[ok, 'ok', 'CLOSED'], ...trip, [31, '', 'HALF_OPEN']]);
    assert.equal(asked, 1);
  }
});

test('P 7: the health check continues after the end of the task in which the breaker opened', async () => {
  const { gear, tool, clock } = stage();
  const search = tool('search', { healthCheck: () => true });
  await gear.task({}, () => tell(search, trip));
  await clock.elapse(31_000);
  assert.equal(search.breaker.state, 'HALF_OPEN');
});

test('P 8: settings for a name that exists are taken, and settings that cannot be are an error', () => {
  getCircuitBreaker('tool_trap_8', { failure_threshold: 9 });
  assert.equal(getCircuitBreaker('tool_trap_8', { failure_threshold: 4 }).config.failure_threshold, 4);
  assert.throws(() => getCircuitBreaker('tool_trap_8', { failure_threshold: 0 }), /failure_threshold.*got 0/);
  assert.throws(() => getCircuitBreaker('tool_trap_8', { failure_treshold: 3 } as never), /failure_treshold/);
  assert.equal(getCircuitBreaker('tool_trap_8').config.failure_threshold, 4);
});

test('P 9: a call that hangs is given up after its timeout', async () => {
  const { tool, clock } = stage({ tools: { slow: { timeout: 3 } } });
  const slow = tool('slow', { waits: true });
  const ended = came(() => slow.call(held().act));
  await clock.elapse(3_000);
  assert.equal(await ended, 'failed');
});

test('P 10: a refusal returned as a result is not a success and does not close the breaker', async () => {
  const denied = () => ({ permission_denied: true, toString: () => 'denied' });
  const tool = stage().tool();
  await tell(tool, [...times(4, [fail, 'failed', 'CLOSED']), [denied, 'denied', 'CLOSED']]);
  assert.equal(tool.breaker.stats.consecutiveFailures, 4);
  await tell(tool, [
    [fail, 'failed', 'OPEN'],
    [60, '', 'HALF_OPEN'],
    ...times(5, [denied, 'denied', 'HALF_OPEN']),
    [fail, 'failed', 'OPEN'],
  ]);
});

test('P 11: tuning and observing by name reach the breakers that agents really use', async () => {
  const gear = defaultSwitchgear();
  const tool = gear.guard('trap_11', () => fail());
  const breaker = getCircuitBreaker('tool_trap_11', { failure_threshold: 2 });
  const seen = await gear.task({ agent: 'one' }, async () => {
    const said: string[] = [];
    for (let call = 0; call < 3; call++) said.push(await came(() => tool()));
    return said;
  });
  assert.deepEqual(seen, { status: 'done', value: ['failed', 'failed', 'circuit_open'] });
  assert.deepEqual([breaker.state, breaker.stats.rejected_requests], ['OPEN', 1]);
  const other = await gear.task({ agent: 'two' }, () => came(() => tool()));
  assert.deepEqual(other, { status: 'done', value: 'failed' }, 'another agent has a breaker of its own');
});

test('P 12: an open circuit is an answer: no path retries it, returned or thrown', async () => {
  for (const graceful_degradation of [true, false]) {
    for (const waits of [true, false]) {
      const { gear, tool, clock } = stage({ circuit_breaker: { graceful_degradation } });
      const search = tool('search', { waits });
      await refusedValue(search);
      const rejected = search.breaker.stats.rejectedRequests;
      const said = came(() => gear.retry(() => search.call(ok), { retries: 3 }));
      await clock.elapse(10_000);
      assert.equal(await said, graceful_degradation ? 'circuit_open' : 'threw circuit_open');
      assert.equal(search.breaker.stats.rejectedRequests, rejected + 1);
    }
  }
});

test('P 13: every message contains the recovery timeout in force', async () => {
  const lines: string[] = [];
  const { gear, tool } = stage({ circuit_breaker: { recovery_timeout: 17 } }, { log: (line) => void lines.push(line) });
  const value = await refusedValue(tool('search'));
  assert.match(String(value?.remediation), /\(17s\)/);
  assert.match(String(refusalOf(value)?.explanation), /in 17s/);
  assert.ok(lines.some((line) => line.includes('17s')));
  assert.doesNotMatch(JSON.stringify([value, gear.journal()]) + lines.join(), /60s/);
});

test('P 14: a breaker belongs to a name, not to an object, so no other object inherits it', async () => {
  const clock = simulatedClock();
  const store = memoryStore(clock);
  const gearOf = (agent: string) => createSwitchgear({ agent, store, clock, log: 'silent', env: {} });
  const first = gearOf('Researcher').guard('search', () => fail());
  for (let call = 0; call < 5; call++) await attempt(() => first());
  const again = gearOf('Researcher').guard('search', () => 'ok');
  const other = gearOf('Writer').guard('search', () => 'ok');
  assert.equal(await came(() => again()), 'circuit_open');
  assert.equal(await came(() => other()), 'ok');
});

test('P 15: a wall clock that is set forwards or back changes nothing', async () => {
  const { tool, clock } = stage();
  const search = tool();
  await tell(search, trip);
  clock.wallJump(86_400_000);
  await tell(search, [[ok, 'circuit_open', 'OPEN']]);
  clock.wallJump(-2 * 86_400_000);
  await tell(search, [
    [59, '', 'OPEN'],
    [1, '', 'HALF_OPEN'],
  ]);
});

test('P 16: one admitted call is one outcome, sync or async, retried or not', async () => {
  for (const waits of [true, false]) {
    const { gear, tool, clock } = stage({ circuit_breaker: { failure_threshold: 100 } });
    const search = tool('search', { waits });
    const retried = attempt(() => gear.retry(() => search.call(fail), { retries: 3 }));
    await clock.elapse(10_000);
    await retried;
    for (let call = 0; call < 7; call++) await attempt(() => search.call(ok));
    const { totalRequests, totalFailures, totalSuccesses, totalNeutrals, inFlight } = search.breaker.stats;
    assert.deepEqual([totalRequests, totalFailures, totalSuccesses, totalNeutrals, inFlight], [11, 4, 7, 0, 0]);
    assert.equal(search.runs, 11);
  }
});

test('C: the lists of errors decide what counts, and an error in no list counts', async () => {
  const missing = () => {
    throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
  };
  const unparsable = () => {
    throw Object.assign(new Error('bad front matter'), { name: 'ParseError' });
  };
  const tool = stage({ preset: 'cuedeck' }).tool('read_doc');
  await tell(tool, [
    ...times(20, [missing, 'failed', 'CLOSED']),
    ...times(4, [unparsable, 'failed', 'CLOSED']),
    [unparsable, 'failed', 'OPEN'],
  ]);
});

test('C: half-open is more than a comment: the breaker alone lets one caller pass as well', async () => {
  const clock = simulatedClock();
  const breaker = createBreaker({ failureThreshold: 1, recoveryTimeoutSecs: 30, successThreshold: 1, clock });
  await attempt(() => breaker.execute(fail));
  clock.advance(30_000);
  const probe = held();
  const first = came(() => breaker.execute(probe.act));
  const others = Array.from({ length: 10 }, () => attempt(() => breaker.execute(ok)));
  for (const { error } of await Promise.all(others)) assert.match(String(error), /CircuitBreakerOpen/);
  probe.end();
  assert.equal(await first, 'ok');
  assert.equal(breaker.state, 'CLOSED');
});

test('C: a slow success that was admitted before the trip does not close an open breaker', async () => {
  const clock = simulatedClock();
  const breaker = createCircuitBreaker(5, 30, { clock, log: 'silent' });
  const slow = held();
  const late = came(() => breaker.call(slow.act));
  for (let call = 0; call < 5; call++) await attempt(() => breaker.call(fail));
  slow.end();
  assert.equal(await late, 'ok');
  assert.equal(breaker.state, 'OPEN');
  assert.equal(await came(() => breaker.call(ok)), 'threw circuit_open');
});

test('C: a straggler that fails after the trip does not restart the clock', async () => {
  const clock = simulatedClock();
  const breaker = createCircuitBreaker(5, 30, { clock, log: 'silent' });
  const slow = held();
  const late = came(() => breaker.call(slow.act));
  for (let call = 0; call < 5; call++) await attempt(() => breaker.call(fail));
  clock.advance(29_000);
  slow.fail();
  assert.equal(await late, 'failed');
  clock.advance(1_000);
  assert.equal(breaker.state, 'HALF_OPEN');
});

test('C: a failed probe opens the breaker even after a successful one', async () => {
  const tool = stage({ circuit_breaker: { failure_threshold: 50, success_threshold: 9 } }).tool();
  await tell(tool, [
    ...times(49, [fail, 'failed', 'CLOSED']),
    [fail, 'failed', 'OPEN'],
    [60, '', 'HALF_OPEN'],
    ...times(8, [ok, 'ok', 'HALF_OPEN']),
    [fail, 'failed', 'OPEN'],
  ]);
});

test('C: the error and the prompt speak of the same thing: one code, both names', async () => {
  const tool = stage({ preset: 'cuedeck' }).tool();
  await tell(tool, trip);
  const { error } = await attempt(() => tool.call(ok));
  const { name, message, code } = error as Error & { readonly code: string };
  assert.deepEqual([name, code], ['CircuitBreakerOpen', 'circuit_open']);
  assert.match(message, /CircuitBreakerOpen \(System Paused\).*circuit breaker open/);
});

test('C: the failure rate asks for attention only once there are enough calls', async () => {
  const tool = stage().tool();
  await tell(tool, [
    [fail, 'failed', 'CLOSED'],
    [ok, 'ok', 'CLOSED'],
  ]);
  assert.deepEqual([tool.metrics.failure_rate, tool.metrics.alerts], [undefined, []]);
});
