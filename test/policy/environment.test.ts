import assert from 'node:assert/strict';
import test from 'node:test';
import { checkPolicy } from '../../src/policy/check/check-policy.ts';
import { applyEnvironment } from '../../src/policy/environment.ts';

const apply = (env: Record<string, string>, policy: object = {}) => applyEnvironment(checkPolicy(policy), env);

test('each of the five environment variables of the session breaker sets its limit', () => {
  const { settings, ignored } = apply({
    BB_CIRCUIT_BREAKER_TOOL_CAP: '60',
    BB_CIRCUIT_BREAKER_COST_CAP_CENTS: '700',
    BB_CIRCUIT_BREAKER_DURATION_SECS: '80',
    BB_CIRCUIT_BREAKER_IDLE_SECS: '90',
    BB_CIRCUIT_BREAKER_JACCARD: '0.5',
  });
  const { maxToolCalls, maxSpendCents, maxDurationSecs, maxIdleSecs } = settings.task;
  assert.deepEqual([maxToolCalls, maxSpendCents, maxDurationSecs, maxIdleSecs], [60, 700, 80, 90]);
  assert.equal(settings.loop.similarityJaccardThreshold, 0.5);
  assert.deepEqual(ignored, []);
});

for (const good of ['50', '50 ', ' 50', '\t50\n', '050', '50.0']) {
  test(`${JSON.stringify(good)} sets the cap to 50`, () => {
    const { settings, ignored } = apply({ BB_CIRCUIT_BREAKER_TOOL_CAP: good }, { task: { max_tool_calls: 7 } });
    assert.equal(settings.task.maxToolCalls, 50);
    assert.deepEqual(ignored, []);
  });
}

for (const bad of [
  '',
  ' ',
  '0',
  '-1',
  '-50',
  '1.5',
  '5O',
  '0x10',
  '1e3',
  'NaN',
  'Infinity',
  '∞',
  'none',
  'off',
  'false',
  'null',
  '50 51',
  '5_0',
  '1,000',
  '+50',
  '９',
  '9'.repeat(400),
]) {
  test(`${JSON.stringify(bad.slice(0, 20))} is no valid cap: the default stays, with one warning`, () => {
    const { settings, ignored } = apply({ BB_CIRCUIT_BREAKER_TOOL_CAP: bad });
    assert.equal(settings.task.maxToolCalls, 50);
    assert.equal(ignored.length, 1);
    assert.equal(ignored[0]?.name, 'BB_CIRCUIT_BREAKER_TOOL_CAP');
    assert.equal(ignored[0]?.used, 50);
    assert.ok(ignored[0].message.length < 250);
  });
}

for (const bad of ['0', '1.0001', '-0.5', '1.2', '95%', '.95', '']) {
  test(`${JSON.stringify(bad)} is no valid similarity`, () => {
    const { settings, ignored } = apply({ BB_CIRCUIT_BREAKER_JACCARD: bad });
    assert.equal(settings.loop.similarityJaccardThreshold, 0.95);
    assert.equal(ignored.length, 1);
  });
}

test('a similarity of exactly 1 is valid', () => {
  assert.equal(apply({ BB_CIRCUIT_BREAKER_JACCARD: '1' }).settings.loop.similarityJaccardThreshold, 1);
});

test('an invalid variable leaves the value of the policy unchanged', () => {
  const { settings, ignored } = apply({ BB_CIRCUIT_BREAKER_TOOL_CAP: 'x' }, { task: { max_tool_calls: 7 } });
  assert.equal(settings.task.maxToolCalls, 7);
  assert.equal(
    ignored[0]?.message,
    'BB_CIRCUIT_BREAKER_TOOL_CAP="x" is ignored: it must be a whole number from 1; 7 is used',
  );
});

test('every setting has its own variable, and the origin of the value is reported', () => {
  const { settings, provenance } = apply({
    SWITCHGEAR_CIRCUIT_BREAKER_FAILURE_THRESHOLD: '3',
    SWITCHGEAR_CIRCUIT_BREAKER_RECOVERY_TIMEOUT_SECS: '12.5',
    SWITCHGEAR_CIRCUIT_BREAKER_GRACEFUL_DEGRADATION: 'false',
    SWITCHGEAR_DELEGATION_ON_TRIP: 'deny',
    SWITCHGEAR_MODE: 'observe',
  });
  const { failureThreshold, recoveryTimeoutSecs, gracefulDegradation } = settings.circuitBreaker;
  assert.deepEqual([failureThreshold, recoveryTimeoutSecs, gracefulDegradation], [3, 12.5, false]);
  assert.deepEqual([settings.delegation.onTrip, settings.mode], ['deny', 'observe']);
  assert.deepEqual(provenance.get('mode'), { value: 'observe', source: 'environment SWITCHGEAR_MODE' });
  assert.equal(provenance.get('task.max_tool_calls')?.source, 'default');
});

test('the SWITCHGEAR variable wins over its alias; if one is invalid, the other applies', () => {
  const both = { BB_CIRCUIT_BREAKER_TOOL_CAP: '60', SWITCHGEAR_TASK_MAX_TOOL_CALLS: '70' };
  assert.equal(apply(both).settings.task.maxToolCalls, 70);
  const { settings, ignored } = apply({ ...both, SWITCHGEAR_TASK_MAX_TOOL_CALLS: 'x' });
  assert.equal(settings.task.maxToolCalls, 60);
  assert.equal(ignored[0]?.used, 60);
});

test('no environment variable switches a protection off', () => {
  const { settings, ignored } = apply({
    SWITCHGEAR_CIRCUIT_BREAKER_MODE: 'off',
    SWITCHGEAR_LOOP_ENABLED: 'false',
    SWITCHGEAR_CIRCUIT_BREAKER_TIMEOUT_SECS: 'none',
    SWITCHGEAR_PRICES_ON_UNKNOWN_PRICE: 'token_cap_only',
  });
  assert.deepEqual(settings, checkPolicy({}).settings);
  assert.equal(ignored.length, 4);
});

test('variables that are valid only together are applied together, in any order', () => {
  const env = { SWITCHGEAR_CIRCUIT_BREAKER_FAILURE_THRESHOLD: '200', SWITCHGEAR_CIRCUIT_BREAKER_WINDOW_CALLS: '300' };
  const policy = { circuit_breaker: { trip: 'count_window' } };
  assert.deepEqual(apply(env, policy).ignored, []);
  const alone = apply({ SWITCHGEAR_CIRCUIT_BREAKER_FAILURE_THRESHOLD: '200' }, policy);
  assert.equal(alone.settings.circuitBreaker.failureThreshold, 5);
  assert.match(alone.ignored[0]?.message ?? '', /it could never trip; 5 is used/);
  const forTool = apply(
    { SWITCHGEAR_CIRCUIT_BREAKER_FAILURE_THRESHOLD: '200' },
    { tools: { x: { trip: 'count_window' } } },
  );
  assert.equal(forTool.settings.circuitBreaker.failureThreshold, 5);
});

test('a misspelt variable is reported; variables of other programs are not', () => {
  const { ignored } = apply({ SWITCHGEAR_TASK_MAX_TOOL_CALL: '3', SWITCHGEAR_HOME: '/x', BB_OTHER: '1', PATH: '/bin' });
  assert.deepEqual(
    ignored.map(({ message }) => message),
    ['SWITCHGEAR_TASK_MAX_TOOL_CALL is not a setting; did you mean SWITCHGEAR_TASK_MAX_TOOL_CALLS?'],
  );
});

test('applying the environment leaves the policy unchanged and returns a checked policy', () => {
  const policy = checkPolicy({});
  const effective = applyEnvironment(policy, { SWITCHGEAR_TASK_MAX_TOOL_CALLS: '3' });
  assert.equal(policy.settings.task.maxToolCalls, 50);
  assert.equal(policy.provenance.get('task.max_tool_calls')?.source, 'default');
  assert.equal(checkPolicy(effective), effective);
  assert.ok(Object.isFrozen(effective.settings.task));
});

for (const bad of ['x', '', '1e9', 'none']) {
  test(`${JSON.stringify(bad)} falls back to the stricter of the default and the policy`, () => {
    const looser = apply({ SWITCHGEAR_TASK_MAX_TOOL_CALLS: bad }, { task: { max_tool_calls: 500 } });
    assert.equal(looser.settings.task.maxToolCalls, 50);
    assert.deepEqual([looser.ignored.length, looser.ignored[0]?.used], [1, 50]);
    assert.match(looser.ignored[0]?.message ?? '', /; 50, the stricter of the default and the policy, is used$/);
    const stricter = apply({ SWITCHGEAR_TASK_MAX_TOOL_CALLS: bad }, { task: { max_tool_calls: 5 } });
    assert.equal(stricter.settings.task.maxToolCalls, 5);
  });
}

test('an invalid value also tightens flags, choices and limits that are off', () => {
  const { settings, ignored } = apply(
    {
      SWITCHGEAR_MODE: 'obsrve',
      SWITCHGEAR_SELF_PROTECTION: 'no',
      SWITCHGEAR_CIRCUIT_BREAKER_TIMEOUT_SECS: 'never',
      SWITCHGEAR_LOOP_ENABLED: 'false',
    },
    { mode: 'observe', self_protection: false, circuit_breaker: { timeout_secs: 'none' }, loop: { enabled: false } },
  );
  assert.deepEqual(
    [settings.mode, settings.selfProtection, settings.circuitBreaker.timeoutSecs],
    ['enforce', true, 30],
  );
  assert.equal(settings.loop.enabled, false, 'a word that agrees with the policy changes nothing');
  assert.equal(ignored.length, 4);
});

for (const [guess, meant] of [
  ['SWITCHGEAR_MAX_TOOL_CALLS', 'SWITCHGEAR_TASK_MAX_TOOL_CALLS'],
  ['SWITCHGEAR_MAX_CALLS', 'SWITCHGEAR_TASK_MAX_TOOL_CALLS'],
  ['SWITCHGEAR_MAX_DURATION', 'SWITCHGEAR_TASK_MAX_DURATION_SECS'],
  ['SWITCHGEAR_TASK_MAX_SPEND', 'SWITCHGEAR_TASK_MAX_SPEND_CENTS'],
  ['SWITCHGEAR_FAILURE_THRESHOLD', 'SWITCHGEAR_CIRCUIT_BREAKER_FAILURE_THRESHOLD'],
  ['SWITCHGEAR_LEVEL', 'SWITCHGEAR_JOURNAL_LEVEL'],
] as const) {
  test(`${guess} is told with the name that was meant`, () => {
    const { ignored } = apply({ [guess]: '5' });
    assert.deepEqual(
      ignored.map(({ message }) => message),
      [`${guess} is not a setting; did you mean ${meant}?`],
    );
  });
}

test('variables of Switchgear that are no settings are no near misses', () => {
  const names = ['STORE', 'TASK', 'SESSION', 'POLICY', 'TRUST', 'DOCTOR_KEY', 'MARK_ABC', 'RUN_CALLS', 'HOME', 'CALLS'];
  const env = Object.fromEntries(names.map((name) => [`SWITCHGEAR_${name}`, 'x']));
  assert.deepEqual(apply(env).ignored, []);
});
