/** Names of the server besides its address, and people that a reverse proxy names. */

import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { main } from '../../src/cli/main.ts';
import { openFileStore, serve } from '../server/server-setup.ts';

test('an allowed host is addressed by http and https, with its port if it has one', async () => {
  const store = openFileStore();
  const server = await serve(store, { allowedHosts: ['gear.example.com', 'other.example:8443'] });
  const ask = async (host: string, origin = '') =>
    (await server.send('GET', '/api/status', undefined, { host, origin })).status;
  assert.equal(await ask('gear.example.com'), 200);
  assert.equal(await ask('GEAR.example.com:8443', 'https://GEAR.example.com:8443'), 200);
  assert.equal(await ask('gear.example.com', 'http://gear.example.com'), 200);
  assert.equal(await ask('gear.example.com', 'https://gear.example.com.evil.example'), 403);
  assert.equal(await ask('other.example:8443', 'https://other.example:8443'), 200);
  for (const host of [
    'other.example',
    'sub.gear.example.com',
    'gear.example.com.',
    'gear.example.com:x',
    '[::1',
    'a b',
  ])
    assert.equal(await ask(host), 403, host);
  const wrong = await server.send('GET', '/health', undefined, { host: 'evil.example' });
  assert.equal(wrong.status, 403, 'open paths check the host, too');
  await server.close();
  store.close();
});

test('the header of a proxy names the person, beside the token; without the option it says nothing', async () => {
  const store = openFileStore();
  const servers = [await serve(store, { userHeader: 'X-User' }), await serve(store)];
  for (const server of servers) {
    const headers = { 'x-user': 'zoe\u0085 <script>' };
    assert.equal((await server.send('POST', '/api/breakers/search/hold', {}, headers)).status, 200);
  }
  const entries = await store.shared.entries(1, 100);
  const people = entries.flatMap((entry) => (entry.type === 'order-given' ? entry.by : []));
  assert.match(people[0]!, /^zoe[^\u0085]* <script> \(start\)$/);
  assert.equal(people[1], 'ann');
  for (const server of servers) await server.close();
  store.close();
});

test('a server on all addresses prints one that it accepts', async () => {
  for (const [host, own] of [
    ['0.0.0.0', '127.0.0.1'],
    ['::', '[::1]'],
  ] as const) {
    const server = await serve(openFileStore(), { host });
    assert.ok(server.url.startsWith(`http://${own}:${server.port}/#token=`), server.url);
    assert.equal((await fetch(server.url.split('#')[0]!)).status, 200);
    await server.close();
  }
});

test('the header that names a person must not be one that decides or holds a secret', async () => {
  for (const name of ['Authorization', 'cookie', 'host', 'Sec-Fetch-Site']) {
    const lines: string[] = [];
    const terminal = { cwd: tmpdir(), env: {}, out: () => undefined, err: (line: string) => lines.push(line) };
    assert.equal(await main(['serve', '--user-header', name], terminal), 2);
    assert.match(lines.join('\n'), /--user-header must not be/);
  }
});
