import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type BreakerConfig,
  configFromEnv,
  DEFAULT_BREAKER_CONFIG,
  SessionBreaker,
  type SessionBreakerOptions,
} from '../../src/compat/black-box.ts';
import type { HaltReason } from '../../src/compat/halt-reason.ts';
import { simulatedClock } from '../../src/testing/simulated-clock.ts';

function session(config: Partial<BreakerConfig> = {}, options: SessionBreakerOptions = {}) {
  const clock = simulatedClock();
  const breaker = new SessionBreaker(config, { clock, env: {}, log: 'silent', ...options });
  const beat = (taskId: string, phase: string) => breaker.observe({ type: '[heartbeat]', taskId, phase });
  return { breaker, clock, beat };
}

test('the default limits equal the defaults of the policy', () => {
  assert.deepEqual(new SessionBreaker({}, { env: {} }).config, DEFAULT_BREAKER_CONFIG);
  assert.deepEqual(configFromEnv({}), DEFAULT_BREAKER_CONFIG);
});

test('every later event of a halted task returns the same halt object, and other tasks continue', () => {
  const { breaker, beat } = session({ maxToolCallsPerTask: 1 });
  beat('a', 'starting');
  beat('b', 'starting');
  breaker.observe({ type: 'tool_use', taskId: 'a' });
  const halt = breaker.observe({ type: 'tool_use', taskId: 'a' });
  assert.deepEqual(halt, { kind: 'ToolCallLimit', actual: 2, limit: 1 });
  assert.equal(breaker.observe({ type: 'tool_use', taskId: 'a' }), halt);
  assert.equal(beat('a', 'working'), halt);
  assert.equal(beat('a', 'starting'), halt, 'a duplicate start is no way out');
  assert.equal(breaker.observe({ type: 'tool_use', taskId: 'b' }), null);
  assert.equal(beat('a', 'done'), null);
  assert.deepEqual(breaker.snapshot().activeTasks, ['b']);
});

test('a task that starts again after its end has counters of zero', () => {
  const { breaker, beat } = session({ maxToolCallsPerTask: 1 });
  for (let round = 0; round < 3; round++) {
    beat('a', 'starting');
    assert.equal(breaker.observe({ type: 'tool_use' }), null);
    beat('a', 'error');
  }
  assert.equal(breaker.snapshot().internalErrors, 0);
});

test('a sweep returns each halt once, including a halt that another call detected', () => {
  const { breaker, clock, beat } = session();
  beat('a', 'starting');
  clock.advance(300_000);
  assert.deepEqual(breaker.sweep(), []);
  assert.deepEqual(breaker.sweep(300_001), [
    { taskId: 'a', halt: { kind: 'IdleTimeout', idleSecs: 301, limitSecs: 300 } },
  ]);
  assert.deepEqual(breaker.sweep(400_000), []);
  beat('b', 'starting');
  clock.advance(400_000);
  assert.deepEqual(
    breaker.sweep(Number.NaN).map(({ taskId }) => taskId),
    ['b'],
    'found by its own timer, and not told before',
  );
});

test('explicit sweeps leave one timer pending, and the end of the last task leaves none', () => {
  const { breaker, clock, beat } = session();
  beat('a', 'starting');
  for (let i = 0; i < 5; i++) breaker.sweep();
  assert.equal(clock.pending, 1);
  beat('a', 'done');
  assert.equal(clock.pending, 0);
});

test('onHalt is called once for each halted task, and may throw', () => {
  const heard: [string, HaltReason][] = [];
  const onHalt = (taskId: string, halt: HaltReason) => {
    heard.push([taskId, halt]);
    throw new Error('the host is down');
  };
  const { breaker, clock, beat } = session({ maxToolCallsPerTask: 1 }, { onHalt });
  beat('a', 'starting');
  beat('b', 'starting');
  breaker.observe({ type: 'tool_use' });
  const halt = breaker.observe({ type: 'tool_use' });
  clock.advance(1_000_000);
  assert.deepEqual(heard, [
    ['b', halt],
    ['a', { kind: 'IdleTimeout', idleSecs: 301, limitSecs: 300 }],
  ]);
  assert.equal(breaker.snapshot().internalErrors, 2);
});

test('usage of any model costs the Sonnet 4 price unless the caller passes prices', () => {
  const usage = { input_tokens: 1_000_000, output_tokens: 0, cache_read_input_tokens: 1_000_000 };
  const spent = (options: SessionBreakerOptions) => {
    const { breaker, beat } = session({}, options);
    beat('a', 'starting');
    breaker.observe({ type: 'usage', usage, model: 'some-model', id: 'm1' });
    breaker.observe({ type: 'usage', usage, model: 'some-model', id: 'm1' });
    return breaker.snapshot().tasks[0]?.tokenSpendCents;
  };
  assert.equal(spent({}), 330, 'the same blob twice counts once');
  const price = ({ model }: { model?: string }) => ({ costUsd: model === 'some-model' ? 0.02 : 0, basis: '' });
  assert.equal(spent({ prices: { price, highestPrice: price } }), 2);
});

test('events without a task are counted as ignored', () => {
  const { breaker, beat } = session();
  assert.equal(breaker.observe({ type: 'tool_use' }), null);
  assert.equal(breaker.observe({ type: 'tool_use', taskId: 'never' }), null);
  assert.equal(beat('never', 'done'), null);
  beat('a', 'starting');
  assert.equal(breaker.observe({ type: 'heartbeat', phase: 'done' }), null, 'an end without a name ends nobody');
  assert.equal(breaker.observe({ type: 'thinking' } as never), null);
  const { activeTasks, ignoredEvents, tasks } = breaker.snapshot();
  assert.deepEqual([activeTasks, ignoredEvents, tasks[0]?.toolCalls], [['a'], 5, 0]);
});

test('a task id may be any string', () => {
  const { breaker, beat } = session({ maxToolCallsPerTask: 1 });
  for (const taskId of ['', '__proto__', 'x'.repeat(5_000), 7 as never]) {
    beat(taskId, 'starting');
    breaker.observe({ type: 'tool_use', taskId });
    assert.equal(breaker.observe({ type: 'tool_use', taskId })?.kind, 'ToolCallLimit', String(taskId).slice(0, 10));
  }
  assert.equal(breaker.snapshot().internalErrors, 0);
});

test('an invalid config value is reported and replaced by its default; a missing value is read from env', () => {
  const lines: string[] = [];
  const config = {
    maxToolCallsPerTask: 0,
    maxIdleSecs: '5' as never,
    get maxTaskDurationSecs(): number {
      throw new Error('hostile');
    },
    similarityJaccardThreshold: 0.5,
  };
  const env = { BB_CIRCUIT_BREAKER_TOOL_CAP: '7', BB_CIRCUIT_BREAKER_COST_CAP_CENTS: '9', SWITCHGEAR_MODE: 'observe' };
  const { breaker } = session(config, { env, log: (line) => lines.push(line) });
  assert.deepEqual(breaker.config, {
    maxToolCallsPerTask: 50,
    maxTokenSpendCentsPerTask: 9,
    maxTaskDurationSecs: 1800,
    maxIdleSecs: 300,
    similarityJaccardThreshold: 0.5,
  });
  assert.equal(lines.length, 3);
  assert.deepEqual(new SessionBreaker(null as never, null as never).config, configFromEnv());
});

test('after dispose no task is active and no timer is pending', () => {
  const { breaker, clock, beat } = session();
  beat('a', 'starting');
  breaker.dispose();
  assert.equal(clock.pending, 0);
  assert.equal(breaker.observe({ type: 'tool_use' }), null);
  assert.deepEqual(breaker.snapshot().activeTasks, []);
});
