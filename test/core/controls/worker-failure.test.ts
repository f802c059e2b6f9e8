import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { findCauseHint } from '../../../src/core/controls/delegation/cause-hint.ts';
import { blockReason, shortMessage, userMessage } from '../../../src/core/controls/delegation/messages.ts';
import { readWorkerFailure, type WorkerFailureOptions } from '../../../src/core/controls/worker-failure.ts';
import { reasonLengthMax } from '../../../src/core/limits.ts';

const read = (result: unknown, reading: Partial<WorkerFailureOptions> = {}) =>
  readWorkerFailure(result, { phrases: true, ...reading });
const failed = (result: unknown, reading?: Partial<WorkerFailureOptions>) => read(result, reading).failed;

test('anywhere: each of the seven phrases is a failure, in upper or lower case and across a line break', () => {
  for (const text of [
    'I cannot list kitchens',
    "I can't list kitchens",
    'Unable to complete Z',
    "I don't have the ability to Y",
    'I do not have ability to list kitchens',
    'There is no ability for that here',
    'I am NOT ABLE TO do this',
    'I am unable\n  to go on',
    'This **cannot** be done',
  ]) {
    assert.ok(failed(text, { phrases: 'anywhere' }), text);
  }
});

test('typographic apostrophes count like the plain one', () => {
  for (const mark of ['\u2019', '\u2018', '\u02bc', '\u2032', '\uff07', '`']) {
    assert.ok(failed(`I can${mark}t list kitchens`), mark);
    assert.ok(failed(`I don${mark}t have access`), mark);
  }
});

test('a phrase inside a longer word does not count', () => {
  for (const text of [
    'cannothing',
    'the uncannot',
    'user_cannot_edit',
    'unable tolerance',
    'no abilityx',
    'I canted it',
  ]) {
    assert.ok(!failed(text, { phrases: 'anywhere' }), text);
  }
});

test('a valid or partly valid answer is not a failure', () => {
  for (const result of [
    'Three kitchens: A, B, C',
    '',
    undefined,
    null,
    42,
    true,
    {},
    [],
    { text: 'Half of it is done' },
  ]) {
    assert.deepEqual(read(result), { failed: false, reason: '' }, JSON.stringify(result));
  }
});

test('with phrases set to false a phrase is not a failure, and a structured error still is', () => {
  assert.ok(!failed('I cannot list kitchens', { phrases: false }));
  assert.ok(failed({ error: 'down' }, { phrases: false }));
});

test('the reason quotes the beginning of the text of the worker', () => {
  assert.equal(
    read('I do not have ability to list kitchens').reason,
    'Worker reported limitation: I do not have ability to list kitchens',
  );
  assert.equal(read(`I cannot ${'x'.repeat(100_000)}`).reason.length, reasonLengthMax);
});

test('a result whose structure reports an error is a failure without any phrase', () => {
  const rows: [unknown, RegExp][] = [
    [new Error('boom'), /^Error: boom$/],
    [new TypeError('bad'), /^TypeError: bad$/],
    [{ error: 'no such tool' }, /^no such tool$/],
    [{ error: { message: 'nested' } }, /^nested$/],
    [{ error: true }, /^Error$/],
    [{ isError: true, content: [{ type: 'text', text: 'disk full' }] }, /^disk full$/],
    [{ is_error: true }, /^Error$/],
    [{ status: 'error' }, /^Status error/],
    [{ status: 'FAILED', text: 'half way' }, /^Status FAILED: half way$/],
    [{ status: 'timeout' }, /timeout/],
    [{ status: 'incomplete' }, /incomplete/],
    [{ completed: false }, /^Task incomplete/],
    [{ error: 'limit', circuit_open: true }, /^circuit_open: limit$/],
    [{ delegation_limit: true }, /^delegation_limit/],
  ];
  for (const [result, reason] of rows) {
    const reading = read(result, { phrases: false });
    assert.ok(reading.failed, String(reason));
    assert.match(reading.reason, reason);
  }
});

test('a falsy error, a good status and an unset flag are not a failure', () => {
  for (const result of [{ error: null }, { error: '' }, { status: 'done' }, { completed: true }, { isError: false }]) {
    assert.ok(!failed(result), JSON.stringify(result));
  }
});

test('a denial and a cancellation are not the worker\u2019s failure', () => {
  assert.ok(!failed({ error: 'the user said no', approval_denied: true }));
  assert.ok(!failed({ error: 'policy', policy_denied: true }));
  const aborted = new Error('The operation was aborted');
  aborted.name = 'AbortError';
  assert.ok(!failed(aborted));
});

test('messages of the user, the system or a tool are never read as messages of the worker', () => {
  for (const role of ['user', 'human', 'system', 'developer', 'tool', 'function']) {
    const message = { role, content: "I don't have eggs, I cannot bake" };
    assert.ok(!failed({ messages: [message] }), role);
    assert.ok(!failed({ messages: [{ type: role, content: message.content, name: null }] }), role);
    assert.ok(!failed(message), role);
  }
});

test('the last message decides if the worker wrote that message', () => {
  const no = 'I cannot do that';
  assert.ok(
    failed({
      messages: [
        { role: 'user', content: 'list' },
        { role: 'assistant', content: no },
      ],
    }),
  );
  assert.ok(failed({ messages: [{ type: 'ai', content: [{ type: 'text', text: no }] }] }));
  assert.ok(failed({ messages: [{ getType: () => 'ai', content: no }] }));
  assert.ok(failed({ messages: [{ _getType: () => 'ai', content: no }] }));
  assert.ok(
    !failed({
      messages: [
        { role: 'assistant', content: no },
        { role: 'assistant', content: 'Done.' },
      ],
    }),
  );
  assert.ok(
    !failed({
      messages: [
        { role: 'assistant', content: no },
        { role: 'user', content: 'try again' },
      ],
    }),
  );
  assert.ok(!failed({ messages: [{ content: no }] }), 'nobody knows who wrote it');
  assert.ok(!failed({ messages: [] }));
});

test('a message with the name of the worker is read as a message of the worker', () => {
  const message = { type: 'human', name: 'chef_team', content: 'I cannot list kitchens' };
  assert.ok(failed({ messages: [message] }, { worker: 'chef_team' }));
  assert.ok(!failed({ messages: [message] }, { worker: 'baker' }));
  assert.ok(!failed({ messages: [{ ...message, name: undefined }] }));
});

test('text is read from the usual fields of a result', () => {
  for (const key of ['text', 'content', 'output', 'message']) assert.ok(failed({ [key]: 'I cannot' }), key);
  assert.ok(!failed({ notes: 'I cannot' }));
});

test('messages of Switchgear do not count as failures', () => {
  for (const text of [userMessage('chef_team', 2), blockReason('x', 2, 2), shortMessage('I cannot say more.')]) {
    assert.ok(!failed(text), text);
    assert.ok(!failed({ messages: [{ role: 'assistant', name: 'system', content: text }] }), text);
  }
});

test('the same output twice is a failure, a different output is not', () => {
  const menu = 'Here is the menu: soup, fish and cake';
  assert.ok(failed(menu, { previous: menu, phrases: false }));
  assert.ok(failed({ text: menu }, { previous: { text: menu } }));
  assert.ok(!failed(menu, { previous: 'Here is the list of kitchens' }));
  assert.ok(!failed(menu, { previous: undefined }));
  assert.ok(!failed('', { previous: '' }), 'two silent workers said nothing twice');
});

test('a result the caller knows to be incomplete is a failure', () => {
  assert.deepEqual(read('Going back to you', { incomplete: true }), { failed: true, reason: 'Task incomplete' });
});

test('a result that cannot be read is a failure and never throws', () => {
  const throwing = new Proxy({}, { get: () => assert.fail('hostile') });
  assert.deepEqual(read(throwing), { failed: true, reason: 'unreadable result' });
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  assert.ok(failed(proxy));
  assert.ok(failed(Object.assign(Object.create(null), { status: 'error' })));
});

test('a getter that throws hides only its own field', () => {
  const result = {
    get text(): string {
      throw new Error('no text in this mode');
    },
    content: 'I cannot list kitchens',
  };
  assert.ok(failed(result));
  assert.ok(
    !failed({
      ...{ content: 'fine' },
      get output(): string {
        throw new Error('no');
      },
    }),
  );
});

test('only a bounded prefix of a huge answer is read', () => {
  assert.ok(!failed(`${'x '.repeat(5_000_000)}I cannot`));
  const blocks = Array.from({ length: 10_000 }, () => ({ type: 'text', text: 'y'.repeat(1000) }));
  assert.ok(!failed({ messages: [{ role: 'assistant', content: [...blocks, { type: 'text', text: 'I cannot' }] }] }));
});

test('connection failures give a hint at the service that may be down', () => {
  const rows: [string[], string | undefined][] = [
    [['Neo4j connection timeout', 'Neo4j connection timeout'], 'Database may be down.'],
    [['connect ECONNREFUSED 127.0.0.1:5432 (postgres)'], 'Database may be down.'],
    [['MCP request timed out'], 'MCP server may be down.'],
    [['getaddrinfo ENOTFOUND api.example.com'], 'Network may be down.'],
    [['TimeoutError: took too long'], 'Service may be down.'],
    [['Neo4j connection timeout', 'I cannot list kitchens'], undefined],
    [['the database has no such table'], undefined],
    [[], undefined],
  ];
  for (const [reasons, hint] of rows) assert.equal(findCauseHint(reasons), hint, reasons.join(' | '));
});

test('if all failures are connection errors, the most specific one is the hint', () => {
  assert.equal(findCauseHint(['connection refused', 'postgres timeout']), 'Database may be down.');
  assert.equal(findCauseHint(['connection refused', 'timed out']), 'Service may be down.');
  assert.equal(findCauseHint(['postgres timeout', 'bad words']), undefined);
});

test('content blocks without text are skipped', () => {
  assert.equal(failed({ role: 'assistant', content: [null, 5, { text: 'I cannot' }] }), true);
  assert.equal(failed({ role: 'assistant', content: [null, 5, { text: 'fine' }] }), false);
});

test('an error of another realm and an object that inherits from an error are failures', () => {
  const foreign = runInNewContext("new TypeError('elsewhere')");
  assert.equal(foreign instanceof Error, false);
  assert.deepEqual(read(foreign), { failed: true, reason: 'TypeError: elsewhere' });
  const heir = Object.create(new Error('inherited'));
  assert.deepEqual(read(heir), { failed: true, reason: 'Error: inherited' });
});
