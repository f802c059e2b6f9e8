/** Requests to `switchgear serve` that pages of other origins, other hosts and holders of no token send. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readJournalEntries } from '../../src/operator/journal.ts';
import { addToken } from '../../src/server/http/tokens.ts';
import { type Headers, openFileStore, send, serve } from '../server/server-setup.ts';

interface Cell {
  readonly host: string;
  readonly origin: string;
  readonly site: string;
  readonly method: 'GET' | 'POST';
  readonly token: 'operator' | 'viewer' | 'wrong' | 'none';
  readonly type: string;
  readonly header: string;
}

const axes = {
  host: [
    '127.0.0.1:PORT',
    'localhost:PORT',
    'evil.example',
    'evil.example:PORT',
    '127.0.0.1:1',
    '127.0.0.1.evil.example:PORT',
  ],
  origin: ['', 'http://HOST', 'null', 'http://evil.example', 'https://HOST', 'http://127.0.0.1:1'],
  site: ['', 'same-origin', 'none', 'same-site', 'cross-site'],
  method: ['GET', 'POST'],
  token: ['operator', 'viewer', 'wrong', 'none'],
  type: ['application/json', 'text/plain', 'application/x-www-form-urlencoded', ''],
  header: ['1', ''],
} as const satisfies { readonly [K in keyof Cell]: readonly Cell[K][] };

const good: Cell = {
  ...{ host: '127.0.0.1:PORT', origin: '', site: '', method: 'GET', token: 'operator' },
  ...{ type: 'application/json', header: '1' },
};

/** Whether a request must pass. */
function isLegitimate({ host, origin, site, method, token, type, header }: Cell): boolean {
  const isOwnHost = host === '127.0.0.1:PORT' || host === 'localhost:PORT';
  const isOwnOrigin = origin === '' || origin === 'http://HOST';
  const isOwnSite = site === '' || site === 'same-origin' || (site === 'none' && method === 'GET');
  if (!isOwnHost || !isOwnOrigin || !isOwnSite) return false;
  if (method === 'GET') return token === 'operator' || token === 'viewer';
  return token === 'operator' && type === 'application/json' && header === '1';
}

/** All hosts, origins and sites for both methods; all tokens, types and headers; and some of all the rest. */
function* cells(): Generator<Cell> {
  for (const host of axes.host)
    for (const origin of axes.origin)
      for (const site of axes.site) for (const method of axes.method) yield { ...good, host, origin, site, method };
  for (const token of axes.token)
    for (const type of axes.type)
      for (const header of axes.header)
        for (const method of axes.method) yield { ...good, token, type, header, method };
  let seed = 17;
  const pick = <T>(list: readonly T[]): T => {
    seed = (seed * 48_271) % 2_147_483_647;
    return list[seed % list.length]!;
  };
  for (let at = 0; at < 150; at++)
    yield {
      ...{ host: pick(axes.host), origin: pick(axes.origin), site: pick(axes.site), method: pick(axes.method) },
      ...{ token: pick(axes.token.slice(0, 2)), type: pick(axes.type), header: pick(axes.header) },
    };
}

test('only legitimate combinations of host, origin, site, method, token, type and header pass', async () => {
  const store = openFileStore();
  const server = await serve(store);
  const tokens = {
    operator: server.token,
    viewer: await addToken(store, 'eve', 'viewer', 'ann'),
    wrong: 'start.x',
    none: '',
  };
  const passed: string[] = [];
  let count = 0;
  for (const cell of cells()) {
    const reason = `cell ${count++}`;
    const host = cell.host.replace('PORT', String(server.port));
    const headers: Headers = {
      ...{ host, origin: cell.origin.replace('HOST', host), 'sec-fetch-site': cell.site },
      authorization: cell.token === 'none' ? '' : `Bearer ${tokens[cell.token]}`,
      ...{ 'content-type': cell.type, 'x-switchgear': cell.header },
    };
    const path = cell.method === 'GET' ? '/api/breakers' : '/api/breakers/search/hold';
    const body = cell.method === 'GET' ? '' : JSON.stringify({ reason });
    const { status } = await send(server.port, cell.method, path, body, headers);
    const isGood = isLegitimate(cell);
    assert.equal(status, isGood ? 200 : Math.max(400, Math.min(status, 499)), `${reason}: ${JSON.stringify(cell)}`);
    if (isGood && cell.method === 'POST') passed.push(reason);
  }
  assert.ok(count >= 200, `${count} requests`);
  assert.ok(passed.length > 0);
  const orders = await readJournalEntries(store.shared, 1, 10_000);
  const reasons = orders.flatMap((entry) => (entry.type === 'order-given' ? entry.reason : []));
  assert.deepEqual(reasons, passed, 'no other request had an effect');
  await server.close();
  store.close();
});

test('the order of the checks tells a stranger nothing about paths and tokens', async () => {
  const store = openFileStore();
  const server = await serve(store);
  const ask = (path: string, headers: Headers) => send(server.port, 'GET', path, '', headers);
  const host = `127.0.0.1:${server.port}`;
  assert.equal((await ask('/api/nothing', { host })).status, 401);
  assert.equal(
    (await ask('/api/status', { host: 'evil.example', authorization: `Bearer ${server.token}` })).status,
    403,
  );
  assert.equal((await server.send('GET', '/api/nothing')).status, 404);
  assert.equal((await server.send('DELETE', '/api/status')).status, 405);
  assert.equal((await server.send('OPTIONS', '/api/status')).status, 405);
  const { headers } = await server.send('OPTIONS', '/api/status', undefined, { origin: `http://${host}` });
  assert.equal(headers['access-control-allow-origin'], undefined);
  await server.close();
  store.close();
});

test('targets, bodies and headers of other shapes are refused', async () => {
  const store = openFileStore();
  const server = await serve(store);
  const hold = '/api/breakers/search/hold';
  for (const path of ['http://evil.example/api/status', '//evil.example/api/status', '/api/%zz', '/api/../api/%'])
    assert.equal((await server.send('GET', path)).status, 400, path);
  const large = await server.send('POST', hold, { reason: 'x'.repeat(70_000) });
  assert.equal(large.status, 413);
  const wrong: readonly unknown[] = [
    [],
    'text',
    null,
    { reason: 1 },
    { reason: 'x'.repeat(201) },
    { other: 1 },
    { __proto__: null, constructor: 1 },
  ];
  for (const body of wrong) assert.equal((await server.send('POST', hold, body)).status, 400, JSON.stringify(body));
  const raw = await send(server.port, 'POST', hold, '{', {
    ...{ host: `127.0.0.1:${server.port}`, authorization: `Bearer ${server.token}`, 'x-switchgear': '1' },
    'content-type': 'application/json',
  });
  assert.deepEqual([raw.status, raw.json.error.code], [400, 'invalid_json']);
  const twice = await server.send('GET', '/api/status', undefined, {
    origin: [`http://127.0.0.1:${server.port}`, 'null'],
  });
  assert.equal(twice.status, 400);
  assert.equal((await server.send('GET', '/api/cards?limit=0')).status, 400);
  assert.equal((await server.send('GET', '/api/cards?limit=1&limit=2')).status, 400);
  assert.equal((await server.send('GET', '/api/cards?other=1')).status, 400);
  await server.close();
  store.close();
});

test('wrong tokens are slowed down, and the right one still passes', async () => {
  const store = openFileStore();
  const server = await serve(store);
  const guess = (token: string) => server.send('GET', '/api/status', undefined, { authorization: `Bearer ${token}` });
  const guesses = await Promise.all(Array.from({ length: 14 }, (_, at) => guess(`start.guess${at}`)));
  const statuses = guesses.map(({ status }) => status);
  assert.deepEqual(
    [statuses.filter((each) => each === 401).length, statuses.filter((each) => each === 429).length],
    [10, 4],
  );
  assert.ok(Number(guesses.find(({ status }) => status === 429)?.headers['retry-after']) >= 1);
  assert.equal((await server.send('GET', '/api/status')).status, 200);
  await server.close();
  store.close();
});

test('every answer forbids framing, sniffing and foreign scripts', async () => {
  const store = openFileStore();
  const server = await serve(store);
  for (const path of ['/', '/health', '/api/status', '/api/nothing', '/metrics']) {
    const { headers } = await server.send('GET', path);
    assert.match(String(headers['content-security-policy']), /default-src 'none';.*frame-ancestors 'none'/, path);
    assert.doesNotMatch(String(headers['content-security-policy']), /unsafe/);
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.equal(headers['x-frame-options'], 'DENY');
    assert.equal(headers['cache-control'], 'no-store');
  }
  await server.close();
  store.close();
});
