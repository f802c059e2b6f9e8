import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultBreaker } from '../../../src/core/controls/breaker/defaults.ts';
import { breakerFields } from '../../../src/core/controls/breaker/fields.ts';
import { defaultSettings } from '../../../src/core/controls/defaults.ts';
import { taskFields } from '../../../src/core/controls/sections.ts';
import { formatChoices } from '../../../src/core/declare/check-value.ts';
import type { SectionFields } from '../../../src/core/declare/setting.ts';
import { checkSettingOverrides, isOptional } from '../../../src/core/declare/setting-overrides.ts';
import { SwitchgearError } from '../../../src/core/error.ts';
import { countMax, halfOpenPermitsMax, secsMax, windowCallsMax } from '../../../src/core/limits.ts';
import { toSnakeCase } from '../../../src/core/names.ts';
import { describeValue } from '../../../src/core/plain-copy.ts';
import { quoteValue } from '../../../src/core/quote.ts';

const check = (input: unknown) => checkSettingOverrides(breakerFields, defaultBreaker, input, 'circuitBreaker');

test('settings are accepted in snake case and in camel case', () => {
  assert.deepEqual(check({}), {});
  assert.deepEqual(check({ failureThreshold: 3, recovery_timeout_secs: 0.5, same_error_only: true }), {
    failureThreshold: 3,
    recoveryTimeoutSecs: 0.5,
    sameErrorOnly: true,
  });
  assert.deepEqual(check({ countErrors: ['A', 'B'], ignoreErrors: [] }), { countErrors: ['A', 'B'], ignoreErrors: [] });
});

test('undefined or "none" removes an optional setting, and no other setting', () => {
  const names = ['failureRateThreshold', 'slowCallSecs', 'maxConcurrent', 'timeoutSecs'];
  for (const name of names) {
    assert.equal(isOptional((breakerFields as SectionFields)[toSnakeCase(name)]), true, name);
    assert.deepEqual(check({ [name]: 'none' }), { [name]: undefined });
    assert.deepEqual(check({ [name]: undefined }), { [name]: undefined });
    assert.deepEqual(check({ [name]: 1 }), { [name]: 1 });
  }
  assert.deepEqual(checkSettingOverrides(taskFields, defaultSettings.task, { max_tokens: 'none' }, 'task'), {
    maxTokens: undefined,
  });
  assert.deepEqual(checkSettingOverrides(taskFields, defaultSettings.task, { maxTokens: 5 }, 'task'), { maxTokens: 5 });
  assert.throws(() => check({ maxTokens: 5 }), /maxTokens is not a setting/);
  assert.throws(
    () => checkSettingOverrides(taskFields, defaultSettings.task, { timeoutSecs: 5 }, 'task'),
    /timeoutSecs is not a setting/,
  );
  assert.equal(isOptional(breakerFields.failure_threshold), false);
  assert.equal(isOptional(undefined), false);
  assert.throws(() => check({ failureThreshold: undefined }), /failureThreshold must be .*, got undefined/);
  assert.throws(() => check({ failureThreshold: 'none' }), /failureThreshold must be .*, got "none"/);
});

test('numbers must be in the range of the settings table, including both ends', () => {
  const rows: readonly [name: string, low: number, high: number, kind: string][] = [
    ['failureThreshold', 1, countMax, 'a whole number from 1'],
    ['halfOpenPermits', 1, halfOpenPermitsMax, 'a whole number from 1'],
    ['windowCalls', 1, windowCallsMax, 'a whole number from 1'],
    ['minimumCalls', 1, windowCallsMax, 'a whole number from 1'],
    ['jitterSeed', 0, 0xffff_ffff, 'a whole number from 0'],
    ['recoveryJitter', 0, 1, 'a number from 0'],
    ['slowRateThreshold', Number.MIN_VALUE, 1, 'a number above 0'],
    ['failureRateThreshold', Number.MIN_VALUE, 1, 'a number above 0 or "none"'],
    ['recoveryTimeoutSecs', Number.MIN_VALUE, secsMax, 'a number above 0'],
    ['recoveryFactor', 1, 100, 'a number from 1'],
    ['leaseSecs', 2, secsMax, 'a number from 2'],
  ];
  for (const [name, low, high, kind] of rows) {
    for (const value of [low, high]) assert.deepEqual(check({ [name]: value }), { [name]: value });
    const refused = [low - 1, ...(kind.startsWith('a whole') ? [low + 0.5] : []), Number.NaN, '5', true];
    for (const value of refused) {
      assert.throws(() => check({ [name]: value }), {
        message: `circuitBreaker.${name} must be ${kind}, got ${describeValue(value)}`,
      });
    }
    const above = Number.isInteger(low) ? high + 1 : high * 1.01;
    const message = `circuitBreaker.${name} must be at most ${high}, got ${above}`;
    assert.throws(() => check({ [name]: above }), { message });
  }
  assert.deepEqual(check({ recoveryFactor: 1.5, recoveryJitter: 0.5 }), { recoveryFactor: 1.5, recoveryJitter: 0.5 });
});

test('a choice must be one of its listed words', () => {
  const rows: Readonly<Record<string, string>> = {
    mode: 'enforce observe off',
    trip: 'consecutive cumulative count_window time_window',
    rateWindow: 'time calls',
    recovery: 'timed manual',
    leaseExpiry: 'failure neutral',
    scope: 'agent task session project shared',
  };
  for (const [name, words] of Object.entries(rows)) {
    for (const word of words.split(' ')) assert.deepEqual(check({ [name]: word }), { [name]: word });
    const message = `circuitBreaker.${name} must be ${formatChoices(words.split(' '))}, got "sometimes"`;
    assert.throws(() => check({ [name]: 'sometimes' }), { message });
    assert.throws(() => check({ [name]: 1 }), /must be .* or .*, got 1/);
  }
});

test('a switch must be a boolean, and a list must be a list', () => {
  assert.throws(() => check({ openOnRetryAfter: 1 }), {
    message: 'circuitBreaker.openOnRetryAfter must be true or false, got 1',
  });
  assert.throws(() => check({ countErrors: ['A'].map((text) => [text]) }), /countErrors \[0\] must be a text, got/);
  assert.throws(() => check({ countErrors: 'A' }), /countErrors must be a list of texts, got "A"/);
  assert.throws(() => check({ countErrors: ['A', 5] }), /countErrors \[1\] must be a text, got 5/);
});

test('a task limit set in code has the same range as in a policy file', () => {
  const limits = (input: object) => checkSettingOverrides(taskFields, defaultSettings.task, input, 'limits');
  assert.deepEqual(limits({ maxDurationSecs: 0.5, maxToolCalls: countMax }), {
    maxDurationSecs: 0.5,
    maxToolCalls: countMax,
  });
  assert.throws(() => limits({ maxToolCalls: countMax + 1 }), /limits.maxToolCalls must be at most 1000000000/);
  assert.throws(() => limits({ maxIdleSecs: 0 }), /limits.maxIdleSecs must be a number above 0, got 0/);
});

test('settings that are valid alone are rejected if together the breaker could never trip', () => {
  const never = (name: string, count: number, calls: number) => ({
    message: `circuitBreaker.${name} is ${count}, but the window holds ${calls} calls: it could never trip`,
  });
  const refused: readonly [input: object, ReturnType<typeof never>][] = [
    [{ trip: 'count_window', windowCalls: 4 }, never('failureThreshold', 5, 4)],
    [{ trip: 'count_window', failureThreshold: 101 }, never('failureThreshold', 101, 100)],
    [{ rateWindow: 'calls', failureRateThreshold: 0.5, windowCalls: 9 }, never('minimumCalls', 10, 9)],
    [{ rateWindow: 'calls', slowCallSecs: 2, windowCalls: 9 }, never('minimumCalls', 10, 9)],
  ];
  for (const [input, error] of refused) assert.throws(() => check(input), error);
  const taken: readonly object[] = [
    { trip: 'count_window', windowCalls: 5 },
    { rateWindow: 'calls', failureRateThreshold: 0.5, windowCalls: 10 },
    // Where nobody looks at the window of calls, its length does not matter.
    { trip: 'consecutive', windowCalls: 1 },
    { rateWindow: 'calls', windowCalls: 1 },
    { rateWindow: 'time', failureRateThreshold: 0.5, slowCallSecs: 2, windowCalls: 1 },
  ];
  for (const input of taken) assert.deepEqual(check(input), input);
});

test('the error about an unknown setting or a value that is no object quotes the name or value', () => {
  const refusals: readonly [unknown, string][] = [
    [{ failure_treshold: 2 }, '.failure_treshold is not a setting'],
    [{ ['x'.repeat(90)]: 2 }, `.${'x'.repeat(80)} is not a setting`],
    [{ toString: 2 }, '.toString is not a setting'],
    [null, ' must be an object, got null'],
    [5, ' must be an object, got 5'],
    [[1, 2], ' must be an object, got 1,2'],
    [Proxy.revocable({}, {}), '.proxy is not a setting'],
  ];
  for (const [input, message] of refusals) {
    assert.throws(
      () => check(input),
      (error) => {
        assert.ok(error instanceof SwitchgearError);
        assert.deepEqual(
          [error.code, error.name, error.message],
          ['invalid_policy', 'SwitchgearError', `circuitBreaker${message}`],
        );
        return true;
      },
    );
  }
  const gone = Proxy.revocable({}, {});
  gone.revoke();
  assert.throws(() => check(gone.proxy), { message: 'circuitBreaker cannot be read' });
});

test('an error quotes a shortened value, and quoting never throws', () => {
  assert.equal(quoteValue('x'.repeat(100)), `"${'x'.repeat(80)}"`);
  assert.equal(quoteValue([...'x'.repeat(60)]).length, 90);
  assert.equal(quoteValue(undefined), 'undefined');
  assert.equal(quoteValue(Object.create(null)), 'something that cannot be read');
});
