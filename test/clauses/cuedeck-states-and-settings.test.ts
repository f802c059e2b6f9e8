/** The C clauses about the states and the configuration. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusalOf } from '../../src/index.ts';
import { checkPolicy, parsePolicy } from '../../src/policy/index.ts';
import { scriptedAgent } from '../../src/testing/index.ts';
import { type Act, attempt, came, fail, ok, refusedValue, stage, tell, times, trip } from './guarded-tool-story.ts';

/** The file of seed 001, as it is written there. */
const seedFile = `[circuit_breaker]
# Failures before tripping
failure_threshold = 5

# Time to wait before Half-Open state
reset_timeout_seconds = 30

# Types of errors that count towards threshold
count_errors = [
  "ToolError",        # Tool execution failed
  "NetworkError",     # HTTP 5xx, timeouts
  "RateLimitExceeded" # HTTP 429
]

# Errors that do NOT trip (user errors)
ignore_errors = [
  "InvalidArguments", # User typo
  "FileNotFound"      # Expected logic flow
]
`;

const cuedeck = { preset: 'cuedeck' } as const;
const written = parsePolicy(seedFile, 'config.toml').settings.circuitBreaker;

test('C1: an agent that retries for ever reaches a failing service five times and is then stopped', async () => {
  const { gear, tool } = stage();
  const search = tool('search');
  const stubborn = scriptedAgent([{ tool: 'search', args: [fail], times: 100 }]);
  const ended = await gear.task({}, (task) => stubborn({ tools: { search: search.call }, task }));
  assert.equal(search.runs, 5);
  assert.equal(ended.status, 'halted');
});

test('C2: after repeated failures the agent is told to try another way, and is stopped if it does not', async () => {
  const { gear, tool } = stage();
  const search = tool('search');
  const ended = await gear.task({}, async () => {
    const value = await refusedValue(search);
    assert.match(String(value?.remediation), /investigate recent tool failures/);
    for (let call = 0; call < 3; call++) await attempt(() => search.call(fail));
  });
  assert.equal(ended.status, 'halted');
  const halt = ended.status === 'halted' ? ended.halt : undefined;
  assert.match(String(halt?.remediation), /ask the user/);
});

test('C3: a closed breaker lets requests pass, and its failure count starts at 0', async () => {
  const tool = stage(cuedeck).tool();
  assert.equal(tool.breaker.stats.consecutiveFailures, 0);
  await tell(tool, times(20, [ok, 'ok', 'CLOSED']));
  assert.equal(tool.breaker.stats.totalSuccesses, 20);
});

test('C4: an open breaker refuses requests at once, and the error names the options', async () => {
  const { tool, clock } = stage(cuedeck);
  const search = tool('search');
  await tell(search, trip);
  const began = clock.nowMs();
  const { error } = await attempt(() => search.call(ok));
  assert.equal(search.runs, 5);
  assert.equal(clock.nowMs(), began);
  assert.equal(refusalOf(error)?.code, 'circuit_open');
  assert.match(String(refusalOf(error)?.remediation), /Wait .* or investigate/);
});

test('C5: a half-open breaker lets exactly one request pass, and its success closes the breaker', async () => {
  const { tool, clock } = stage(cuedeck);
  const search = tool('search', { waits: true });
  await refusedValue(search);
  await clock.elapse(30_000);
  let end: (value: string) => void = () => {};
  const probe: Act = () =>
    new Promise<string>((resolve) => {
      end = resolve;
    });
  const first = came(() => search.call(probe));
  const others = await Promise.all(Array.from({ length: 50 }, () => came(() => search.call(ok))));
  assert.deepEqual([...new Set(others)], ['threw circuit_open']);
  assert.equal(search.runs, 6);
  end('ok');
  assert.equal(await first, 'ok');
  await tell(search, [[ok, 'ok', 'CLOSED']]);
});

test('C6: the breaker opens at the fifth failure', async () => {
  await tell(stage(cuedeck).tool(), [...trip, [ok, 'threw circuit_open', 'OPEN']]);
});

test('C7: open becomes half-open after the reset timeout of 30 s', async () => {
  await tell(stage(cuedeck).tool(), [...trip, [29.999, '', 'OPEN'], [0.001, '', 'HALF_OPEN']]);
});

test('C8: one success closes a half-open breaker', async () => {
  await tell(stage(cuedeck).tool(), [...trip, [30, '', 'HALF_OPEN'], [ok, 'ok', 'CLOSED']]);
});

test('C9: one failure opens a half-open breaker for another 30 s', async () => {
  await tell(stage(cuedeck).tool(), [
    ...trip,
    [30, '', 'HALF_OPEN'],
    [fail, 'failed', 'OPEN'],
    [29.999, '', 'OPEN'],
    [ok, 'threw circuit_open', 'OPEN'],
    [0.001, '', 'HALF_OPEN'],
  ]);
});

test('C10: failure_threshold is 5 in the sample file, and another number takes effect', async () => {
  assert.equal(written.failureThreshold, 5);
  const policy = parsePolicy(seedFile.replace('failure_threshold = 5', 'failure_threshold = 1'), 'config.toml');
  await tell(stage(policy).tool(), [[fail, 'failed', 'OPEN']]);
});

test('C11: reset_timeout_seconds is 30 in the sample file, and another number takes effect', async () => {
  assert.equal(written.recoveryTimeoutSecs, 30);
  assert.equal(written.successThreshold, 1);
  const policy = parsePolicy(seedFile.replace('seconds = 30', 'seconds = 4'), 'config.toml');
  await tell(stage(policy).tool(), [...trip, [3, '', 'OPEN'], [1, '', 'HALF_OPEN']]);
});

/** An error with a name, a code or a status of its own. */
const raising =
  (facts: object): Act =>
  () => {
    throw Object.assign(new Error('down'), facts);
  };

test('C12: tool errors, network errors and rate limits count, by name, code or status', async () => {
  assert.deepEqual(written.countErrors, ['ToolError', 'NetworkError', 'RateLimitExceeded']);
  const counted: readonly (readonly [Act, string])[] = [
    [raising({ name: 'ToolError' }), 'ToolError'],
    [() => ({ error: 'it failed' }), 'ToolError'],
    [() => ({ isError: true, content: [] }), 'ToolError'],
    [raising({ name: 'NetworkError' }), 'NetworkError'],
    [raising({ status: 500 }), 'NetworkError'],
    [raising({ statusCode: 503 }), 'NetworkError'],
    [raising({ response: { status: 599 } }), 'NetworkError'],
    [raising({ code: 'ETIMEDOUT' }), 'NetworkError'],
    [raising({ name: 'TimeoutError' }), 'NetworkError'],
    [raising({ code: 'ECONNRESET' }), 'NetworkError'],
    [raising({ name: 'RateLimitExceeded' }), 'RateLimitExceeded'],
    [raising({ status: 429 }), 'RateLimitExceeded'],
  ];
  for (const [act, name] of counted) {
    const { gear, tool } = stage(cuedeck);
    const errors: string[] = [];
    gear.onEntry((entry) => void (entry.type === 'failure-counted' && errors.push(entry.error)));
    const mine = tool();
    for (let call = 0; call < 5; call++) await attempt(() => mine.call(act));
    assert.deepEqual(errors, Array(5).fill(name));
    assert.equal(mine.breaker.state, 'OPEN');
  }
});

test('C13: invalid arguments and missing files are ignored, by name, code or status', async () => {
  assert.deepEqual(written.ignoreErrors, ['InvalidArguments', 'FileNotFound']);
  const ignored = [
    raising({ name: 'InvalidArguments' }),
    raising({ code: 'ERR_INVALID_ARG_TYPE' }),
    raising({ code: -32602 }),
    raising({ status: 422 }),
    raising({ name: 'FileNotFound' }),
    raising({ code: 'ENOENT' }),
  ];
  for (const act of ignored) {
    const tool = stage(cuedeck).tool();
    for (let call = 0; call < 10; call++) await attempt(() => tool.call(act));
    assert.deepEqual([tool.breaker.state, tool.breaker.stats.totalNeutrals], ['CLOSED', 10]);
  }
});

test('C14: an ignored error neither counts as a failure nor ends a series of failures', async () => {
  const missing = raising({ code: 'ENOENT' });
  await tell(stage(cuedeck).tool(), [
    ...times(100, [missing, 'failed', 'CLOSED']),
    ...times(4, [fail, 'failed', 'CLOSED']),
    [missing, 'failed', 'CLOSED'],
    [fail, 'failed', 'OPEN'],
    [30, '', 'HALF_OPEN'],
    [missing, 'failed', 'HALF_OPEN'],
    [ok, 'ok', 'CLOSED'],
  ]);
});

test('C15: an error in neither list counts', async () => {
  const parse = raising({ name: 'ParseError' });
  await tell(stage(cuedeck).tool(), [...times(4, [parse, 'failed', 'CLOSED']), [parse, 'failed', 'OPEN']]);
});

test('C16: an error in both lists is ignored', async () => {
  const lists = { count_errors: ['Odd'], ignore_errors: ['Odd'] };
  const tool = stage({ circuit_breaker: lists }).tool();
  await tell(tool, times(10, [raising({ name: 'Odd' }), 'failed', 'CLOSED']));
  assert.equal(tool.breaker.stats.totalNeutrals, 10);
});

test('C10: the sample file equals the preset of the same name', () => {
  const preset = checkPolicy(cuedeck).settings.circuitBreaker;
  assert.deepEqual(written, preset);
  assert.equal(preset.failureThreshold, 5);
});
