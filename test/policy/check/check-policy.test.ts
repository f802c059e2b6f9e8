import assert from 'node:assert/strict';
import test from 'node:test';
import { SwitchgearError } from '../../../src/core/error.ts';
import { policyProblemsMax } from '../../../src/core/limits.ts';
import { checkBreaker, checkPolicy, checkTask } from '../../../src/policy/check/check-policy.ts';

function problemsOf(input: unknown): string[] {
  try {
    checkPolicy(input);
  } catch (error) {
    assert.ok(error instanceof SwitchgearError && error.code === 'invalid_policy', String(error));
    const [first = '', ...rest] = error.message.split('\n- ');
    return rest.length ? rest : [first];
  }
  return [];
}

test('an empty policy has the default settings', () => {
  const { settings } = checkPolicy({});
  const { circuitBreaker, task, loop, delegation } = settings;
  assert.equal(settings.mode, 'enforce');
  assert.equal(circuitBreaker.trip, 'consecutive');
  assert.deepEqual(
    [circuitBreaker.failureThreshold, circuitBreaker.recoveryTimeoutSecs, circuitBreaker.successThreshold],
    [5, 60, 2],
  );
  assert.deepEqual([circuitBreaker.timeoutSecs, circuitBreaker.monitorWindowSecs], [30, 300]);
  assert.deepEqual([circuitBreaker.enableHealthCheck, circuitBreaker.healthCheckIntervalSecs], [true, 30]);
  assert.deepEqual(
    [circuitBreaker.halfOpenPermits, circuitBreaker.leaseSecs, circuitBreaker.minimumCalls],
    [1, 15, 10],
  );
  assert.deepEqual(circuitBreaker.countErrors, ['ToolError', 'NetworkError', 'RateLimitExceeded']);
  assert.deepEqual(circuitBreaker.ignoreErrors, ['InvalidArguments', 'FileNotFound']);
  assert.deepEqual(
    [task.maxToolCalls, task.maxSpendCents, task.maxDurationSecs, task.maxIdleSecs],
    [50, 5000, 1800, 300],
  );
  assert.deepEqual([task.maxTokens, task.maxDenials, task.noticeShare], [undefined, 5, 0.8]);
  assert.deepEqual(
    [loop.enabled, loop.similarityJaccardThreshold, loop.windowSize, loop.tokenCap, loop.refusedRepeats],
    [true, 0.95, 3, 512, 2],
  );
  assert.deepEqual([loop.turns, loop.notePoints, loop.cardPoints, loop.repeats], [11, 12, 24, 5]);
  assert.deepEqual([delegation.maxFailures, delegation.tools, delegation.onTrip], [2, false, 'deny']);
  assert.deepEqual(settings.alerts, {
    ...{ tripsPerHour: 5, failureRate: 0.1, timeInOpenSecs: 300, spendShare: 0.8, spendShareHigh: 0.95 },
    ...{ waitingSecs: 900, storeAwaySecs: 60, periodSecs: 3600 },
  });
  assert.deepEqual([settings.approval.timeoutSecs, settings.prices.onUnknownPrice], [120, 'assume_dearest']);
  assert.deepEqual(settings.journal, { level: 'refusals', content: 'none' });
  assert.deepEqual([settings.ruleSettings.onMissing, settings.ruleSettings.throttle], ['fire', 'skip']);
});

test('names in snake case and in camel case mean the same setting', () => {
  const snake = checkPolicy({ circuit_breaker: { failure_threshold: 3 }, rule_settings: { on_missing: 'pending' } });
  const camel = checkPolicy({ circuitBreaker: { failureThreshold: 3 }, ruleSettings: { onMissing: 'pending' } });
  assert.deepEqual(snake.settings, camel.settings);
  assert.equal(snake.settings.circuitBreaker.failureThreshold, 3);
});

test('every absent setting keeps its default', () => {
  const { circuitBreaker } = checkPolicy({ circuit_breaker: { timeout: 5 } }).settings;
  assert.equal(circuitBreaker.timeoutSecs, 5);
  assert.equal(circuitBreaker.failureThreshold, 5);
});

const wrong: readonly (readonly [string, unknown, string])[] = [
  [
    'a negative number',
    { circuit_breaker: { failure_threshold: -2 } },
    'circuit_breaker.failure_threshold must be a whole number from 1, got -2',
  ],
  ['zero', { task: { max_tool_calls: 0 } }, 'task.max_tool_calls must be a whole number from 1, got 0'],
  ['a fraction', { task: { max_tool_calls: 1.5 } }, 'task.max_tool_calls must be a whole number from 1, got 1.5'],
  ['NaN', { task: { max_spend_cents: Number.NaN } }, 'task.max_spend_cents must be a whole number from 1, got NaN'],
  [
    'infinity',
    { task: { max_idle_secs: Number.POSITIVE_INFINITY } },
    'task.max_idle_secs must be a number above 0, got Infinity',
  ],
  [
    'a huge number',
    { task: { max_tool_calls: 2e9 } },
    'task.max_tool_calls must be at most 1000000000, got 2000000000',
  ],
  [
    'a number as text',
    { task: { max_tool_calls: '50' } },
    'task.max_tool_calls must be a whole number from 1, got "50"',
  ],
  ['null', { task: { max_tool_calls: null } }, 'task.max_tool_calls must be a whole number from 1, got null'],
  [
    '"none" where there must be a limit',
    { task: { max_spend_cents: 'none' } },
    'task.max_spend_cents must be a whole number from 1, got "none"',
  ],
  [
    'null for what may be absent',
    { circuit_breaker: { timeout_secs: null } },
    'circuit_breaker.timeout_secs must be a number above 0 or "none", got null',
  ],
  ['zero seconds', { approval: { timeout_secs: 0 } }, 'approval.timeout_secs must be a number above 0, got 0'],
  [
    'a share above 1',
    { loop: { similarity_jaccard_threshold: 1.2 } },
    'loop.similarity_jaccard_threshold must be at most 1, got 1.2',
  ],
  [
    'a share of 0',
    { loop: { similarity_jaccard_threshold: 0 } },
    'loop.similarity_jaccard_threshold must be a number above 0, got 0',
  ],
  ['a flag as text', { loop: { enabled: 'yes' } }, 'loop.enabled must be true or false, got "yes"'],
  ['an unknown word', { mode: 'enforced' }, 'mode must be "enforce" or "observe", got "enforced"'],
  [
    'a text for a list',
    { circuit_breaker: { count_errors: 'X' } },
    'circuit_breaker.count_errors must be a list of texts, got "X"',
  ],
  [
    'a number in a list',
    { circuit_breaker: { count_errors: ['X', 3] } },
    'circuit_breaker.count_errors[1] must be a text, got 3',
  ],
  [
    'an empty look-up',
    { rule_settings: { lookup: [] } },
    'rule_settings.lookup must name at least one of "outputs", "args" or "params"',
  ],
  [
    'a limit of 0 for one worker',
    { delegation: { worker_limits: { chef: 0 } } },
    'delegation.worker_limits["chef"] must be a whole number from 1, got 0',
  ],
  ['a number for a section', { task: 5 }, 'task must be a table, got 5'],
  ['a list for a section', { task: [1] }, 'task must be a table, got a list of 1'],
  ['a function', { task: () => 1 }, 'task must be a table, got a function'],
  ['an instance', { task: new Date(0) }, 'task must be a table, got an object that is not plain data'],
  [
    'a misspelt setting',
    { circuit_breaker: { failure_treshold: 3 } },
    'circuit_breaker.failure_treshold is not a setting; did you mean failure_threshold?',
  ],
  [
    'a setting of another section',
    { circuit_breaker: { max_tool_calls: 3 } },
    'circuit_breaker.max_tool_calls is not a setting; did you mean task.max_tool_calls?',
  ],
  [
    'a setting outside its section',
    { max_tool_calls: 3 },
    'max_tool_calls is not a setting; did you mean task.max_tool_calls?',
  ],
  ['a misspelt section', { circuit_braker: {} }, 'circuit_braker is not a setting; did you mean circuit_breaker?'],
  ['a section that does not exist', { server: {} }, 'server is not a setting'],
  [
    'one setting in two spellings',
    { task: { max_tokens: 1, maxTokens: 2 } },
    'task.maxTokens repeats max_tokens: keep one of them',
  ],
  [
    'one setting under its alias, too',
    { circuit_breaker: { timeout: 1, timeout_secs: 2 } },
    'circuit_breaker.timeout_secs repeats timeout: keep one of them',
  ],
  [
    'one section in two spellings',
    { rule_settings: {}, ruleSettings: {} },
    'ruleSettings repeats rule_settings: keep one of them',
  ],
  [
    'an unknown part of an agent',
    { agents: { A: { loop: {} } } },
    'agents.A.loop is not a setting; an agent has "circuit_breaker" and "task"',
  ],
  [
    'a wrong setting of a tool',
    { tools: { 'mail.*': { timeout: -1 } } },
    'tools."mail.*".timeout must be a number above 0 or "none", got -1',
  ],
  [
    'a preset without a breaker for a tool',
    { tools: { x: { preset: 'nabaos' } } },
    'tools.x.preset is "nabaos", which has no breaker settings',
  ],
  [
    'a rule that cannot be read',
    { rules: [{ condition: 'amount', action: 'abort' }] },
    'rules[0] is not a valid rule: ',
  ],
  [
    'a rule with an unknown action',
    { rules: [{ condition: 'a>1', action: 'explode' }] },
    'rules[0] is not a valid rule: action must be abort, confirm or throttle',
  ],
  [
    'a rule with an unknown part',
    { rules: [{ condition: 'a>1', action: 'abort', why: 'x' }] },
    'rules[0].why is not part of a rule',
  ],
  ['a rule that is a number', { rules: [7] }, 'rules[0] must be a table or a text, got 7'],
  ['rules that are no list', { rules: {} }, 'rules must be a list of at most 10000 rules, got a table'],
  [
    'a threshold beyond its window',
    { circuit_breaker: { trip: 'count_window', window_calls: 3 } },
    'circuit_breaker.failure_threshold is 5, but the window holds 3 calls: it could never trip',
  ],
  [
    'a minimum beyond its window',
    { tools: { x: { rate_window: 'calls', window_calls: 5 } } },
    'tools.x.minimum_calls is 10, but the window holds 5 calls: no rate could trip',
  ],
  [
    'a token cap that is relied on and absent',
    { prices: { on_unknown_price: 'token_cap_only' } },
    'task.max_tokens must be set where prices.on_unknown_price is "token_cap_only"',
  ],
  ['a text for a policy', 'mode', 'the policy must be a table, got "mode"'],
];

for (const [what, input, message] of wrong) {
  test(`${what} is one problem that quotes path and value`, () => {
    const problems = problemsOf(input);
    assert.equal(problems.length, 1, problems.join('\n'));
    assert.ok(problems[0]?.startsWith(message), problems[0]);
  });
}

test('the problem of an unknown preset lists the known presets', () => {
  assert.match(problemsOf({ preset: 'cuedek' })[0] ?? '', /^preset must be "default", "praison".* got "cuedek"$/);
});

test('all problems are reported at once, up to a limit', () => {
  assert.equal(problemsOf({ task: { max_tool_calls: 0, max_idle_secs: 0 }, nothing: 1 }).length, 3);
  const many = Object.fromEntries(Array.from({ length: 80 }, (_, index) => [`zzz${index}`, 1]));
  const problems = problemsOf(many);
  assert.equal(problems.length, policyProblemsMax + 1);
  assert.equal(problems.at(-1), 'and 30 more');
});

test('"none" removes an optional limit, for all tools and for one tool', () => {
  const { settings } = checkPolicy({
    circuit_breaker: { timeout_secs: 'none' },
    tools: { x: { max_concurrent: 'none' } },
  });
  assert.equal(settings.circuitBreaker.timeoutSecs, undefined);
  assert.ok('maxConcurrent' in (settings.tools.x ?? {}));
});

test('an undefined setting counts as absent', () => {
  const { settings } = checkPolicy({ task: undefined, loop: { enabled: undefined } });
  assert.equal(settings.loop.enabled, true);
  assert.equal(settings.task.maxToolCalls, 50);
});

test('rules may be written as tables and as lines', () => {
  const { settings } = checkPolicy({
    rules: [
      { target: 'tool:pay', condition: 'amount > 500', action: 'confirm', reason: 'Much money.' },
      'ability:shell.execute|abort|"No shell."',
    ],
  });
  assert.deepEqual(settings.rules, [
    { target: 'tool:pay', condition: 'amount>500', action: 'confirm', reason: 'Much money.' },
    { target: '*', condition: 'ability:shell.execute', action: 'abort', reason: 'No shell.' },
  ]);
});

test('checking a checked policy returns the same policy, and a checked policy is frozen', () => {
  const policy = checkPolicy({ circuit_breaker: { count_errors: ['X'] } });
  assert.equal(checkPolicy(policy), policy);
  assert.throws(() => Object.assign(policy.settings.task, { maxToolCalls: 1e9 }), TypeError);
  assert.throws(() => (policy.settings.circuitBreaker.countErrors as string[]).push('Y'), TypeError);
});

test('a checked policy does not follow later changes of the document', () => {
  const document = { circuit_breaker: { count_errors: ['X'] } };
  const { settings } = checkPolicy(document);
  document.circuit_breaker.count_errors.push('Y');
  assert.deepEqual(settings.circuitBreaker.countErrors, ['X']);
});

test('settings in code for one breaker or task are checked like those of a document', () => {
  assert.deepEqual(checkBreaker({ failureThreshold: 3, recovery_timeout: 30 }), {
    failureThreshold: 3,
    recoveryTimeoutSecs: 30,
  });
  assert.deepEqual(checkTask({ maxToolCalls: 7, maxTokens: undefined }), { maxToolCalls: 7 });
  assert.throws(
    () => checkBreaker({ failureThreshold: 0 }, "guard('x')"),
    /guard\('x'\)".failureThreshold must be a whole number from 1, got 0/,
  );
  assert.throws(
    () => checkTask({ maxToolCals: 1 }),
    /limits.maxToolCals is not a setting; did you mean max_tool_calls\?/,
  );
});

test('provenance names the origin of each value, and its alias', () => {
  const lineOf = () => 4;
  const { provenance } = checkPolicy(
    { preset: 'mcp', circuit_breaker: { recovery_timeout: 12 }, tools: { 'a.b': { preset: 'llm', timeout: 9 } } },
    { file: 'switchgear.toml', lineOf },
  );
  const file = 'file switchgear.toml';
  assert.deepEqual(provenance.get('circuit_breaker.recovery_timeout_secs'), {
    value: 12,
    source: file,
    alias: 'recovery_timeout',
    line: 4,
  });
  assert.deepEqual(provenance.get('circuit_breaker.failure_threshold'), { value: 3, source: 'preset mcp' });
  assert.deepEqual(provenance.get('circuit_breaker.timeout_secs'), { value: 30, source: 'default' });
  assert.deepEqual(provenance.get('tools."a.b".failure_threshold'), { value: 3, source: 'preset llm' });
  assert.deepEqual(provenance.get('tools."a.b".timeout_secs'), { value: 9, source: file, alias: 'timeout', line: 4 });
  assert.equal(checkPolicy({ mode: 'observe' }).provenance.get('mode')?.source, 'code');
});

test('a problem names file and line', () => {
  const source = { file: 'switchgear.toml', lineOf: () => 4 };
  assert.throws(() => checkPolicy({ circuit_breaker: { failure_threshold: -2 } }, source), {
    message: 'circuit_breaker.failure_threshold must be a whole number from 1, got -2 (switchgear.toml, line 4)',
  });
});
