/** Upstreams that speak HTTP in odd ways, or do not take a whole request: clients get an answer, and nothing hangs. */

import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { ask, openGateway } from './harness.ts';

/** An upstream that answers every request with some bytes. */
async function openRaw(context: TestContext, bytes: string, closes = false): Promise<URL> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', () => {
      if (socket.writable) socket.write(bytes, 'latin1');
      if (closes) socket.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  context.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

const json = 'Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}';
const heads = [
  ['switches protocols', 'HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n', 502],
  ['has a status that is none', `HTTP/1.1 099 Odd\r\n${json}`, 502],
  ['has control characters in its reason', `HTTP/1.1 200 O\x01K\r\n${json}`, 200],
] as const;
for (const [what, bytes, status] of heads) {
  test(`an answer that ${what} reaches the client, and keeps no reservation`, async (context) => {
    const { post, task, url } = await openGateway(context, { upstream: await openRaw(context, bytes) });
    assert.equal((await post('/task/a/v1/messages', ask)).status, status);
    assert.equal((await fetch(`${url}/v1/models`)).status, status);
    assert.equal(task().cells.budget.state.reservedMicros, 0);
  });
}

const early = 'HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';
for (const [what, bytes] of [
  ['answers before it has read a body', early],
  ['cannot be reached', undefined],
] as const) {
  test(`an upstream that ${what} does not hold up the next request on the connection`, async (context) => {
    const upstream = bytes === undefined ? new URL('http://127.0.0.1:1') : await openRaw(context, bytes, true);
    const { port } = await openGateway(context, { upstream });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    context.after(() => agent.destroy());
    const send = (size: number) =>
      new Promise<number | undefined>((resolve, reject) => {
        const path = '/v1/messages/count_tokens';
        const sent = request({ agent, host: '127.0.0.1', port, method: 'POST', path }, (answer) => {
          answer.resume().on('end', () => resolve(answer.statusCode));
        });
        sent.on('error', reject);
        sent.end(Buffer.alloc(size, ' '));
      });
    const status = bytes === undefined ? 502 : 413;
    assert.deepEqual([await send(9_000_000), await send(10)], [status, status]);
  });
}

test('the name of a model is no place for a megabyte', async (context) => {
  const { post, received } = await openGateway(context);
  const answer = await post('/task/a/v1/messages', { ...ask, model: 'x'.repeat(1_000_000) });
  assert.equal(answer.status, 400);
  assert.equal(received.length, 0);
});
