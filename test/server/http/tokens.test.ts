import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addToken, listTokens, revokeToken } from '../../../src/server/http/tokens.ts';
import { bothStores, testOn } from '../../stores/both-stores.ts';
import { send, serve, type TestServer } from '../server-setup.ts';

const { kinds, newPlace } = bothStores();

for (const [name, open] of Object.entries(kinds)) {
  const test = testOn(name);
  test(`${name}: a token is valid on every server of the store until it is revoked, with its sessions`, async () => {
    const place = newPlace();
    const [one, other] = [await open(place), await open(place)];
    const servers = [await serve(one), await serve(other)] as const;
    const token = await addToken(one, 'bob', 'operator', 'ann');
    const asBob = { authorization: `Bearer ${token}` };
    for (const server of servers)
      assert.deepEqual((await server.send('GET', '/api/session', undefined, asBob)).json, {
        name: 'bob',
        role: 'operator',
      });
    const exchanged = await servers[0].send('POST', '/api/session', { token }, { authorization: '' });
    const [cookie = ''] = exchanged.headers['set-cookie'] ?? [];
    assert.match(cookie, /^switchgear-session-\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/);
    const [session = ''] = cookie.split(';');
    const asSession = { authorization: '', cookie: session, 'x-switchgear-page': exchanged.json.pageKey };
    assert.equal((await servers[0].send('GET', '/api/session', undefined, asSession)).json.name, 'bob');
    const sameSession = session.replace(/^[^=]+/, `switchgear-session-${servers[1].port}`);
    const elsewhere = await servers[1].send('GET', '/api/session', undefined, {
      ...asSession,
      cookie: sameSession,
    });
    assert.equal(elsewhere.json.name, 'bob');

    await assert.rejects(addToken(one, 'bob', 'viewer', 'ann'), { code: 'token_exists' });
    await revokeToken(one, 'bob');
    for (const headers of [asBob, asSession])
      assert.equal((await servers[0].send('GET', '/api/session', undefined, headers)).status, 401);
    assert.equal((await servers[1].send('GET', '/api/session', undefined, asBob)).status, 401);
    await assert.rejects(revokeToken(one, 'bob'), { code: 'not_found' });
    await addToken(one, 'bob', 'operator', 'ann');
    const revived = await servers[0].send('GET', '/api/session', undefined, asSession);
    assert.equal(revived.status, 401, 'a new token of the same name does not revive a session');
    for (const server of servers) await server.close();
    for (const store of [one, other]) store.close();
  });
}

/** The headers of a page with a session. */
type SessionHeaders = Readonly<Record<'authorization' | 'cookie' | 'x-switchgear-page', string>>;

async function login({ send }: TestServer, token: string): Promise<SessionHeaders> {
  const { headers, json } = await send('POST', '/api/session', { token }, { authorization: '' });
  const [cookie = ''] = (headers['set-cookie']?.[0] ?? '').split(';');
  return { authorization: '', cookie, 'x-switchgear-page': json.pageKey };
}

test('the cookie of a session is worth nothing without the key of its page', async () => {
  const store = await kinds['in a file'](newPlace());
  const server = await serve(store);
  const [ann, bob] = [await login(server, server.token), await login(server, server.token)];
  const status = async (headers: object) => (await server.send('GET', '/api/status', undefined, { ...headers })).status;
  assert.equal(await status(ann), 200);
  const { 'x-switchgear-page': key, ...cookieAlone } = ann;
  assert.equal(await status(cookieAlone), 401);
  for (const wrong of ['', 'x', `${key}x`, bob['x-switchgear-page']])
    assert.equal(await status({ ...ann, 'x-switchgear-page': wrong }), 401, wrong);
  assert.equal(await status({ ...ann, cookie: '' }), 401, 'the key alone');
  const stored = JSON.stringify(await store.shared.read('server-session', 100));
  assert.ok(stored.includes('pageHash') && !stored.includes(key), 'the store has its hash');
  await server.close();
  store.close();
});

test('the store has only hashes; a card reports a token of an operator', async () => {
  const store = await kinds['in a file'](newPlace());
  const token = await addToken(store, 'bob', 'operator', 'ann');
  const secret = token.split('.')[1]!;
  const stored = JSON.stringify([await store.shared.read('', 1_000), await store.shared.entries(1, 1_000)]);
  assert.ok(stored.includes('bob') && !stored.includes(secret));
  assert.deepEqual(
    (await listTokens(store)).map(({ name, role, by }) => [name, role, by]),
    [['bob', 'operator', 'ann']],
  );
  assert.match(store.cards()[0]?.evidence[0] ?? '', /^ann added the token bob/);
  for (const wrong of ['', 'a.b', 'start', 'x'.repeat(41), '../x', '-x'])
    await assert.rejects(addToken(store, wrong, 'viewer', 'ann'), { code: 'invalid_argument' }, wrong);
  store.close();
});

test('a session ends with its logout, and a printed token with its server', async () => {
  const store = await kinds['in a file'](newPlace());
  const first = await serve(store);
  const asSession = await login(first, first.token);
  assert.equal((await first.send('GET', '/api/status', undefined, asSession)).status, 200);
  const other = await serve(store);
  assert.equal(
    (await other.send('GET', '/api/status', undefined, { authorization: `Bearer ${first.token}` })).status,
    401,
  );
  const noHeader = await first.send('DELETE', '/api/session', undefined, { ...asSession, 'x-switchgear': '' });
  assert.equal(noHeader.status, 403);
  assert.deepEqual((await first.send('DELETE', '/api/session', undefined, asSession)).json, { ended: true });
  assert.equal((await first.send('GET', '/api/status', undefined, asSession)).status, 401);
  const foreign = { host: `127.0.0.1:${first.port}`, origin: 'http://evil.example', 'x-switchgear': '1' };
  const body = JSON.stringify({ token: first.token });
  assert.equal((await send(first.port, 'POST', '/api/session', body, foreign)).status, 403);
  for (const server of [first, other]) await server.close();
  store.close();
});

test('a token has at most 32 sessions, of which the oldest ends for a new one', async () => {
  const store = await kinds['in a file'](newPlace());
  const server = await serve(store);
  const token = await addToken(store, 'bob', 'viewer', 'ann');
  const sessions: SessionHeaders[] = [];
  const own = await login(server, server.token);
  for (let at = 0; at < 40; at++) sessions.push(await login(server, token));
  const check = async (session: SessionHeaders) =>
    (await server.send('GET', '/api/session', undefined, session)).status;
  const statuses = await Promise.all(sessions.map(check));
  assert.deepEqual(
    statuses.map((status) => status === 200),
    sessions.map((_, at) => at >= 8),
  );
  assert.equal(await check(own), 200, 'sessions of another token stay');
  assert.equal((await store.shared.read('server-session/', 100)).filter(({ state }) => state !== null).length, 33);
  await server.close();
  store.close();
});

test('a viewer reads everything and decides nothing', async () => {
  const store = await kinds['in a file'](newPlace());
  const server = await serve(store);
  const authorization = `Bearer ${await addToken(store, 'eve', 'viewer', 'ann')}`;
  const document = (await server.send('GET', '/api/openapi.json')).json;
  let writes = 0;
  for (const [path, methods] of Object.entries(
    document.paths as Record<string, Record<string, { 'x-role': string }>>,
  )) {
    for (const [method, { 'x-role': role }] of Object.entries(methods)) {
      if (role !== 'operator') continue;
      writes++;
      const { status, json } = await server.send(
        method.toUpperCase(),
        path.replaceAll(/[{}]/g, ''),
        {},
        { authorization },
      );
      assert.deepEqual([status, json.error.code], [403, 'role_required'], `${method} ${path}`);
    }
  }
  assert.ok(writes >= 11);
  for (const path of ['status', 'cards', 'breakers', 'tasks', 'chains', 'standing', 'store', 'openapi.json'])
    assert.equal((await server.send('GET', `/api/${path}`, undefined, { authorization })).status, 200, path);
  await server.close();
  store.close();
});
