import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { HttpError } from '../../src/http/http-error.ts';
import { readBody } from '../../src/http/read-body.ts';

const bytesMax = 1_000;
const chunked = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';

/** Starts a server that reads each body by `read`; returns a client's connection and what was read. */
async function open(context: TestContext, read: (request: IncomingMessage) => Promise<Buffer>) {
  const results: PromiseSettledResult<Buffer>[] = [];
  const server = createServer(async (request, response) => {
    const [result] = await Promise.allSettled([read(request)]);
    results.push(result!);
    response.writeHead(result!.status === 'fulfilled' ? 200 : 413, { connection: 'close' }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => {});
  context.after(() => {
    socket.destroy();
    server.close();
  });
  return { socket, results };
}

async function readAnswer(socket: Socket): Promise<string> {
  let text = '';
  for await (const part of socket) text += part;
  return text;
}

async function waitForResult(results: readonly PromiseSettledResult<Buffer>[]): Promise<PromiseSettledResult<Buffer>> {
  while (results.length === 0) await sleep(1);
  return results[0]!;
}

test('a body of several parts is read as a whole, and each part is reported', async (context) => {
  const sizes: number[] = [];
  const { socket, results } = await open(context, (request) => readBody(request, bytesMax, (size) => sizes.push(size)));
  socket.write(`${chunked}3\r\nabc\r\n`);
  await sleep(20);
  socket.write('2\r\nde\r\n0\r\n\r\n');
  assert.match(await readAnswer(socket), /^HTTP\/1\.1 200 /);
  const result = await waitForResult(results);
  assert.equal(result.status === 'fulfilled' && result.value.toString(), 'abcde');
  assert.deepEqual(sizes, [3, 2]);
});

test('the parts of a body are not held beside it while its request is answered', async (context) => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const held: IncomingMessage[] = [];
  const length = 4 * 1024 * 1024;
  const { socket, results } = await open(context, (request) => {
    held.push(request);
    return readBody(request, length);
  });
  collectGarbage();
  const before = process.memoryUsage().arrayBuffers;
  socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`);
  for (let at = 0; at < 64; at++) {
    socket.write(Buffer.alloc(length / 64));
    await sleep(1);
  }
  const result = await waitForResult(results);
  assert.ok(result.status === 'fulfilled' && held.length === 1);
  let grown = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 100 && grown > 1.5 * length; tries++) {
    await sleep(10);
    collectGarbage();
    grown = process.memoryUsage().arrayBuffers - before;
  }
  assert.ok(grown <= 1.5 * length, `${grown} bytes are held`);
});

for (const [title, head] of [
  ['declared', `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${bytesMax + 1}\r\n\r\n`],
  ['chunked', `${chunked}${(bytesMax + 1).toString(16)}\r\n`],
] as const) {
  test(`a body that is too long, ${title}, is refused with an answer that the client can read`, async (context) => {
    const { socket, results } = await open(context, (request) => readBody(request, bytesMax));
    socket.write(head + 'a'.repeat(bytesMax + 1));
    assert.match(await readAnswer(socket), /^HTTP\/1\.1 413 /);
    const result = await waitForResult(results);
    assert.ok(result.status === 'rejected' && result.reason instanceof HttpError && result.reason.status === 413);
  });
}

test('an error of the listener for parts ends the reading', async (context) => {
  const { socket, results } = await open(context, (request) =>
    readBody(request, bytesMax, () => {
      throw new HttpError(503, 'too_busy', 'no room');
    }),
  );
  socket.write(`${chunked}3\r\nabc\r\n`);
  const result = await waitForResult(results);
  assert.ok(result.status === 'rejected' && result.reason.code === 'too_busy');
});

test('a client that leaves in the middle of its body ends the reading', async (context) => {
  const { socket, results } = await open(context, (request) => readBody(request, bytesMax));
  socket.write(`${chunked}3\r\nabc\r\n`);
  await sleep(20);
  socket.destroy();
  assert.equal((await waitForResult(results)).status, 'rejected');
});

test('a client that left before its body is read ends the reading', async (context) => {
  const { socket, results } = await open(context, async (request) => {
    await once(request, 'close');
    return readBody(request, bytesMax);
  });
  socket.write(`${chunked}3\r\nabc\r\n`);
  await sleep(20);
  socket.destroy();
  assert.equal((await waitForResult(results)).status, 'rejected');
});
