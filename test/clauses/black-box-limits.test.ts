import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type AnthropicUsage,
  configFromEnv,
  DEFAULT_BREAKER_CONFIG,
  estimateUsageCents,
} from '../../src/compat/index.ts';
import { createSwitchgear } from '../../src/index.ts';
import { active } from './session-breaker.ts';

const call = { type: 'tool_use' } as const;

test('B17: more than 50 tool calls in a task trip: the 51st does', () => {
  const { repeat } = active();
  assert.equal(repeat(50, call), null);
  assert.deepEqual(repeat(1, call), { kind: 'ToolCallLimit', actual: 51, limit: 50 });
});

test('B18: more than 5,000 cents in a task trip, and 5,000 do not', () => {
  const { breaker } = active();
  const tell = (usage: AnthropicUsage) => breaker.observe({ type: 'usage', usage });
  assert.equal(tell({ input_tokens: 16_666_666 }), null);
  // A token read from the cache costs less than a millionth of a dollar, which is what it is rounded up to.
  for (let i = 0; i < 2; i++) assert.equal(tell({ cache_read_input_tokens: 1 }), null);
  assert.equal(breaker.snapshot().tasks[0]?.tokenSpendCents, 5000);
  assert.deepEqual(tell({ cache_read_input_tokens: 1 }), {
    kind: 'TokenSpendLimit',
    actualCents: 5001,
    limitCents: 5000,
  });
});

test('B19: cost comes from usage blobs at Sonnet 4 list rates', () => {
  const blobs = [
    [{ input_tokens: 1_000_000 }, 300],
    [{ output_tokens: 1_000_000 }, 1500],
    [{ cache_creation_input_tokens: 1_000_000 }, 375],
    [{ cache_read_input_tokens: 1_000_000 }, 30],
    [{ input_tokens: 1000, output_tokens: 500, cache_read_input_tokens: 10_000 }, 1.35],
  ] as const;
  for (const [usage, cents] of blobs) {
    assert.equal(estimateUsageCents(usage), cents);
    const { breaker } = active();
    breaker.observe({ type: 'usage', usage });
    assert.equal(breaker.snapshot().tasks[0]?.tokenSpendCents, cents);
  }
});

test('B20: more than 1,800 seconds since the start of a task trip, however busy it is', () => {
  const { breaker, clock, beat } = active();
  for (let minute = 0; minute < 30; minute++) {
    clock.advance(60_000);
    assert.equal(beat('research', 'working'), null);
  }
  assert.deepEqual(breaker.sweep(), []);
  clock.advance(1_000);
  assert.deepEqual(beat('research', 'working'), { kind: 'DurationLimit', actualSecs: 1801, limitSecs: 1800 });
});

test('B21: more than 300 seconds without an event trip, and any event restarts the time', () => {
  const { breaker, clock, beat, say } = active({ maxTaskDurationSecs: 10_000 });
  for (const tell of [
    () => breaker.observe(call),
    () => say('hello')[0],
    () => breaker.observe({ type: 'usage', usage: {} }),
    () => beat('research', 'working'),
    () => beat('research', 'starting'),
  ]) {
    clock.advance(300_000);
    assert.equal(tell(), null);
  }
  clock.advance(301_000);
  assert.deepEqual(beat('research', 'working'), { kind: 'IdleTimeout', idleSecs: 301, limitSecs: 300 });
});

test('B22: a task without any event trips the idle limit', () => {
  const heard: string[] = [];
  const { clock } = active({}, { onHalt: (taskId, { kind }) => heard.push(`${taskId}: ${kind}`) });
  clock.advance(302_000);
  assert.deepEqual(heard, ['research: IdleTimeout']);
});

/** Words that differ from each other. */
function words(from: number, to: number): string {
  return Array.from({ length: to - from }, (_, index) => `w${from + index}`).join(' ');
}

test('B23: three outputs in a row that are 0.95 alike trip', () => {
  // 38 shared of 40 in all are exactly 0.95.
  const exactly = [words(0, 39), words(1, 40), words(0, 39)];
  assert.deepEqual(active().say(...exactly), [
    null,
    null,
    { kind: 'OutputLoop', windowSize: 3, similarityJaccard: 0.95, threshold: 0.95 },
  ]);
  const less = [words(0, 38), words(1, 39), words(0, 38)];
  assert.deepEqual(active().say(...less), [null, null, null]);
});

test('B24: outputs are split into words on whitespace alone', () => {
  assert.equal(active().say('one two three', ' one\ttwo\n\nthree ', 'three  two one').at(-1)?.kind, 'OutputLoop');
  assert.equal(active().say('one two three', 'one,two,three', 'one-two-three').at(-1), null);
});

test('B25: at most 512 words of each output are compared', () => {
  const preamble = words(0, 512);
  const same = ['apples', 'pears', 'plums'].map((fruit) => `${preamble} ${fruit.repeat(3)} ${words(600, 900)}${fruit}`);
  assert.equal(
    active()
      .say(...same)
      .at(-1)?.kind,
    'OutputLoop',
  );
  const different = [0, 1, 2].map((part) => `${words(0, 400)} ${words(1000 * part + 1000, 1000 * part + 1112)}`);
  assert.equal(
    active()
      .say(...different)
      .at(-1),
    null,
  );
});

test('B26: both neighbouring pairs must be alike; the first and the third need not be', () => {
  const drift = [words(2, 41), words(0, 41), words(0, 39)];
  assert.equal(
    active()
      .say(...drift)
      .at(-1)?.kind,
    'OutputLoop',
    '39 of 41, and 39 of 41; the ends share 37 of 41',
  );
  assert.equal(active().say('a', 'a', 'b').at(-1), null);
  assert.equal(active().say('b', 'a', 'a').at(-1), null);
  const { say } = active();
  const [, , halt] = say(words(0, 41), words(0, 41), words(0, 39));
  assert.equal(halt?.kind === 'OutputLoop' && halt.similarityJaccard, 39 / 41, 'the smaller of the two is told');
});

test('B27: two empty outputs compare as alike, so three of them trip', () => {
  assert.deepEqual(active().say('', '  ', '\n').at(-1), {
    kind: 'OutputLoop',
    windowSize: 3,
    similarityJaccard: 1,
    threshold: 0.95,
  });
});

test('B28: each halt carries its kind and its own numbers', () => {
  const calls = active({ maxToolCallsPerTask: 1 }).repeat(2, call);
  const spend = active({ maxTokenSpendCentsPerTask: 1 }).repeat(1, { type: 'usage', usage: { output_tokens: 1000 } });
  const loop = active({ similarityJaccardThreshold: 0.5 }).say('a b', 'a b c', 'a b c').at(-1);
  const slow = active({ maxTaskDurationSecs: 2 });
  slow.clock.advance(3_000);
  const idle = active({ maxIdleSecs: 2 });
  idle.clock.advance(3_000);
  assert.deepEqual(
    [calls, spend, slow.beat('research', 'working'), idle.beat('research', 'working'), loop],
    [
      { kind: 'ToolCallLimit', actual: 2, limit: 1 },
      { kind: 'TokenSpendLimit', actualCents: 2, limitCents: 1 },
      { kind: 'DurationLimit', actualSecs: 3, limitSecs: 2 },
      { kind: 'IdleTimeout', idleSecs: 3, limitSecs: 2 },
      { kind: 'OutputLoop', windowSize: 3, similarityJaccard: 2 / 3, threshold: 0.5 },
    ],
  );
});

test('B29: the defaults are exported as DEFAULT_BREAKER_CONFIG and are in force', () => {
  const expected = {
    maxToolCallsPerTask: 50,
    maxTokenSpendCentsPerTask: 5000,
    maxTaskDurationSecs: 1800,
    maxIdleSecs: 300,
    similarityJaccardThreshold: 0.95,
  };
  assert.deepEqual({ ...DEFAULT_BREAKER_CONFIG }, expected);
  assert.deepEqual({ ...active().breaker.config }, expected);
});

test('B30: BB_CIRCUIT_BREAKER_TOOL_CAP sets the cap on calls', () => {
  const env = { BB_CIRCUIT_BREAKER_TOOL_CAP: '3' };
  assert.equal(configFromEnv(env).maxToolCallsPerTask, 3);
  assert.deepEqual(active({}, { env }).repeat(4, call), { kind: 'ToolCallLimit', actual: 4, limit: 3 });
});

test('B31: BB_CIRCUIT_BREAKER_COST_CAP_CENTS sets the cap on spend', () => {
  const env = { BB_CIRCUIT_BREAKER_COST_CAP_CENTS: '299' };
  assert.equal(configFromEnv(env).maxTokenSpendCentsPerTask, 299);
  const usage = { input_tokens: 1_000_000 };
  const halt = active({}, { env }).repeat(1, { type: 'usage', usage });
  assert.deepEqual(halt, { kind: 'TokenSpendLimit', actualCents: 300, limitCents: 299 });
});

test('B32: BB_CIRCUIT_BREAKER_DURATION_SECS sets the longest duration', () => {
  const env = { BB_CIRCUIT_BREAKER_DURATION_SECS: ' 60 ' };
  assert.equal(configFromEnv(env).maxTaskDurationSecs, 60);
  const { clock, beat } = active({}, { env });
  clock.advance(61_000);
  assert.deepEqual(beat('research', 'working'), { kind: 'DurationLimit', actualSecs: 61, limitSecs: 60 });
});

test('B33: BB_CIRCUIT_BREAKER_IDLE_SECS sets the idle limit', () => {
  const env = { BB_CIRCUIT_BREAKER_IDLE_SECS: '20' };
  assert.equal(configFromEnv(env).maxIdleSecs, 20);
  const { clock, beat } = active({}, { env });
  clock.advance(21_000);
  assert.deepEqual(beat('research', 'working'), { kind: 'IdleTimeout', idleSecs: 21, limitSecs: 20 });
});

test('B34: BB_CIRCUIT_BREAKER_JACCARD sets the similarity limit', () => {
  const env = { BB_CIRCUIT_BREAKER_JACCARD: '0.5' };
  assert.equal(configFromEnv(env).similarityJaccardThreshold, 0.5);
  assert.equal(active({}, { env }).say('a b', 'a b c', 'a b').at(-1)?.kind, 'OutputLoop');
});

test('B35: every invalid value falls back to the default, and none disables a limit', () => {
  const bad = ['', ' ', '0', '-1', '-0.5', 'abc', 'NaN', 'Infinity', '1e3', '0x10', '50abc', '1,000', '5 0', '\u0665'];
  const words = ['null', 'undefined', 'off', 'none', 'false', 'true', '99999999999999999999', '+5', '.5.', '[]', '∞'];
  const names = ['TOOL_CAP', 'COST_CAP_CENTS', 'DURATION_SECS', 'IDLE_SECS', 'JACCARD'];
  const own: Record<string, string[]> = { JACCARD: ['1.01', '2', '0.0', '95'], TOOL_CAP: ['1.5', '50.1'] };
  for (const name of names) {
    for (const value of [...bad, ...words, ...(own[name] ?? [])]) {
      const env = { [`BB_CIRCUIT_BREAKER_${name}`]: value };
      const warnings: string[] = [];
      const config = configFromEnv(env, (line) => warnings.push(line));
      assert.deepEqual({ ...config }, { ...DEFAULT_BREAKER_CONFIG, maxToolCallsPerTask: 50 }, `${name}=${value}`);
      assert.equal(warnings.length, 1, `${name}=${value} is told once`);
      const { task, loop } = createSwitchgear({ env, log: 'silent' }).settings;
      assert.deepEqual(
        [task.maxToolCalls, task.maxSpendCents, task.maxDurationSecs, task.maxIdleSecs],
        [50, 5000, 1800, 300],
      );
      assert.equal(loop.similarityJaccardThreshold, 0.95);
    }
  }
  const env = { BB_CIRCUIT_BREAKER_TOOL_CAP: '0' };
  assert.equal(active({}, { env }).repeat(51, call)?.kind, 'ToolCallLimit');
});
