/** The stream of events: live, replayed, and for clients that do not read. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request as startRequest } from 'node:http';
import { connect } from 'node:net';
import { test } from 'node:test';
import type { Clock } from '../../../src/ports/clock.ts';
import type { CrossProcessStore } from '../../../src/ports/store.ts';
import { streamBufferMax, streamIdlePollMs, streamLagMax, streamPollMs } from '../../../src/server/http/limits.ts';
import { addToken, revokeToken } from '../../../src/server/http/tokens.ts';
import { bothStores, testOn, until } from '../../stores/both-stores.ts';
import { serve, type TestServer } from '../server-setup.ts';

const { kinds, newPlace } = bothStores();

interface StreamEvent {
  readonly id: string;
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: events have many shapes.
  readonly data: any;
}

/** Opens a stream and collects its events. */
async function listen({ port, token }: Pick<TestServer, 'port' | 'token'>, headers = {}, query = '') {
  const own = { authorization: `Bearer ${token}`, 'x-switchgear': '1' };
  const sent: ClientRequest = startRequest({
    ...{ host: '127.0.0.1', port, path: `/api/events${query}`, agent: false },
    headers: { ...own, ...headers },
  });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const events: StreamEvent[] = [];
  let text = '';
  response.setEncoding('utf8');
  response.on('data', (part: string) => {
    const blocks = (text + part).split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map((line) => line.split(/: (.*)/s, 2) as [string, string]));
      if (fields.has('event'))
        events.push({
          id: fields.get('id') ?? '',
          event: fields.get('event')!,
          data: JSON.parse(fields.get('data') ?? 'null'),
        });
    }
  });
  response.on('error', () => undefined);
  const entries = () => events.filter(({ event }) => event === 'entry');
  return { response, events, entries, end: () => sent.destroy() };
}

function write({ append, clock }: CrossProcessStore, message: string): void {
  append({ type: 'internal-error', where: 'test', message, code: 'internal_error' }, {}, clock.nowMs());
}

for (const [name, open] of Object.entries(kinds)) {
  const test = testOn(name);
  test(`${name}: entries of other processes arrive once, in order, and are replayed after an id`, async () => {
    const place = newPlace();
    const [store, other] = [await open(place), await open(place)];
    const server = await serve(store);
    const live = await listen(server);
    assert.equal(live.response.headers['content-type'], 'text/event-stream; charset=utf-8');
    for (let at = 0; at < 50; at++) write(other, `m${at}`);
    await other.shared.settled();
    await until(() => live.entries().length === 50);
    assert.deepEqual(
      live.entries().map(({ data }) => data.message),
      Array.from({ length: 50 }, (_, at) => `m${at}`),
    );
    assert.deepEqual(
      live.entries().map(({ id }) => Number(id)),
      live.entries().map(({ data }) => data.seq),
    );
    live.end();
    const lastId = live.entries()[19]!.id;
    for (const replay of [
      await listen(server, { 'last-event-id': lastId }),
      await listen(server, {}, `?after=${lastId}`),
    ]) {
      await until(() => replay.entries().length >= 30);
      assert.equal(replay.entries()[0]!.data.message, 'm20');
      write(other, 'late');
      await other.shared.settled();
      await until(() => replay.entries().at(-1)!.data.message === 'late');
      assert.equal(new Set(replay.entries().map(({ id }) => id)).size, replay.entries().length);
      replay.end();
    }
    const unknown = await listen(server, { 'last-event-id': '999999' });
    await until(() => unknown.events.some(({ event }) => event === 'resync'));
    unknown.end();
    assert.equal((await server.send('GET', '/api/events', undefined, { 'x-switchgear': '' })).status, 403);
    assert.equal((await server.send('GET', '/api/events', undefined, { 'last-event-id': 'x' })).status, 400);
    await server.close();
    for (const each of [store, other]) each.close();
  });
}

test('a client behind the shared buffer reads on from the journal; one far behind is told to read anew', async () => {
  const store = await kinds['in a file'](newPlace());
  const server = await serve(store);
  const first = await listen(server);
  const count = streamBufferMax + 500;
  for (let at = 0; at < count; at++) write(store, `m${at}`);
  await store.shared.settled();
  await until(() => first.entries().length === count);
  const behind = await listen(server, { 'last-event-id': '1' });
  await until(() => behind.entries().length === count - 1);
  // A busy machine may store entries in another order than they were written in.
  assert.deepEqual(
    behind.entries().map(({ id, data }) => [id, data.message]),
    first
      .entries()
      .slice(1)
      .map(({ id, data }) => [id, data.message]),
  );
  for (let at = count; at <= streamLagMax + 1; at++) write(store, `m${at}`);
  await store.shared.settled();
  await until(() => first.entries().length > streamLagMax);
  const far = await listen(server, { 'last-event-id': '0' });
  await until(() => far.events.some(({ event }) => event === 'resync'));
  write(store, 'after');
  await until(() => far.entries().at(-1)?.data.message === 'after');
  assert.equal(far.entries().length, 1);
  for (const client of [first, behind, far]) client.end();
  await server.close();
  store.close();
});

test('clients that never read delay nobody and keep nothing in memory', async () => {
  const store = await kinds['in a file'](newPlace());
  const server = await serve(store);
  const head = `GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nx-switchgear: 1\r\n`;
  const silent = Array.from({ length: 40 }, () => {
    const socket = connect(server.port, '127.0.0.1');
    socket.pause();
    socket.on('error', () => undefined);
    socket.write(`${head}Authorization: Bearer ${server.token}\r\n\r\n`);
    return socket;
  });
  const reader = await listen(server);
  global.gc?.();
  const beforeBytes = process.memoryUsage().external + process.memoryUsage().arrayBuffers;
  const message = 'x'.repeat(2_000);
  for (let at = 0; at < 4_000; at++) write(store, message);
  await store.shared.settled();
  await until(() => reader.entries().length === 4_000);
  const grownBytes = process.memoryUsage().external + process.memoryUsage().arrayBuffers - beforeBytes;
  // 40 clients of 8 MB each would be 320 MB.
  assert.ok(grownBytes < 100_000_000, `${grownBytes} bytes`);
  for (const socket of silent) socket.destroy();
  reader.end();
  await server.close();
  store.close();
});

test('the journal is polled less often on an idle store, and often again while entries come', async () => {
  const place = newPlace();
  const [file, other] = [await kinds['in a file'](place), await kinds['in a file'](place)];
  const delays: number[] = [];
  const after: Clock['after'] = (delayMs, run, keepsAlive) => {
    if (delayMs <= streamIdlePollMs) delays.push(delayMs);
    return file.clock.after(delayMs, run, keepsAlive);
  };
  const clock = Object.create(file.clock, { after: { value: after } });
  const server = await serve(Object.create(file, { clock: { value: clock } }));
  const client = await listen(server);
  await until(() => delays.length > 3);
  assert.deepEqual([...new Set(delays)], [streamIdlePollMs]);
  write(other, 'first');
  await until(() => client.entries().length === 1 && delays.at(-1) === streamPollMs);
  await until(() => delays.at(-1) === streamIdlePollMs);
  client.end();
  await until(() => client.response.closed);
  const { length } = delays;
  await server.close();
  assert.ok(delays.length <= length + 1, 'nobody listens any more');
  for (const each of [file, other]) each.close();
});

test('the end of the server ends its streams', async () => {
  const store = await kinds['in a file'](newPlace());
  const server = await serve(store);
  const token = await addToken(store, 'bob', 'viewer', 'ann');
  const client = await listen({ port: server.port, token });
  const ended = once(client.response, 'end');
  await revokeToken(store, 'bob');
  await server.close();
  await ended;
  store.close();
});

test('a journal that cannot be read moves no client and ends no stream; a later client is served', async () => {
  const store = await kinds['in a file'](newPlace());
  for (const message of ['one', 'two', 'three']) write(store, message);
  await store.shared.settled();
  let isAway = true;
  const entries: CrossProcessStore['shared']['entries'] = async (...range) => {
    if (isAway) throw new Error('away');
    return store.shared.entries(...range);
  };
  let onHint: Parameters<CrossProcessStore['shared']['watch']>[0] = () => {};
  const watch: CrossProcessStore['shared']['watch'] = (listener) => {
    onHint = listener;
    return () => {};
  };
  const shared = Object.create(store.shared, { entries: { value: entries }, watch: { value: watch } });
  const server = await serve(Object.create(store, { shared: { value: shared } }) as CrossProcessStore);
  const refused = await server.send('GET', '/api/events');
  assert.ok(refused.status >= 500, `${refused.status}`);
  isAway = false;
  const { entries: received, events, end } = await listen(server, { 'last-event-id': '1' });
  await until(() => received().length === 2);
  isAway = true;
  onHint({ type: 'recovered', reason: 'the store answers' });
  write(store, 'four');
  await store.shared.settled();
  await until(() => events.some(({ event }) => event === 'store'));
  isAway = false;
  await until(() => received().length === 3);
  assert.deepEqual(
    received().map(({ id }) => id),
    ['2', '3', '4'],
  );
  assert.ok(!events.some(({ event }) => event === 'resync'));
  end();
  await server.close();
  store.close();
});
