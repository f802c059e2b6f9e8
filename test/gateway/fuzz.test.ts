/** Streams and requests in every shape that a network, a broken provider or a hostile client can give them. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { CallMeter } from '../../src/gateway/call-meter.ts';
import type { GatewayContext } from '../../src/gateway/gateway-context.ts';
import type { ModelCall } from '../../src/gateway/model-call.ts';
import { createModelFigures } from '../../src/gateway/model-figures.ts';
import { passStream } from '../../src/gateway/pass-stream.ts';
import { findShape } from '../../src/gateway/shapes/index.ts';
import { countTokens, planRequests } from './acceptance/plan.ts';
import { writeStream } from './acceptance/provider.ts';
import { ask, messageOf, openGateway, sendJson, streamHead, streamText } from './harness.ts';

const planned = planRequests(500).filter(({ isStream, reportsUsage }) => isStream && reportsUsage);

for (const api of ['messages', 'chat', 'responses', 'gemini'] as const) {
  test(`a stream that is split at any byte passes unchanged and is metered exactly: ${api}`, async () => {
    const own = planned.find((each) => each.api === api && each.chunks.length > 2 && each.chunks.length < 6)!;
    const { head, chunk, tail } = writeStream(own);
    const bytes = Buffer.from(head + own.chunks.map((_, at) => chunk(at)).join('') + tail);
    const path = own.path.split('?', 1)[0]!;
    const shape = findShape(path)!;
    const facts = shape.readRequest(own.path, JSON.parse(own.body) as Record<string, unknown>);
    for (let split = 1; split < bytes.length; split++) {
      const context = { figures: createModelFigures() } as GatewayContext;
      const size = { bytes: own.body.length, fileTokens: 0 };
      const meter = new CallMeter(context, { facts, shape, size } as ModelCall);
      const source = new PassThrough();
      const passed: Buffer[] = [];
      const response = { write: (part: Buffer) => passed.push(part) > 0, once() {} } as unknown as ServerResponse;
      const ended = new Promise<void>((resolve, reject) => {
        passStream(source, response, meter, {
          ...{ isOver: false, isDraining: false, isUsedUp: split % 2 === 0, pay: () => true, fail: reject },
          end(rest) {
            passed.push(rest);
            resolve();
          },
        });
      });
      source.write(bytes.subarray(0, split));
      await nextTurn();
      source.end(bytes.subarray(split));
      await ended;
      assert.ok(Buffer.concat(passed).equals(bytes), `split at ${split}`);
      const { inputTokens, outputTokens, estimated } = meter.usage();
      assert.equal(inputTokens + outputTokens, countTokens(own.tokens), `split at ${split}`);
      assert.equal(estimated, undefined);
    }
  });
}

const garbage: Readonly<Record<string, string | Buffer>> = {
  'random bytes': Buffer.from(Array.from({ length: 20_000 }, (_, at) => (at * at * 31 + at * 7) % 256)),
  'deep JSON': `data: ${'['.repeat(100_000)}\n\n`,
  'wrong types':
    'data: {"type":"message_start","message":7}\n\ndata: {"type":"content_block_delta","delta":[1]}\n\n' +
    'data: {"type":"message_delta","usage":"many"}\n\ndata: null\n\ndata: {"type":{"a":1}}\n\n',
  'huge counts': 'data: {"type":"message_delta","usage":{"input_tokens":1e300,"output_tokens":-5}}\n\n',
  'lines without an end': `${'event: x\n'.repeat(10_000)}data`,
  'only line ends': '\n\r\n\r'.repeat(5_000),
};

test('garbage in a stream passes as it is, and the gateway goes on', async (context) => {
  let name = '';
  const { post, runtime } = await openGateway(context, {
    answer(_, response) {
      if (name === '') return sendJson(response, messageOf('hi', 1, 1));
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      return response.end(garbage[name]);
    },
  });
  for (name of Object.keys(garbage)) {
    const answer = await post(`/task/${name.replaceAll(' ', '-')}/v1/messages`, { ...ask, stream: true });
    const came = Buffer.from(await answer.arrayBuffer());
    // Counts beyond any budget end the stream.
    assert.ok(name === 'huge counts' || came.equals(Buffer.from(garbage[name]!)), name);
  }
  name = '';
  for (const { id, cells } of runtime.tasks.values()) {
    const { reservedMicros, micros, tokens } = cells.budget.state;
    assert.ok(reservedMicros === 0 && micros >= 0 && tokens >= 0 && Number.isFinite(micros + tokens), id);
  }
  assert.equal((await post('/task/last/v1/messages', { ...ask, model: 'claude-haiku-4-5' })).status, 200);
});

test('a gateway that holds too many large bodies says when to try again', async (context) => {
  const { port, received } = await openGateway(context);
  const head = `POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Length: 62914560\r\n\r\n`;
  const part = Buffer.alloc(62_914_559, ' ');
  const sockets = Array.from({ length: 4 }, () => connect(port, '127.0.0.1').on('error', () => {}));
  const answers = sockets.map((socket) => {
    socket.write(head);
    socket.write(part);
    return once(socket, 'data');
  });
  const text = String((await Promise.race(answers))[0]);
  for (const socket of sockets) socket.destroy();
  assert.match(text, /^HTTP\/1.1 503 .*x-switchgear-code: too_busy/s);
  assert.match(text, /\r\nretry-after: 1\r\n/);
  assert.doesNotMatch(text, /x-should-retry/);
  assert.equal(received.length, 0);
});

test('a body of 100 MB is refused early, and a client that does not read holds the provider back', async (context) => {
  let written = 0;
  const stuck = Promise.withResolvers<void>();
  const { port, post } = await openGateway(context, {
    async answer(_, response) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(streamHead(10));
      const text = streamText('x'.repeat(60_000));
      for (; written < 60_000_000 && !response.destroyed; written += text.length) {
        if (response.write(text)) continue;
        const drained = new Promise((resolve) => response.once('drain', () => resolve('drained')));
        if ((await Promise.race([drained, sleep(500)])) === undefined) break;
      }
      stuck.resolve();
    },
  });
  const large = connect(port, '127.0.0.1');
  const head = `POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Length: 104857600\r\n\r\n`;
  large.write(head);
  let text = '';
  for await (const part of large) text += part;
  assert.match(text, /^HTTP\/1\.1 413 /);
  const slow = connect(port, '127.0.0.1');
  const body = JSON.stringify({ ...ask, max_tokens: 64_000, stream: true });
  slow.pause();
  slow.write(`POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  await stuck.promise;
  assert.ok(written < 30_000_000, `${written} bytes were taken for a client that does not read`);
  slow.destroy();
  assert.equal((await post('/v1/messages/count_tokens', ask)).status, 200);
});
