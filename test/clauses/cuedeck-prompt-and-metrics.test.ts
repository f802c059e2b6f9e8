/** The C clauses about the prompt, the use cases and the metrics. */

import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { protocolPrompt } from '../../src/compat/index.ts';
import type { Refusal } from '../../src/index.ts';
import {
  type Act,
  attempt,
  fail,
  ok,
  refusedValue,
  stage,
  type Tool,
  tell,
  times,
  trip,
} from './guarded-tool-story.ts';

const { gear: cuedeckGear } = stage({ preset: 'cuedeck' });
const prompt = protocolPrompt(cuedeckGear.settings);

test('C25: there is a section for the system prompt, under its heading', () => {
  assert.match(prompt, /^## .*CIRCUIT BREAKER PROTOCOL$/m);
  assert.match(prompt, /`Error: CircuitBreakerOpen \(System Paused\)`/);
});

test('C26: the first step of the prompt is to stop at once and not to retry', () => {
  assert.match(prompt, /^1\. .*STOP immediately\. Do not retry the same action\.$/m);
});

test('C27: the second step of the prompt is to wait or to switch', () => {
  assert.match(prompt, /^2\. .*WAIT or SWITCH strategies\.$/m);
});

test('C28: the third step of the prompt asks why, with three questions', () => {
  const [, questions = ''] = /^3\. .*ANALYZE why:\n((?: {3}- .*\n)+)/m.exec(prompt) ?? [];
  assert.deepEqual(
    questions
      .trim()
      .split(/\s*- /)
      .filter(Boolean)
      .map((line) => line.trim()),
    ['Is the service down?', 'Am I spamming?', 'Is my input fundamentally wrong?'],
  );
});

test('C29: the fourth step of the prompt asks the human, with the tool, the wait and another approach', () => {
  const words = `"I've hit a circuit breaker on [Tool/Service]. Waiting 30s. Shall I try a different approach?"`;
  assert.ok(prompt.includes(words), prompt);
  assert.match(prompt, /^4\. .*ASK HUMAN: /m);
});

test('C30: the wait in the prompt is the wait in force', () => {
  const waiting = (policy: object) => protocolPrompt(stage({ ...policy }).gear.settings);
  assert.match(waiting({}), /Waiting 60s\./);
  assert.match(waiting({ circuit_breaker: { recovery_timeout: 7 } }), /Waiting 7s\./);
  assert.match(waiting({ circuit_breaker: { recovery: 'manual' } }), /Waiting for a manual reset\./);
});

/** An API that answers 500. */
const serverError: Act = () => {
  throw Object.assign(new Error('Internal Server Error'), { status: 500 });
};

test('C33: an LLM API that keeps answering 500 is no longer called, not even by retries', async () => {
  const { gear, clock } = stage({ preset: 'cuedeck' });
  let requests = 0;
  const complete = gear.guard(
    'openai/gpt',
    async () => {
      requests++;
      return serverError();
    },
    { kind: 'model' },
  );
  const asked = Promise.allSettled(Array.from({ length: 3 }, () => gear.retry(() => complete())));
  await clock.elapse(60_000);
  await asked;
  assert.equal(requests, 5);
  assert.equal(gear.breaker('openai/gpt').state, 'HALF_OPEN');
});

test('C34: after the reset timeout the API is tried once, and refused again if it still fails', async () => {
  const tool = stage({ preset: 'cuedeck' }).tool('search', { waits: true });
  await tell(tool, [...times(4, [serverError, 'failed', 'CLOSED']), [serverError, 'failed', 'OPEN']]);
  await tell(tool, [
    [30, '', 'HALF_OPEN'],
    [serverError, 'failed', 'OPEN'],
    [ok, 'threw circuit_open', 'OPEN'],
    [30, '', 'HALF_OPEN'],
    [ok, 'ok', 'CLOSED'],
  ]);
  assert.equal(tool.runs, 7);
});

/** A watcher whose events come as fast as a test emits them. */
function watched(lines: string[] = []) {
  const { gear, clock } = stage({}, { log: (line) => void lines.push(line) });
  const source = new EventEmitter();
  const heard: string[] = [];
  const trips: Refusal[] = [];
  const watch = gear.watch('docs', source, (event, file) => void heard.push(`${event} ${file}`), {
    maxEvents: 100,
    windowSecs: 10,
    events: ['change'],
    onTrip: (refusal) => void trips.push(refusal),
  });
  const emit = (count: number) => {
    for (let event = 0; event < count; event++) source.emit('change', 'a.md');
  };
  return { gear, clock, watch, heard, trips, emit };
}

test('C35: a watcher that fires too often is paused, and later events are dropped', async () => {
  const { watch, heard, trips, emit, clock } = watched();
  for (let window = 0; window < 5; window++) {
    emit(100);
    await clock.elapse(10_000);
  }
  assert.deepEqual([watch.paused, heard.length], [false, 500], 'as many as it may let through, window after window');
  emit(5_000);
  assert.equal(watch.paused, true);
  assert.deepEqual([heard.length, heard[0]], [600, 'change a.md']);
  assert.deepEqual(
    trips.map(({ code, counters }) => `${code} ${counters.actual} of ${counters.limit}`),
    ['storm 101 of 100'],
  );
});

test('C36: the user is warned in the log, once, and only a manual restart lets events through again', async () => {
  const lines: string[] = [];
  const { watch, heard, emit, clock, gear } = watched(lines);
  emit(1_000);
  await clock.elapse(24 * 3_600_000);
  emit(1);
  assert.deepEqual([watch.paused, heard.length], [true, 100], 'a day of silence does not start it again');
  const warnings = lines.filter((line) => line.includes('docs'));
  assert.equal(warnings.length, 1);
  assert.match(String(warnings[0]), /⚠️.*docs paused.*restart it by hand/);
  watch.restart();
  emit(1);
  assert.deepEqual([watch.paused, heard.length], [false, 101]);
  assert.ok(gear.journal().some(({ type }) => type === 'storm-restarted'));
});

test('C36: a breaker with manual recovery stays open until it is reset', async () => {
  const tool = stage({ preset: 'cuedeck-watcher' }).tool('watcher');
  await tell(tool, [...trip, [30 * 24 * 3600, '', 'OPEN'], [ok, 'threw circuit_open', 'OPEN']]);
  tool.breaker.reset();
  await tell(tool, [[ok, 'ok', 'CLOSED']]);
});

/** Opens it and lets it recover. */
async function openOnce(tool: Tool): Promise<void> {
  await tell(tool, [...trip, [60, '', 'HALF_OPEN'], [ok, 'ok', 'HALF_OPEN'], [ok, 'ok', 'CLOSED']]);
}

test('C37: breaker_trip_count counts openings, and more than 5 in an hour are an alert', async () => {
  const { tool, clock } = stage();
  const flaky = tool();
  for (let opening = 0; opening < 5; opening++) await openOnce(flaky);
  assert.deepEqual([flaky.metrics.breaker_trip_count, flaky.metrics.trips_per_hour], [5, 5]);
  assert.deepEqual(flaky.metrics.alerts, []);
  await openOnce(flaky);
  assert.equal(flaky.metrics.trips_per_hour, 6);
  assert.deepEqual(flaky.metrics.alerts, ['breaker_trip_count']);
  await clock.elapse(3_600_000 - clock.nowMs());
  assert.equal(flaky.metrics.trips_per_hour, 5, 'the first opening is an hour ago');
  assert.deepEqual(flaky.metrics.alerts, []);
  assert.equal(flaky.metrics.breaker_trip_count, 6);
});

test('C38: failure_rate is the share of failed calls in its window, from 10 on; above 10 % it alerts', async () => {
  const { tool, clock } = stage();
  const flaky = tool();
  const calls = async (act: Act, count: number) => {
    for (let call = 0; call < count; call++) await attempt(() => flaky.call(act));
  };
  await calls(fail, 1);
  await calls(ok, 8);
  assert.deepEqual([flaky.metrics.failure_rate, flaky.metrics.alerts], [undefined, []]);
  await calls(ok, 1);
  assert.deepEqual([flaky.metrics.failure_rate, flaky.metrics.alerts], [0.1, []], 'exactly 10 %');
  await calls(fail, 1);
  assert.equal(flaky.metrics.failure_rate, 2 / 11);
  assert.deepEqual(flaky.metrics.alerts, ['failure_rate']);
  await clock.elapse(300_000);
  assert.deepEqual([flaky.metrics.failure_rate, flaky.metrics.alerts], [undefined, []]);
});

test('C38: ignored outcomes do not count in the failure rate', async () => {
  const tool = stage().tool();
  const denied: Act = () => ({ permission_denied: true });
  for (let call = 0; call < 9; call++) await attempt(() => tool.call(call === 0 ? fail : ok));
  for (let call = 0; call < 20; call++) await attempt(() => tool.call(denied));
  assert.equal(tool.metrics.failure_rate, undefined);
  await attempt(() => tool.call(ok));
  assert.equal(tool.metrics.failure_rate, 0.1);
});

test('C39: time_in_open_state grows while the breaker is open, and over 5 minutes it alerts', async () => {
  const { tool, clock } = stage({ circuit_breaker: { recovery_timeout: 900 } });
  const down = tool();
  await refusedValue(down);
  const seen: unknown[] = [];
  for (const byMs of [1_000, 299_000, 1]) {
    await clock.elapse(byMs);
    seen.push(down.metrics.time_in_open_state, down.metrics.alerts.join());
  }
  assert.deepEqual(seen, [1_000, '', 300_000, '', 300_001, 'time_in_open_state']);
});

test('C39: consecutive open periods add up', async () => {
  const { tool, clock } = stage();
  const down = tool();
  await refusedValue(down);
  for (let probe = 0; probe < 5; probe++)
    await tell(down, [
      [60, '', 'HALF_OPEN'],
      [fail, 'failed', 'OPEN'],
    ]);
  assert.equal(down.metrics.time_in_open_state, 300_000);
  assert.equal(down.metrics.alerts.includes('time_in_open_state'), false);
  await clock.elapse(1_000);
  assert.equal(down.metrics.time_in_open_state, 301_000);
  assert.ok(down.metrics.alerts.includes('time_in_open_state'));
});
