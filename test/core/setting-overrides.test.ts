import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultBreaker } from '../../src/core/controls/breaker/defaults.ts';
import { defaultSettings } from '../../src/core/controls/defaults.ts';
import { SwitchgearError } from '../../src/core/error.ts';
import { halfOpenPermitsMax, secsMax, windowCallsMax } from '../../src/core/limits.ts';
import { quoteValue } from '../../src/core/quote.ts';
import { checkSettingOverrides, isOptionalSetting } from '../../src/core/setting-overrides.ts';

const check = (input: unknown) => checkSettingOverrides(defaultBreaker, input, 'circuitBreaker');

test('settings are taken under their names, in either spelling', () => {
  assert.deepEqual(check({}), {});
  assert.deepEqual(check({ failureThreshold: 3, recovery_timeout_secs: 0.5, same_error_only: true }), {
    failureThreshold: 3,
    recoveryTimeoutSecs: 0.5,
    sameErrorOnly: true,
  });
  assert.deepEqual(check({ countErrors: ['A', 'B'], ignoreErrors: [] }), { countErrors: ['A', 'B'], ignoreErrors: [] });
});

test('a setting that may be absent is taken away by nothing or by "none"; others are not', () => {
  const names = ['failureRateThreshold', 'slowCallSecs', 'maxConcurrent', 'timeoutSecs'];
  for (const name of names) {
    assert.equal(isOptionalSetting(name), true, name);
    assert.deepEqual(check({ [name]: 'none' }), { [name]: undefined });
    assert.deepEqual(check({ [name]: undefined }), { [name]: undefined });
    assert.deepEqual(check({ [name]: 1 }), { [name]: 1 });
  }
  assert.deepEqual(checkSettingOverrides(defaultSettings.task, { max_tokens: 'none' }, 'task'), {
    maxTokens: undefined,
  });
  assert.deepEqual(checkSettingOverrides(defaultSettings.task, { maxTokens: 5 }, 'task'), { maxTokens: 5 });
  assert.throws(() => check({ maxTokens: 5 }), /maxTokens is not a setting/);
  assert.throws(
    () => checkSettingOverrides(defaultSettings.task, { timeoutSecs: 5 }, 'task'),
    /timeoutSecs is not a setting/,
  );
  assert.equal(isOptionalSetting('failureThreshold'), false);
  assert.equal(isOptionalSetting('notimeoutSecs'), false);
  assert.throws(() => check({ failureThreshold: undefined }), /failureThreshold must be .*, got undefined/);
  assert.throws(() => check({ failureThreshold: 'none' }), /failureThreshold must be .*, got "none"/);
});

test('numbers have ends, and both ends belong to them', () => {
  const rows: readonly [name: string, low: number, high: number, kind: string][] = [
    ['failureThreshold', 1, 1e12, 'a whole number from 1 to 1000000000000'],
    ['halfOpenPermits', 1, halfOpenPermitsMax, `a whole number from 1 to ${halfOpenPermitsMax}`],
    ['windowCalls', 1, windowCallsMax, `a whole number from 1 to ${windowCallsMax}`],
    ['minimumCalls', 1, windowCallsMax, `a whole number from 1 to ${windowCallsMax}`],
    ['jitterSeed', 0, 1e12, 'a whole number from 0 to 1000000000000'],
    ['recoveryJitter', 0, 1, 'a number from 0 to 1'],
    ['slowRateThreshold', Number.MIN_VALUE, 1, 'a number above 0 to 1'],
    ['failureRateThreshold', Number.MIN_VALUE, 1, 'a number above 0 to 1'],
    ['recoveryTimeoutSecs', Number.MIN_VALUE, secsMax, `a number above 0 to ${secsMax}`],
    ['recoveryFactor', 1, 1e12, 'a number from 1 to 1000000000000'],
  ];
  for (const [name, low, high, kind] of rows) {
    for (const value of [low, high]) assert.deepEqual(check({ [name]: value }), { [name]: value });
    const refused = kind.startsWith('a whole') ? [low - 1, high + 1, low + 0.5] : [low - 1, high * 1.01];
    for (const value of [...refused, Number.NaN, '5', true]) {
      assert.throws(() => check({ [name]: value }), {
        message: `circuitBreaker.${name} must be ${kind}, got ${quoteValue(value)}`,
      });
    }
  }
  assert.deepEqual(check({ recoveryFactor: 1.5, recoveryJitter: 0.5 }), { recoveryFactor: 1.5, recoveryJitter: 0.5 });
});

test('words are taken from their list only', () => {
  const rows: Readonly<Record<string, string>> = {
    mode: 'enforce observe off',
    trip: 'consecutive cumulative count_window time_window',
    rateWindow: 'calls time',
    recovery: 'timed manual',
    leaseExpiry: 'failure neutral',
    scope: 'task session agent project shared',
  };
  for (const [name, words] of Object.entries(rows)) {
    for (const word of words.split(' ')) assert.deepEqual(check({ [name]: word }), { [name]: word });
    const message = `circuitBreaker.${name} must be one of ${words.replaceAll(' ', ', ')}, got "sometimes"`;
    assert.throws(() => check({ [name]: 'sometimes' }), { message });
    assert.throws(() => check({ [name]: 1 }), /must be one of/);
  }
});

test('switches and lists are of their kind', () => {
  assert.throws(() => check({ openOnRetryAfter: 1 }), {
    message: 'circuitBreaker.openOnRetryAfter must be a boolean, got 1',
  });
  const message = 'circuitBreaker.countErrors must be a list of texts, got A';
  assert.throws(() => check({ countErrors: ['A'].map((text) => [text]) }), { message });
  assert.throws(() => check({ countErrors: 'A' }), /a list of texts, got "A"/);
  assert.throws(() => check({ countErrors: ['A', 5] }), /a list of texts, got A,5/);
});

test('settings that fit one by one must leave a limit together, too', () => {
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

test('what is no setting, no object or cannot be read is refused by its own name', () => {
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

test('what came is quoted short, and never throws', () => {
  assert.equal(quoteValue('x'.repeat(100)), `"${'x'.repeat(80)}"`);
  assert.equal(quoteValue([...'x'.repeat(60)]).length, 90);
  assert.equal(quoteValue(undefined), 'undefined');
  assert.equal(quoteValue(Object.create(null)), 'something that cannot be read');
});
