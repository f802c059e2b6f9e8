import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFailureText, showError } from '../../../src/core/messages/shown-error.ts';

test('the message of a failure is read from errors, reports, MCP results and responses', () => {
  assert.equal(readFailureText({ error: new Error('connect refused') }), 'connect refused');
  assert.equal(readFailureText({ error: 'plain text' }), 'plain text');
  assert.equal(readFailureText({ error: { status: 503 } }), 'HTTP 503');
  assert.equal(readFailureText({ value: { error: 'no credit' } }), 'no credit');
  assert.equal(readFailureText({ value: { ok: false, error: { message: 'gone' } } }), 'gone');
  assert.equal(
    readFailureText({ value: { isError: true, content: [{ type: 'text', text: 'bad path' }] } }),
    'bad path',
  );
  assert.equal(readFailureText({ value: new Response('', { status: 500 }) }), 'HTTP 500');
  for (const error of [undefined, null, 7, {}, Object.create(null)]) assert.equal(readFailureText({ error }), '');
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  assert.equal(readFailureText({ error: proxy }), '');
  assert.equal(readFailureText({ error: new Error('x'.repeat(5_000)) }).length, 600);
});

test('an error is shown in one short line, without secrets and control characters', () => {
  assert.equal(showError('a\n\u001b[31mb\u202ec'), 'a [31mb c');
  assert.equal(showError('no: https://ada:hunter2@host/x'), 'no: https://[password]@host/x');
  assert.doesNotMatch(showError(`401 for ${'sk-ant-api03-'}${'abcdefghijklmnop1234'}`), /abcdefgh/);
  const cut = showError(`${'word '.repeat(28)}token=abc${'x'.repeat(400)}`);
  assert.ok(cut.length <= 160 && !cut.includes('abcx'), cut);
});
