import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cancelled, givenBack, type Outcome, success } from '../../src/core/action.ts';
import { classify, type Ending, isDenial, peek, readError } from '../../src/core/classify.ts';
import { classChainMax, nameLengthMax } from '../../src/core/limits.ts';

const lists = {
  countErrors: ['NetworkError', 'Listed'],
  ignoreErrors: ['InvalidArguments', 'FileNotFound'],
  sameErrorOnly: false,
  failure: 'reported',
} as const;
const noFingerprint = () => assert.fail('nobody asked for a fingerprint');
const read = (ending: Ending) => classify(ending, lists, 1_000, noFingerprint);
const thrown = (error: unknown) => read({ error });
const returned = (value: unknown) => read({ value });
const failed = (error: string, more = {}): Outcome => ({ kind: 'failure', error, errorFingerprint: 0, ...more });
const ignored: Outcome = { kind: 'neutral', why: 'ignored' };
const denied: Outcome = { kind: 'neutral', why: 'denied' };

/** An error with some fields on it. */
const errorOf = (fields: Readonly<Record<string, unknown>>, message = 'm') => Object.assign(new Error(message), fields);

test('the constants success, cancelled and givenBack have the documented kind and reason', () => {
  assert.deepEqual(success, { kind: 'success' });
  assert.deepEqual(cancelled, { kind: 'neutral', why: 'cancelled' });
  assert.deepEqual(givenBack, { kind: 'neutral', why: 'given-back' });
});

test('a returned value is a success unless the value is marked as an error', () => {
  const rows: readonly [unknown, Outcome][] = [
    [undefined, success],
    [null, success],
    ['error', success],
    [['error'], success],
    [Object.assign([1], { error: 'x' }), success],
    [{}, success],
    [{ error: '' }, success],
    [{ isError: 1 }, success],
    [{ isError: true }, failed('ToolError')],
    [{ error: 'down' }, failed('ToolError')],
    [{ error: { name: 'Listed' } }, failed('ToolError')],
    [{ error: new TypeError('x') }, failed('TypeError')],
    [{ error: { code: 'ENOENT' } }, failed('ToolError')],
    [{ error: errorOf({ code: 'ENOENT' }) }, ignored],
    [{ error: 'no', permission_denied: true }, denied],
    [{ error: 'partly', results: [1] }, success],
    [{ error: { status: 404 } }, ignored],
    [{ error: { status: 503 }, message: 'down' }, failed('ToolError')],
    [{ error: 'no such page', status: 404 }, ignored],
    [{ error: 'down', status: 503 }, failed('ToolError')],
    [{ ok: false }, failed('ToolError')],
    [{ ok: false, error: 'down', code: 7 }, failed('ToolError')],
    [{ ok: false, rows: [] }, success],
    [{ ok: true, error: null }, success],
    [{ ok: 0 }, success],
    [{ isError: true, content: [{ type: 'text', text: 'Input validation error: query must be a text' }] }, ignored],
    [{ isError: true, content: [{ type: 'text', text: 'MCP error -32602: Invalid arguments' }] }, ignored],
    [{ isError: true, content: [{ type: 'text', text: 'the database is down' }] }, failed('ToolError')],
    [{ isError: true, content: [] }, failed('ToolError')],
    [new Response('', { status: 200 }), success],
    [new Response('', { status: 404 }), ignored],
    [new Response('', { status: 500 }), failed('NetworkError')],
    [
      new Response('', { status: 429, headers: { 'retry-after': '2' } }),
      failed('RateLimitExceeded', { retryAtMs: 3_000 }),
    ],
    [{ status: 500, ok: false, headers: 'none' }, success],
  ];
  for (const [value, outcome] of rows) assert.deepEqual(returned(value), outcome, JSON.stringify(value));
});

test('with failure = "throws-only" every returned value but a denial is a success', () => {
  const throwsOnly = { ...lists, failure: 'throws-only' } as const;
  const values = [{ error: 'x' }, { ok: false }, { isError: true }, new Response('', { status: 500 })];
  for (const value of values) assert.equal(classify({ value }, throwsOnly, 0, noFingerprint), success);
  assert.deepEqual(classify({ value: { policy_denied: true } }, throwsOnly, 0, noFingerprint), denied);
  assert.deepEqual(classify({ error: new Error('x') }, throwsOnly, 0, noFingerprint), failed('Error'));
});

test('an error of the request is neutral: 4xx but 408 and 429, and arguments that do not fit a schema', () => {
  const unauthorized: Outcome = { kind: 'neutral', why: 'unauthorized' };
  const rows: readonly [unknown, Outcome][] = [
    [errorOf({ status: 404 }), ignored],
    [errorOf({ statusCode: 409 }), ignored],
    [errorOf({ response: { status: 410 } }), ignored],
    [errorOf({ status: 401 }), unauthorized],
    [errorOf({ status: 403 }), unauthorized],
    [errorOf({ status: 408 }), failed('NetworkError')],
    [errorOf({ status: 429 }), failed('Error')],
    [errorOf({ name: 'ZodError' }), ignored],
    [errorOf({ name: 'ValiError' }), ignored],
    [errorOf({ name: 'AI_InvalidToolInputError' }), ignored],
    [errorOf({ name: 'ToolInputParsingException' }), ignored],
    [new Error('the tool failed', { cause: errorOf({ status: 404 }) }), ignored],
  ];
  for (const [error, outcome] of rows) assert.deepEqual(thrown(error), outcome, String(error));
  const ownList = { ...lists, ignoreErrors: ['Mine'] };
  assert.deepEqual(classify({ error: errorOf({ name: 'ZodError' }) }, ownList, 0, noFingerprint), ignored);
  const counting = { ...lists, countErrors: ['ClientError'] };
  assert.deepEqual(classify({ error: errorOf({ status: 404 }) }, counting, 0, noFingerprint), failed('ClientError'));
});

test('C12: the causes of an error are read: fetch has the reason of a failure only there', () => {
  const cause = errorOf({ name: 'ConnectTimeoutError', code: 'UND_ERR_CONNECT_TIMEOUT' });
  assert.deepEqual(thrown(new TypeError('fetch failed', { cause })), failed('NetworkError'));
  const deep = new Error('a', { cause: new Error('b', { cause: errorOf({ code: 'ECONNREFUSED' }) }) });
  assert.deepEqual(thrown(deep), failed('NetworkError'));
  const waiting = new Error('a', { cause: errorOf({ status: 503, headers: { 'retry-after': '4' } }) });
  assert.deepEqual(thrown(waiting), failed('NetworkError', { retryAtMs: 5_000 }));
  assert.deepEqual(thrown(new Error('a', { cause: 'a text' })), failed('Error'));
  const [missing, wrong] = [errorOf({ code: 'ENOENT' }), errorOf({ status: 422 })];
  assert.deepEqual(thrown(new TypeError('fetch failed', { cause: missing })), failed('NetworkError'));
  assert.deepEqual(thrown(Object.assign(errorOf({ status: 503 }), { cause: wrong })), failed('NetworkError'));
  const circle = new Error('a');
  circle.cause = new Error('b', { cause: circle });
  assert.deepEqual(thrown(circle), failed('Error'));
  const abort = new Error('the tool gave up', { cause: new DOMException('gone', 'AbortError') });
  assert.deepEqual(thrown(abort), failed('Error'), 'only the error itself says that the call was cancelled');
  assert.deepEqual(thrown(new TypeError('fetch failed')), failed('NetworkError'));
  assert.deepEqual(thrown(new TypeError('x is not a function')), failed('TypeError'));
  assert.deepEqual(thrown(new TypeError('fetch failed')), failed('NetworkError'));
  assert.deepEqual(thrown(new Error('plain')), failed('Error'));
  assert.deepEqual(
    thrown(new Error('plain', { cause })),
    failed('NetworkError'),
    'a cause is read after a plain error',
  );
});

test('each denial flag marks a denial if its value is true, and not otherwise', () => {
  const flags = ['approval_denied', 'permission_denied', 'approval_error', 'policy_denied', 'guardrail_denied'];
  for (const flag of flags) {
    assert.equal(isDenial({ [flag]: true }), true, flag);
    assert.equal(isDenial({ [flag]: 'true' }), false, flag);
    assert.deepEqual(thrown(errorOf({ [flag]: true })), denied);
    assert.deepEqual(thrown(errorOf({ [flag]: false })), failed('Error'));
  }
  for (const nothing of [null, undefined, 5, {}]) assert.equal(isDenial(nothing), false);
});

test('errors of a cancelled or denied call are neutral', () => {
  assert.equal(thrown(new DOMException('gone', 'AbortError')), cancelled);
  assert.equal(thrown(errorOf({ name: 'AbortError' })), cancelled);
  for (const name of ['ApprovalDenied', 'PermissionError', 'PolicyDeniedError', 'GuardrailProcessDenied']) {
    assert.deepEqual(thrown(errorOf({ name })), denied, name);
  }
  assert.deepEqual(thrown(errorOf({ name: 'MyPermissionError' })), failed('MyPermissionError'));
});

test('an ignored error class wins over a counted one; an unlisted error is named by its own class', () => {
  class Listed extends Error {}
  class Special extends Listed {
    override name = 'Special';
  }
  class InvalidArguments extends Listed {}
  const rows: readonly [unknown, Outcome][] = [
    [new RangeError('x'), failed('RangeError')],
    [new Listed('x'), failed('Listed')],
    [new Special('x'), failed('Listed')],
    [new InvalidArguments('x'), ignored],
    ['a text', failed('Error')],
    [undefined, failed('Error')],
    [{ name: 'Own' }, failed('Own')],
    [{ code: 7 }, failed('Object')],
  ];
  for (const [error, outcome] of rows) {
    assert.deepEqual(thrown(error), outcome, String(error));
    assert.deepEqual(thrown(error), outcome, `${error}, once more`);
  }
});

test('error codes and HTTP statuses map to the error names of policies', () => {
  const rows: readonly [fields: Readonly<Record<string, unknown>>, ...words: string[]][] = [
    [{ code: 'ENOENT' }, 'FileNotFound'],
    [{ code: 'EACCES' }, 'PermissionDenied'],
    [{ code: 'EPERM' }, 'PermissionDenied'],
    [{ code: 'ERR_INVALID_ARG_TYPE' }, 'InvalidArguments'],
    [{ code: -32602 }, 'InvalidArguments'],
    [{ code: -32603 }],
    [{ status: 400 }, 'InvalidArguments', 'ClientError'],
    [{ statusCode: 422 }, 'InvalidArguments', 'ClientError'],
    [{ status: 401 }, 'Unauthorized', 'ClientError'],
    [{ status: 404 }, 'ClientError'],
    [{ status: 429 }, 'RateLimitExceeded'],
    [{ response: { status: 429 } }, 'RateLimitExceeded'],
    [{ status: 408 }, 'NetworkError'],
    [{ status: 499 }, 'ClientError'],
    [{ status: 500 }, 'NetworkError'],
    [{ status: 599 }, 'NetworkError'],
    [{ status: 600 }],
    [{ code: 'ECONNRESET' }, 'NetworkError'],
    [{ code: 'UND_ERR_CONNECT_TIMEOUT' }, 'NetworkError'],
    [{ name: 'TimeoutError' }, 'NetworkError'],
  ];
  for (const [fields, ...words] of rows) {
    const { names } = readError(errorOf(fields));
    const known = names.filter((name) => /^[A-Z][a-z]+([A-Z]|ed$)/.test(name) && name !== 'TimeoutError');
    assert.deepEqual(known, words, JSON.stringify(fields));
  }
});

test('the names of an error are its name, then its classes, then its code, without repeats', () => {
  class Base extends Error {}
  class Leaf extends Base {}
  const error = Object.assign(new Leaf('m'), { name: 'Named', code: 'E7' });
  assert.deepEqual(readError(error), {
    names: ['Named', 'Leaf', 'Base', 'Error', 'Object', 'E7'],
    message: 'm',
    retryAfterMs: undefined,
  });
  assert.deepEqual(readError('words'), { names: ['Error'], message: 'words', retryAfterMs: undefined });
  assert.deepEqual(readError({ message: 5 }).message, '');
  assert.deepEqual(readError(null).names, ['Error']);
  assert.equal(readError({ name: 'n'.repeat(nameLengthMax + 1) }).names[0]?.length, nameLengthMax);
});

test('classify reads a bounded number of parent classes, and accepts a proxy that hides them', () => {
  let depth = 0;
  const endless: object = new Proxy(
    {},
    {
      getPrototypeOf() {
        depth++;
        return endless;
      },
    },
  );
  assert.deepEqual(readError(endless).names, ['Object']);
  assert.equal(depth, classChainMax);
  const hidden = new Proxy({ name: 'Shy' }, { getPrototypeOf: () => assert.fail('not yours') });
  assert.deepEqual(readError(hidden).names, ['Shy']);
});

test('the requested retry delay is read from a property in milliseconds or a header in seconds', () => {
  const headers = (value: string) => new Headers({ 'retry-after': value });
  const rows: readonly [fields: Readonly<Record<string, unknown>>, ms: number | undefined][] = [
    [{ retryAfterMs: 250 }, 250],
    [{ retryAfterMs: 1 }, 1],
    [{ retryAfterMs: 0 }, undefined],
    [{ retryAfterMs: -5 }, undefined],
    [{ retryAfterMs: 1e12 }, undefined],
    [{ retryAfterMs: '250' }, undefined],
    [{ headers: { 'retry-after': '3' } }, 3_000],
    [{ headers: headers('7') }, 7_000],
    [{ response: { headers: headers('8') } }, 8_000],
    [{ headers: headers('soon') }, undefined],
    [{ headers: headers('1234567') }, undefined],
    [{ headers: { get: () => assert.fail('hostile') } }, undefined],
    [{ headers: {} }, undefined],
  ];
  for (const [fields, ms] of rows) assert.equal(readError(errorOf(fields)).retryAfterMs, ms, JSON.stringify(fields));
  assert.deepEqual(thrown(errorOf({ retryAfterMs: 250 })), failed('Error', { retryAtMs: 1_250 }));
});

test('with sameErrorOnly the fingerprint of a failure depends on class and message', () => {
  const same = { ...lists, sameErrorOnly: true };
  const asked: string[] = [];
  const mark = (name: string, message: string) => asked.push(`${name}: ${message}`) + 40;
  assert.deepEqual(classify({ error: new TypeError('x is not a function') }, same, 0, mark), {
    kind: 'failure',
    error: 'TypeError',
    errorFingerprint: 41,
  });
  assert.deepEqual(asked, ['TypeError: x is not a function']);
});

test('plain errors are classified once per class; an error with its own name or fields is read itself', () => {
  class Plain extends Error {}
  const first = thrown(new Plain('one'));
  assert.deepEqual(first, failed('Error'));
  assert.equal(thrown(new Plain('two')), first);
  assert.deepEqual(thrown(Object.assign(new Plain('x'), { name: 'Renamed' })), failed('Renamed'));
  assert.deepEqual(thrown(Object.assign(new Plain('x'), { code: 'ENOENT' })), ignored);
  assert.deepEqual(thrown(Object.assign(new Plain('x'), { status: 503 })), failed('NetworkError'));
  assert.deepEqual(thrown(Object.assign(new Plain('x'), { statusCode: 503 })), failed('NetworkError'));
  assert.deepEqual(thrown(Object.assign(new Plain('x'), { response: { status: 503 } })), failed('NetworkError'));
  const asking = Object.assign(new Plain('x'), { headers: { 'retry-after': '1' } });
  assert.deepEqual(thrown(asking), failed('Error', { retryAtMs: 2_000 }));
  const others = { ...lists, ignoreErrors: ['Plain'] };
  assert.deepEqual(classify({ error: new Plain('x') }, others, 0, noFingerprint), ignored);
});

test('an unreadable value is a success if returned and a failure if thrown', () => {
  const gone = Proxy.revocable({}, {});
  gone.revoke();
  assert.equal(returned(gone.proxy), success);
  assert.deepEqual(thrown(gone.proxy), { kind: 'failure', error: 'Error', errorFingerprint: 1 });
  assert.equal(peek(gone.proxy, 'name'), undefined);
  assert.equal(peek({ name: 'x' }, 'name'), 'x');
});

test('an error code may be a number, and a name that is neither text nor number is ignored', () => {
  assert.deepEqual(readError({ code: 7 }).names, ['Object', '7']);
  assert.deepEqual(readError({ name: {}, code: true }).names, ['Object']);
});
