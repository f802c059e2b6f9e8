/** The official SDKs through the gateway and directly: the same answers, streams, errors and requests. */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { openGateway, type Received } from '../../gateway/harness.ts';
import { type Ask, catchError, clients } from './clients.ts';
import { type ApiName, answer, wordings } from './provider.ts';

const apis = Object.keys(clients) as ApiName[];

/** Records the bytes and headers of all answers that programs of this process get. */
function recordAnswers(context: TestContext): { readonly bytes: string; readonly headers: object; status: number }[] {
  const answers: { bytes: string; headers: object; status: number }[] = [];
  const { fetch } = globalThis;
  context.mock.method(globalThis, 'fetch', async (...args: Parameters<typeof fetch>) => {
    const response = await fetch(...args);
    const { connection: _, date: __, 'keep-alive': ___, ...headers } = Object.fromEntries(response.headers);
    const record = { bytes: '', headers, status: response.status };
    answers.push(record);
    void response
      .clone()
      .text()
      .then(
        (text) => {
          record.bytes = text;
        },
        () => {},
      );
    return response;
  });
  return answers;
}

/**
 * An answer as its client has it. Headers of one connection (hop by hop) may differ: the Gemini SDK adds all headers to
 * its results.
 */
function withoutConnection(answer: unknown): unknown {
  return JSON.parse(
    JSON.stringify(answer, (name, value) => (name === 'keep-alive' || name === 'connection' ? undefined : value)),
  );
}

/** The parts of a request that a provider reads. */
function readRequest({ method, url, headers, body }: Received): object {
  const { host: _, connection: __, 'accept-encoding': ___, ...rest } = headers;
  return { method, url, headers: rest, body };
}

for (const api of apis) {
  test(`${api}: texts, tools, streams, pictures and long prompts are the same through the gateway`, async (context) => {
    const answers = recordAnswers(context);
    const { url, direct, received } = await openGateway(context, { answer });
    const asks: readonly Ask[] = [
      { scene: 'text' },
      { scene: 'tool' },
      { scene: 'text', picture: randomBytes(300_000).toString('base64') },
      { scene: 'text', prompt: `${'long "prompt" \u2028 \\ ü '.repeat(50_000)}` },
    ];
    for (const ask of asks) {
      for (const kind of ['whole', 'stream'] as const) {
        received.length = 0;
        answers.length = 0;
        const straight = await clients[api][kind](direct, ask);
        const relayed = await clients[api][kind](url, ask);
        assert.equal(received.length, 2);
        assert.deepEqual(readRequest(received[1]!), readRequest(received[0]!));
        assert.deepEqual(withoutConnection(relayed), withoutConnection(straight));
        await new Promise(setImmediate);
        assert.equal(answers.length, 2);
        assert.deepEqual(answers[1], answers[0]);
        const scene = ask.scene as 'text' | 'tool';
        if (kind === 'stream') assert.equal(answers[1]!.bytes, wordings[api].stream(scene).join(''));
      }
    }
  });

  test(`${api}: errors of the provider are the same through the gateway`, async (context) => {
    const { url, direct, received } = await openGateway(context, { answer });
    for (const scene of ['400', '401', '403', '404', '413', '429', '500', '503', '529']) {
      for (const kind of ['whole', 'stream'] as const) {
        // Each call has a model of its own, so that no breaker opens.
        const ask = { scene, model: `${api}-${scene}-${kind}` };
        received.length = 0;
        const straight = await catchError(clients[api][kind](direct, ask));
        const relayed = await catchError(clients[api][kind](url, ask));
        assert.deepEqual(relayed, straight, scene);
        assert.equal(straight.status, Number(scene));
        // The gateway tries a busy provider again before the client gets to know.
        assert.equal(received.length, scene === '503' || scene === '529' ? 4 : 2);
      }
    }
  });

  test(`${api}: broken connections and streams are errors of the client through the gateway, too`, async (context) => {
    const { url, direct, task } = await openGateway(context, { answer });
    const straight: unknown[] = [];
    const relayed: unknown[] = [];
    const cut = { scene: 'cut' };
    const first = await catchError(clients[api].stream(direct, { ...cut, onPart: (part) => straight.push(part) }));
    const second = await catchError(clients[api].stream(url, { ...cut, onPart: (part) => relayed.push(part) }));
    assert.deepEqual(withoutConnection(relayed), withoutConnection(straight));
    assert.ok(relayed.length > 0);
    assert.equal(second.class, first.class);
    await catchError(clients[api].whole(url, cut));
    // The client gets an error with a status that it may retry, in place of a broken connection.
    assert.equal((await catchError(clients[api].whole(url, { scene: 'reset', model: 'other' }))).status, 502);
    const { reservedMicros, reservedTokens } = task().cells.budget.state;
    assert.deepEqual({ reservedMicros, reservedTokens }, { reservedMicros: 0, reservedTokens: 0 });
  });

  test(`${api}: a client that aborts ends the call at the provider`, async (context) => {
    const { url, received, task } = await openGateway(context, { answer });
    const closing = new AbortController();
    const ask = { scene: 'hang', signal: closing.signal, onPart: () => closing.abort() };
    // Some SDKs end the stream quietly, and some throw.
    await clients[api].stream(url, ask).catch(() => {});
    await received[0]!.aborted;
    while (task().cells.budget.state.reservedMicros > 0) await new Promise(setImmediate);
    assert.equal(task().halt, undefined);
  });

  test(`${api}: a halt reaches the SDK once, as an error that it does not retry`, async (context) => {
    const { url, received } = await openGateway(context, { answer, limits: { maxModelCalls: 1 } });
    const ask = { scene: 'text', retries: 3, headers: { 'x-switchgear-task': 'one' } };
    const answers = recordAnswers(context);
    await clients[api].whole(url, ask);
    for (const kind of ['whole', 'stream'] as const) {
      answers.length = 0;
      const error = await catchError(clients[api][kind](url, ask));
      assert.equal(answers.length, 1);
      assert.equal(error.status, api === 'responses' ? 400 : 402);
      assert.equal(error.class, { gemini: 'ApiError', responses: 'BadRequestError' }[api as string] ?? 'APIError');
      assert.match(String(error.message), /Switchgear: .*Make no more calls/);
    }
    assert.equal(received.length, 1);
  });
}

test('an open circuit is an error with a time that SDKs wait for', async (context) => {
  const { url, received } = await openGateway(context, { answer });
  for (let at = 0; at < 5; at++) await catchError(clients.messages.whole(url, { scene: '500' }));
  const error = await catchError(clients.messages.whole(url, { scene: '500' }));
  assert.deepEqual([error.class, error.status], ['ServiceUnavailableError', 503]);
  assert.ok(Number(error.retryAfter) > 0);
  assert.equal(received.length, 5);
});

test('200 parallel streams arrive whole, each its own', async (context) => {
  const { url, received, task } = await openGateway(context, { answer });
  const all = await Promise.all(
    Array.from({ length: 200 }, (_, at) => clients[apis[at % apis.length]!].stream(url, { scene: 'text' })),
  );
  assert.equal(received.length, 200);
  for (const [at, parts] of all.entries()) assert.deepEqual(parts, all[at % apis.length]);
  assert.equal(task().cells.budget.state.reservedMicros, 0);
});
