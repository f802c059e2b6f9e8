import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as endOfTurn, setTimeout as sleep } from 'node:timers/promises';
import { createTaskLedger } from '../../src/gateway/task-ledger.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { bothStores, testOn, until } from '../stores/both-stores.ts';
import { ask, messageOf, openGateway, sendJson, streamHead, streamTail, streamText } from './harness.ts';

const { kinds, newPlace } = bothStores();

const streaming = { 'content-type': 'text/event-stream' };

test('a whole answer whose client is gone costs as much as the model usually writes', async (context) => {
  let isSlow = false;
  const { url, post, received, task } = await openGateway(context, {
    answer: (_, response) => (isSlow ? undefined : sendJson(response, messageOf('hi', 100, 3_000))),
  });
  await post('/task/a/v1/messages', { ...ask, max_tokens: 64_000 });
  isSlow = true;
  const closing = new AbortController();
  const body = JSON.stringify({ ...ask, max_tokens: 64_000 });
  const dropped = fetch(`${url}/task/b/v1/messages`, { method: 'POST', body, signal: closing.signal }).catch(() => 0);
  while (received.length < 2) await sleep(1);
  closing.abort();
  await dropped;
  await received[1]!.aborted;
  const { tokens, reservedMicros } = task('gw-b').cells.budget.state;
  assert.ok(tokens >= 3_000 && tokens < 3_300, `${tokens}`);
  assert.equal(reservedMicros, 0);
});

test('a whole answer that breaks off costs as much as the model usually writes', async (context) => {
  const { post, task } = await openGateway(context, {
    answer(_, response) {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '5000' });
      response.write('{"content":[');
      setImmediate(() => response.destroy());
    },
  });
  assert.equal((await post('/task/a/v1/messages', { ...ask, max_tokens: 64_000 })).status, 502);
  const { tokens, reservedMicros } = task('gw-a').cells.budget.state;
  assert.ok(tokens >= 1_000 && tokens < 1_100, `${tokens}`);
  assert.equal(reservedMicros, 0);
});

test('what a stream has written is stored while it runs, for a gateway that is killed', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-ledger-'));
  const store = sqliteStore({ path: join(folder, 'gear.db') });
  const { url, runtime, task } = await openGateway(context, {
    gear: { store },
    async answer(_, response) {
      response.writeHead(200, streaming);
      response.write(streamHead(1_000));
      for (let at = 0; at < 100; at++) response.write(streamText('word '.repeat(80)));
    },
  });
  context.after(() => {
    store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const closing = new AbortController();
  const body = JSON.stringify({ ...ask, max_tokens: 64_000, stream: true });
  const answer = await fetch(`${url}/task/a/v1/messages`, { method: 'POST', body, signal: closing.signal });
  const reader = answer.body!.getReader();
  for (let size = 0; size < 100 * 400; ) size += (await reader.read()).value?.length ?? 0;
  const ledger = createTaskLedger(runtime)!;
  let stored = await ledger.load('gw-a');
  // 10,000 tokens were written and one call was counted.
  for (let at = 0; at < 100 && stored.tokens < 11_000; at++) {
    await sleep(20);
    stored = await ledger.load('gw-a');
  }
  assert.ok(stored.tokens >= 11_000 && stored.tokens < 12_000, `${stored.tokens}`);
  assert.ok(stored.micros >= 153_000, `${stored.micros}`);
  assert.equal(stored.modelCalls, 1);
  closing.abort();
  while (task('gw-a').cells.budget.state.reservedMicros > 0) await sleep(1);
  await endOfTurn();
  await store.shared.settled();
  const { tokens, micros } = task('gw-a').cells.budget.state;
  assert.deepEqual(await ledger.load('gw-a'), { tokens, micros, modelCalls: 1 });
});

for (const [name, openStore] of Object.entries(kinds)) {
  testOn(name)(
    `a task that ends and begins anew at once goes on with all that it has spent: ${name}`,
    async (context) => {
      const store = await openStore(newPlace());
      const { post, runtime, task } = await openGateway(context, {
        gear: { store },
        answer: (_, response) => sendJson(response, messageOf('hi', 100, 10)),
      });
      context.after(() => store.close());
      assert.equal((await post('/task/a/v1/messages', ask)).status, 200);
      await store.shared.settled();
      const ledger = createTaskLedger(runtime)!;
      ledger.follow(task(), { id: 'b', keepMs: 60_000 }, { micros: 0, tokens: 0, modelCalls: 0 });
      ledger.save(task());
      assert.equal((await ledger.load('b')).tokens, 110);
      await endOfTurn();
    },
  );

  testOn(name)(
    `calls without a price count past a restart, and close the card of a halt that is over: ${name}`,
    async (context) => {
      const place = newPlace();
      const statuses: number[] = [];
      for (const maxModelCalls of [2, 2, 2, 9]) {
        const store = await openStore(place);
        const gateway = await openGateway(context, { gear: { store }, limits: { maxModelCalls } });
        statuses.push((await gateway.post('/task/a/v1/images/generations', {})).status);
        if (maxModelCalls > 2)
          await until(() => store.cards().every(({ kind, state }) => kind !== 'halt' || state !== 'open'));
        await gateway.close();
        await store.shared.settled();
        store.close();
      }
      assert.deepEqual(statuses, [200, 200, 402, 200]);
    },
  );
}

const long = 'x'.repeat(1_400_000);
const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`;
const longEvents: Readonly<
  Record<string, readonly [path: string, body: object, text: string, least: number, most: number]>
> = {
  'Messages, estimated by its length': [
    '/v1/messages',
    { ...ask, stream: true },
    streamHead(10) + streamText(long),
    350_000,
    362_000,
  ],
  'Responses, by the usage at its end': [
    '/v1/responses',
    { model: 'gpt-4o', input: 'hi', stream: true },
    `${event({ type: 'response.output_text.delta', delta: 'hello' })}${event({
      type: 'response.completed',
      response: { output: [{ text: long }], usage: { input_tokens: 7, output_tokens: 30 }, metadata: {} },
    })}`,
    37,
    37,
  ],
  'Chat Completions, by the usage at its end': [
    '/v1/chat/completions',
    { model: 'gpt-4o', messages: [], stream: true },
    `${event({
      choices: [{ delta: { content: long } }],
      usage: { prompt_tokens: 7, completion_tokens: 30 },
    })}data: [DONE]\n\n`,
    37,
    37,
  ],
  'Gemini, by the usage at its end': [
    '/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
    { contents: [] },
    event({
      candidates: [{ content: { parts: [{ inlineData: { data: long } }] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 30 },
    }),
    37,
    37,
  ],
};

for (const [name, [path, body, text, least, most]] of Object.entries(longEvents)) {
  test(`an event of more than a megabyte passes and is metered: ${name}`, async (context) => {
    const { post, task } = await openGateway(context, {
      answer(_, response) {
        response.writeHead(200, streaming);
        response.end(text);
      },
    });
    assert.equal(await (await post(`/task/a${path}`, body)).text(), text);
    const { tokens, reservedMicros } = task('gw-a').cells.budget.state;
    assert.ok(tokens >= least && tokens <= most, `${tokens}`);
    assert.equal(reservedMicros, 0);
  });
}

test('cache writes for an hour cost twice as much as input', async (context) => {
  const usage = {
    ...{ input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 1_500 },
    cache_creation: { ephemeral_5m_input_tokens: 500, ephemeral_1h_input_tokens: 1_000 },
  };
  const { post, task } = await openGateway(context, {
    answer({ body }, response) {
      if (!body.includes('"stream":true')) return sendJson(response, { ...messageOf('hi', 0, 0), usage });
      const head = streamHead(0).replace('"input_tokens":0,"output_tokens":1', JSON.stringify(usage).slice(1, -1));
      response.writeHead(200, streaming);
      return response.end(head + streamTail(0));
    },
  });
  await post('/task/a/v1/messages', ask);
  await (await post('/task/b/v1/messages', { ...ask, stream: true })).text();
  for (const id of ['gw-a', 'gw-b']) {
    const { micros, tokens } = task(id).cells.budget.state;
    assert.deepEqual({ micros, tokens }, { micros: 500 * 3.75 + 1_000 * 6, tokens: 1_500 });
  }
});

test('a drained call is settled by the usage that comes after its client has left', async (context) => {
  const go = Promise.withResolvers<void>();
  const { url, task, received } = await openGateway(context, {
    gear: { policy: { gateway: { onDrop: 'drain' } } },
    async answer({ body }, response) {
      if (!body.includes('"stream":true')) {
        await go.promise;
        return sendJson(response, messageOf('hi', 200, 20));
      }
      response.writeHead(200, streaming);
      response.write(streamHead(2_000) + streamText('one '));
      await go.promise;
      return response.end(streamText('two') + streamTail(50));
    },
  });
  const closing = new AbortController();
  const send = (id: string, stream: boolean) =>
    fetch(`${url}/task/${id}/v1/messages`, {
      ...{ method: 'POST', body: JSON.stringify({ ...ask, stream }), signal: closing.signal },
    });
  await send('stream', true);
  const whole = send('whole', false).catch(() => 'gone');
  while (received.length < 2) await sleep(1);
  closing.abort();
  assert.equal(await whole, 'gone');
  await sleep(20);
  go.resolve();
  for (const [id, tokens] of [
    ['gw-stream', 2_050],
    ['gw-whole', 220],
  ] as const) {
    const { budget } = task(id).cells;
    while (budget.state.reservedTokens > 0) await sleep(1);
    assert.equal(budget.state.tokens, tokens);
    assert.equal(budget.state.estimatedMicros, undefined);
  }
});
