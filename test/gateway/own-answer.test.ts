import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { Refusal } from '../../src/core/refusal.ts';
import { sendRefusal } from '../../src/gateway/own-answer.ts';
import { anthropic } from '../../src/gateway/shapes/anthropic.ts';

const nowMs = 1_000_000;
const refusal = {
  ...{ kind: 'deny', control: 'budget', code: 'token_spend_limit' },
  ...{ explanation: 'The budget is used up', remediation: 'Wait.' },
} as unknown as Refusal;

for (const [title, changes, status, retryAfter] of [
  ['an open circuit', { control: 'breaker', retryAtMs: nowMs + 55_500 }, 503, '56'],
  ['an open circuit without a time', { control: 'breaker' }, 503, '1'],
  ['a budget of which more is being fetched', { retryAtMs: nowMs + 20 }, 503, '1'],
  ['a window that has room in ten seconds', { retryAtMs: nowMs + 10_000 }, 503, '10'],
  ['a window that has room in an hour', { retryAtMs: nowMs + 3_600_000 }, 402, null],
  ['a budget that is used up', {}, 402, null],
  ['a halt, whatever its time', { kind: 'halt', retryAtMs: nowMs + 20 }, 402, null],
] as const) {
  test(`the refusal by ${title} has the status ${status}`, async (context) => {
    const server = createServer((_, response) => {
      sendRefusal(response, anthropic, { ...refusal, ...changes }, nowMs);
    });
    server.listen(0, '127.0.0.1');
    context.after(() => server.close());
    await once(server, 'listening');
    const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    await answer.text();
    assert.equal(answer.status, status);
    assert.equal(answer.headers.get('retry-after'), retryAfter);
    assert.equal(answer.headers.get('x-should-retry'), status === 503 ? null : 'false');
  });
}
