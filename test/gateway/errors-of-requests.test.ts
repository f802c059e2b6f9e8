/** Errors of requests that the gateway cannot read or pass on: each in the shape of the API that was called. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openGateway } from './harness.ts';

type Fields = Record<string, unknown>;

/** What an SDK reads from the body of an error. */
const readers = {
  anthropic: (body: Fields) => [body.type, (body.error as Fields).type, (body.error as Fields).code],
  openai: (body: Fields) => ['error', (body.error as Fields).type, (body.error as Fields).code],
  gemini: ({ error }: Fields) => {
    const { code, status, details } = error as { code: number; status: string; details?: readonly Fields[] };
    return [code, status, details?.[0]?.reason];
  },
};

const gemini = '/v1beta/models/gemini-2.5-pro:generateContent';
const requests = [
  ['/v1/messages', readers.anthropic, ['error', 'invalid_request_error'], ['error', 'api_error']],
  ['/v1/chat/completions', readers.openai, ['error', 'invalid_request_error'], ['error', 'server_error']],
  ['/v1/responses', readers.openai, ['error', 'invalid_request_error'], ['error', 'server_error']],
  [gemini, readers.gemini, [400, 'INVALID_ARGUMENT'], [502, 'UNAVAILABLE']],
] as const;

for (const [path, read, invalid, unavailable] of requests) {
  test(`an error of the request or of the policy has the shape of the API: ${path}`, async (context) => {
    const { post, received } = await openGateway(context, {
      listed: (url) => [{ name: 'own', url, key_env: 'MISSING_KEY' }],
    });
    const send = async (body: string, headers: Record<string, string> = {}) => {
      const answer = await post(path, body, headers);
      const found = read((await answer.json()) as Fields);
      assert.equal(answer.headers.get('x-switchgear-code'), found.at(-1));
      assert.equal(answer.headers.get('x-should-retry'), 'false');
      return [answer.status, ...found];
    };
    const status = path === gemini ? 415 : invalid[0];
    assert.deepEqual(await send('{'), [400, ...invalid, 'invalid_json']);
    const odd = await send('{}', { 'content-encoding': 'xz' });
    assert.deepEqual(odd, [415, status, invalid[1], 'content_encoding']);
    assert.deepEqual(await send('{"model":"m"}'), [502, ...unavailable, 'upstream_not_configured']);
    assert.equal(received.length, 0);
  });
}

for (const path of ['/v1/models', '/v1/files', '/v1beta/models']) {
  test(`an upstream that cannot be reached by a path without a price may be asked again: ${path}`, async (context) => {
    const { url } = await openGateway(context, { upstream: new URL('http://127.0.0.1:9') });
    const answer = await fetch(`${url}${path}`);
    assert.equal(answer.status, 502);
    assert.equal(answer.headers.get('x-switchgear-code'), 'upstream_unreachable');
    assert.equal(answer.headers.get('x-should-retry'), null);
    const { error } = (await answer.json()) as { error: Fields };
    assert.notEqual(error.type, 'switchgear_error');
    assert.match(String(error.message), /127\.0\.0\.1:9 cannot be reached: ECONNREFUSED/);
  });
}
