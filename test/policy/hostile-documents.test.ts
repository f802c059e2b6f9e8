import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { SwitchgearError } from '../../src/core/error.ts';
import { checkPolicy } from '../../src/policy/check/check-policy.ts';

const invalid = (input: unknown, message: RegExp) =>
  assert.throws(() => checkPolicy(input), { code: 'invalid_policy', message });

test('names that reach a prototype are rejected at every place of a document', () => {
  for (const name of ['__proto__', 'constructor', 'prototype']) {
    for (const wrap of [
      'X',
      '{"task":X}',
      '{"tools":X}',
      '{"tools":{"a":X}}',
      '{"agents":X}',
      '{"delegation":{"worker_limits":X}}',
      '{"rules":[X]}',
    ]) {
      const text = wrap.replace('X', `{"${name}":{"polluted":1}}`);
      invalid(JSON.parse(text), /is a reserved name/);
    }
  }
  assert.equal(({} as { polluted?: unknown }).polluted, undefined);
});

test('inherited settings are not read', () => {
  invalid(Object.create({ mode: 'observe' }), /not plain data/);
  const { settings } = checkPolicy({ tools: {}, delegation: { worker_limits: {} } });
  assert.equal(settings.tools.constructor, undefined);
  assert.equal(settings.delegation.workerLimits.toString, undefined);
});

test('getters that throw, proxies and cycles are rejected with a policy error', () => {
  const cycle: Record<string, unknown> = {};
  cycle.task = cycle;
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const getter = {
    get task() {
      throw new Error('secret');
    },
  };
  invalid(cycle, /nested deeper/);
  invalid(proxy, /cannot be read: reading it failed$/);
  invalid(getter, /cannot be read: reading it failed$/);
});

test('a getter is read only once', () => {
  let reads = 0;
  const task = {
    get max_tool_calls() {
      return ++reads === 1 ? 10 : -1;
    },
  };
  assert.equal(checkPolicy({ task }).settings.task.maxToolCalls, 10);
  assert.equal(reads, 1);
});

test('ten megabytes of text are rejected quickly, and the error quotes a shortened value', () => {
  const long = 'x'.repeat(10_000_000);
  for (const input of [
    { mode: long },
    { [long]: 1 },
    { task: { [long]: 1 } },
    { tools: { [long]: {} } },
    { rules: [long] },
    { circuit_breaker: { count_errors: [long] } },
  ]) {
    const started = process.cpuUsage();
    assert.throws(
      () => checkPolicy(input),
      (error) => error instanceof SwitchgearError && error.message.length < 1_000,
    );
    const { user, system } = process.cpuUsage(started); // Not what a loaded machine had it wait.
    assert.ok(user + system < 1_000_000);
  }
});

test('a policy with too many entries is rejected', () => {
  invalid({ rules: new Array(1_000_000).fill('a>1|abort') }, /more than 10000 entries/);
});

test('any document gives settings with every limit on, or an error with the code invalid_policy', () => {
  const name = fc.constantFrom(
    'circuit_breaker',
    'task',
    'loop',
    'delegation',
    'tools',
    'agents',
    'rules',
    'preset',
    'mode',
    'max_tool_calls',
    'failure_threshold',
    'timeout',
    'a',
  );
  const leaf = fc.oneof(
    fc.integer(),
    fc.double(),
    fc.string(),
    fc.boolean(),
    fc.constantFrom(null, undefined, 'none', 'off'),
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf,
      fc.dictionary(name, tie('tree')),
      fc.array(tie('tree'), { maxLength: 3 }),
    ),
  }));
  let passed = 0;
  fc.assert(
    fc.property(fc.dictionary(name, tree), (document) => {
      try {
        const { settings } = checkPolicy(document);
        passed++;
        assert.ok(settings.task.maxToolCalls >= 1 && Number.isFinite(settings.task.maxToolCalls));
        assert.ok(settings.circuitBreaker.failureThreshold >= 1);
      } catch (error) {
        assert.ok(error instanceof SwitchgearError && error.code === 'invalid_policy', String(error));
      }
    }),
    { numRuns: 500, seed: 7 },
  );
  assert.ok(passed > 0);
});
