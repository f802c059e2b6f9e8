/** Functions, HTTP and the shell as abilities: against a real server on this machine, and real processes. */

import assert from 'node:assert/strict';
import type { lookup as systemLookup } from 'node:dns';
import { once } from 'node:events';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { type TestContext, test } from 'node:test';
import { functionAbilities } from '../../../src/chains/abilities/functions.ts';
import { httpAbilities } from '../../../src/chains/abilities/http.ts';
import { checkUrl, parseHostPatterns } from '../../../src/chains/abilities/http-address.ts';
import { shellAbilities } from '../../../src/chains/abilities/shell.ts';
import { classifyError } from '../../../src/core/classify.ts';
import { defaultBreaker } from '../../../src/core/controls/breaker/defaults.ts';
import { call, gone, isAlive } from './call-ability.ts';

type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void;

/** A web server on this machine, by path. */
async function webOf(context: TestContext, pages: Readonly<Record<string, Answer>>): Promise<string> {
  const web = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const page = pages[(request.url ?? '').split('?')[0]!];
    if (page) page(request, response, body);
    else response.writeHead(404).end('no such page');
  });
  web.listen(0, '127.0.0.1');
  await once(web, 'listening');
  context.after(() => web.close());
  return `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
}

const json = (response: ServerResponse, value: unknown) =>
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(value));

const on = httpAbilities({ http: true, httpHosts: [] });

/** How a breaker reads what was thrown. */
async function outcomeOf(running: Promise<unknown>, atMs = 0) {
  const error = await running.then(
    () => assert.fail('it did not fail'),
    (thrown: unknown) => thrown,
  );
  return { error: error as Error, outcome: classifyError(error, defaultBreaker, atMs, () => 0) };
}

test('functions are abilities; results are stored as JSON, and thrown errors pass unchanged', async () => {
  const source = functionAbilities({
    'mail.send': (args, { attemptKey }) => ({ args, attemptKey, at: new Date(0), none: undefined }),
    nothing: () => undefined,
    fail: () => {
      throw new TypeError('no post today');
    },
    large: () => 'x'.repeat(2_000_000),
    circle: () => {
      const round: Record<string, unknown> = {};
      round.self = round;
      return round;
    },
  });
  const sent = { args: { to: 'a' }, attemptKey: 'run-1/step-1', at: '1970-01-01T00:00:00.000Z' };
  assert.deepEqual(await call(source, 'mail.send', { to: 'a' }), sent);
  assert.equal(await call(source, 'nothing'), null);
  await assert.rejects(call(source, 'fail'), TypeError);
  await assert.rejects(call(source, 'large'), /large returned 2000002 bytes; an output may have at most 1048576 bytes/);
  await assert.rejects(call(source, 'circle'), /circle returned a value that is not JSON/);
  for (const name of ['mail', 'toString', '__proto__']) assert.equal(await source.find(name), undefined);
  assert.deepEqual(await source.names(), ['mail.send', 'nothing', 'fail', 'large', 'circle']);
});

test('http and shell are off by default, and the error names the setting that enables them', async () => {
  const off = [httpAbilities({ http: false, httpHosts: [] }), shellAbilities({ shell: false })];
  const message = (name: string, setting: string) =>
    `the ability ${name} is off: to turn it on, set ${setting} = true in the section [abilities] of the policy`;
  await assert.rejects(off[0]!.find('http.get'), { code: 'ability_off', message: message('http.get', 'http') });
  await assert.rejects(off[0]!.find('http.post'), { code: 'ability_off', message: message('http.post', 'http') });
  await assert.rejects(off[1]!.find('shell.execute'), { message: message('shell.execute', 'shell') });
  for (const source of off) assert.deepEqual(await source.names(), []);
  for (const source of off) assert.equal(await source.find('http.delete'), undefined);
});

test('http.get sends headers and query, and returns parsed JSON or text', async (context) => {
  const base = await webOf(context, {
    '/json': ({ url, headers }, response) => json(response, { url, key: headers['x-key'] }),
    '/text': (_, response) => response.end('12 apples'),
    '/none': (_, response) => response.writeHead(204).end(),
    '/broken': (_, response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"a":'),
    '/bytes': (_, response) => response.end(Buffer.from([0xff, 0xfe, 0x00])),
  });
  const got = await call(on, 'http.get', { url: `${base}/json?a=1`, query: { b: 2 }, headers: { 'X-Key': 'k' } });
  assert.deepEqual(got, { url: '/json?a=1&b=2', key: 'k' });
  assert.equal(await call(on, 'http.get', { url: `${base}/text` }), '12 apples');
  assert.equal(await call(on, 'http.get', { url: `${base}/none` }), null);
  await assert.rejects(call(on, 'http.get', { url: `${base}/broken` }), /answered 200 with JSON that cannot be read/);
  await assert.rejects(call(on, 'http.get', { url: `${base}/bytes` }), /answered 200 with 3 bytes that are not text/);
});

test('http.post sends text or JSON, with the key of the attempt', async (context) => {
  const base = await webOf(context, {
    '/': ({ headers, method }, response, body) =>
      json(response, [method, body, headers['content-type'] ?? null, headers['idempotency-key']]),
  });
  const sent = await call(on, 'http.post', { url: base, json: { a: 1 } });
  assert.deepEqual(sent, ['POST', '{"a":1}', 'application/json', 'run-1/step-1']);
  const text = await call(on, 'http.post', { url: base, body: 'a=1', headers: { 'Idempotency-Key': 'mine' } });
  assert.deepEqual(text, ['POST', 'a=1', null, 'mine']);
});

const badArguments: readonly (readonly [args: Record<string, unknown>, message: RegExp])[] = [
  [{}, /http\.post: url must be a full URL with https:\/\/, got undefined/],
  [{ url: '/path' }, /url must be a full URL with https:\/\/, got "\/path"/],
  [{ url: 'https://a.example', json: 1, body: 'x' }, /takes either body or json, not both/],
  [{ url: 'https://a.example', boddy: 'x' }, /"boddy" is not an argument; it takes url, headers, query, body, json/],
  [{ url: 'https://a.example', headers: 'x' }, /headers must be a table, got "x"/],
  [
    { url: 'https://a.example', headers: { Host: 'b.example' } },
    /headers\.Host is set by the request itself: remove it/,
  ],
  [
    { url: 'https://a.example', headers: { 'X-A': 'b\r\nHost: c' } },
    /headers: "X-A" has characters that a header cannot contain/,
  ],
  [{ url: 'https://a.example', headers: { 'X A': 'b' } }, /headers: "X A" has characters that a header cannot contain/],
  [{ url: 'https://a.example', query: { a: [] } }, /query\.a must be a text/],
];

for (const [args, message] of badArguments) {
  test(`http.post with ${JSON.stringify(args)} is called wrongly, which no breaker counts`, async () => {
    const { error, outcome } = await outcomeOf(call(on, 'http.post', args));
    assert.match(error.message, message);
    assert.equal(outcome.kind, 'neutral');
  });
}

const statuses: readonly (readonly [number, Record<string, string>, object])[] = [
  [404, {}, { kind: 'neutral', why: 'ignored' }],
  [401, {}, { kind: 'neutral', why: 'unauthorized' }],
  [400, {}, { kind: 'neutral', why: 'ignored' }],
  [429, { 'retry-after': '7' }, { kind: 'failure', error: 'RateLimitExceeded', errorFingerprint: 0, retryAtMs: 7_100 }],
  [503, {}, { kind: 'failure', error: 'NetworkError', errorFingerprint: 0 }],
  [
    503,
    { date: 'Sun, 15 Nov 2026 12:00:00 GMT', 'retry-after': 'Sun, 15 Nov 2026 12:01:00 GMT' },
    { kind: 'failure', error: 'NetworkError', errorFingerprint: 0, retryAtMs: 60_100 },
  ],
];

for (const [status, headers, expected] of statuses) {
  test(`an answer of ${status} ${JSON.stringify(headers)} is a failure as breakers know it`, async (context) => {
    const base = await webOf(context, { '/': (_, response) => response.writeHead(status, headers).end('not\nnow') });
    const { error, outcome } = await outcomeOf(call(on, 'http.get', { url: base }), 100);
    assert.match(error.message, new RegExp(`^127\\.0\\.0\\.1:\\d+ answered ${status}: not now$`));
    assert.deepEqual(outcome, expected);
  });
}

test('an endless answer and an aborted request are cut off', async (context) => {
  const base = await webOf(context, {
    '/endless': (_, response) => {
      const more = () => response.write('x'.repeat(65_536), () => !response.destroyed && setImmediate(more));
      more();
    },
    '/slow': () => {},
  });
  await assert.rejects(call(on, 'http.get', { url: `${base}/endless` }), /an output may have at most 1048576 bytes/);
  const cut = new AbortController();
  const slow = call(on, 'http.get', { url: `${base}/slow` }, cut.signal);
  setImmediate(() => cut.abort());
  await assert.rejects(slow, { name: 'AbortError' });
});

test('three redirects are followed and no more; secrets stay with their host, POST becomes GET', async (context) => {
  const other = await webOf(context, {
    '/end': ({ headers, method }, response, body) =>
      json(response, [method, body, headers.authorization ?? null, headers['content-type'] ?? null]),
  });
  const to = (location: string, status = 302): Answer => {
    return (_, response) => response.writeHead(status, { location }).end();
  };
  const base = await webOf(context, {
    '/1': to('/2'),
    '/2': to('/3'),
    '/3': to(`${other}/end`),
    '/0': to('/1'),
    '/kept': to(`${other}/end`, 307),
    '/file': to('file:///etc/passwd'),
  });
  const headers = { Authorization: 'Bearer x' };
  assert.deepEqual(await call(on, 'http.post', { url: `${base}/1`, json: {}, headers }), ['GET', '', null, null]);
  const kept = await call(on, 'http.post', { url: `${base}/kept`, json: {}, headers });
  assert.deepEqual(kept, ['POST', '{}', null, 'application/json']);
  await assert.rejects(call(on, 'http.get', { url: `${base}/0` }), /redirects more than 3 times/);
  await assert.rejects(call(on, 'http.get', { url: `${base}/file` }), /file:\/\/ is neither https:\/\/ nor http:\/\//);
});

test('a host outside the list is not requested, and the refusal counts against no breaker', async (context) => {
  let asked = 0;
  const base = await webOf(context, { '/': (_, response) => response.end(String(++asked)) });
  const listed = httpAbilities({ http: true, httpHosts: ['api.example.com', '*.example.org'] });
  const { error, outcome } = await outcomeOf(call(listed, 'http.get', { url: base }));
  assert.match(error.message, /^not requested: the host 127\.0\.0\.1:\d+ is not in abilities\.http_hosts$/);
  assert.deepEqual([outcome.kind, asked], ['neutral', 0]);
  assert.equal(await call(httpAbilities({ http: true, httpHosts: ['127.0.0.1'] }), 'http.get', { url: base }), '1');
});

test('a name that resolves to a private address is refused unless listed without *', async (context) => {
  const base = await webOf(context, { '/': (_, response) => response.end('inside') });
  const url = base.replace('127.0.0.1', 'intranet.example.com');
  // A name server that somebody else runs may say what it likes.
  const lookup = ((_: string, __: unknown, done: (error: null, found: object[]) => void) =>
    done(null, [{ address: '127.0.0.1', family: 4 }])) as unknown as typeof systemLookup;
  const wide = httpAbilities({ http: true, httpHosts: ['http://*.example.com'] }, { lookup });
  const { error, outcome } = await outcomeOf(call(wide, 'http.get', { url }));
  assert.match(
    error.message,
    /^not requested: intranet\.example\.com resolves to 127\.0\.0\.1, which is a private address/,
  );
  assert.equal(outcome.kind, 'neutral');
  const named = httpAbilities({ http: true, httpHosts: ['http://intranet.example.com'] }, { lookup });
  assert.equal(await call(named, 'http.get', { url }), 'inside');
});

/** Whether an address may be asked: `ok`, or the beginning of why not. */
const addresses: readonly (readonly [url: string, hosts: readonly string[], mayBeLocal: boolean, answer: RegExp])[] = [
  ['https://api.example.com/x', [], true, /^ok$/],
  ['http://api.example.com/x', [], true, /is not encrypted/],
  ['http://api.example.com/x', ['api.example.com'], true, /is not encrypted/],
  ['http://api.example.com/x', ['http://api.example.com'], true, /^ok$/],
  ['http://localhost:3000', [], true, /^ok$/],
  ['http://[::1]:3000', [], true, /^ok$/],
  ['http://localhost:3000', [], false, /the redirect to localhost:3000 leads to this machine/],
  ['http://localhost:3000', ['api.example.com', 'localhost'], false, /^ok$/],
  ['https://10.0.0.1', [], true, /10\.0\.0\.1 is a private address/],
  ['https://0x0a.1', [], true, /10\.0\.0\.1 is a private address/],
  ['https://169.254.169.254/latest', ['*'], true, /is a private address/],
  ['https://[::ffff:10.0.0.1]', [], true, /is a private address/],
  ['https://[fd00::1]', [], true, /is a private address/],
  ['https://167772161', [], true, /10\.0\.0\.1 is a private address/],
  ['https://[::ffff:0:169.254.169.254]', [], true, /is a private address/],
  ['https://[3fff::1]', [], true, /is a private address/],
  ['https://8.8.8.8', [], true, /^ok$/],
  ['https://[2606:4700::1111]', [], true, /^ok$/],
  ['https://10.0.0.1', ['10.0.0.1'], true, /^ok$/],
  ['https://api.example.com:8443', ['api.example.com:443'], true, /is not in abilities\.http_hosts/],
  ['https://api.example.com', ['api.example.com:443'], true, /^ok$/],
  ['https://API.Example.com', ['api.EXAMPLE.com'], true, /^ok$/],
  ['https://evil.com/api.example.com', ['*.example.com'], true, /is not in abilities\.http_hosts/],
  ['https://api.example.com.evil.com', ['*.example.com'], true, /is not in abilities\.http_hosts/],
  ['https://user:secret@api.example.com', [], true, /the URL contains a user name or password/],
  ['ftp://api.example.com', [], true, /ftp:\/\/ is neither/],
];

for (const [url, hosts, mayBeLocal, answer] of addresses) {
  test(`${url} with ${JSON.stringify(hosts)}${mayBeLocal ? '' : ' after a redirect'}: ${answer.source}`, () => {
    const said = () => {
      try {
        checkUrl(new URL(url), parseHostPatterns(hosts), mayBeLocal);
        return 'ok';
      } catch (error) {
        return (error as Error).message;
      }
    };
    assert.match(said(), answer);
  });
}

for (const host of ['', 'a b', 'http//x', 'ftp://x', 'https://x/path', 'x:99999', '[::1', 'u:p@x']) {
  test(`a policy with the invalid host ${JSON.stringify(host)} is refused`, () => {
    const wrong = { code: 'invalid_policy', message: /^abilities\.http_hosts\[1\] must be a host such as / };
    assert.throws(() => httpAbilities({ http: true, httpHosts: ['example.com', host] }), wrong);
  });
}

test('shell.execute runs a program without a shell, or a line with one', async (context) => {
  const folder = realpathSync(mkdtempSync(`${tmpdir()}/switchgear-shell-`));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const source = shellAbilities({ shell: true }, { cwd: folder, env: { PATH: process.env.PATH, SECRET: 'x' } });
  const run = (args: Record<string, unknown>) => call(source, 'shell.execute', args);
  assert.equal(await run({ command: 'echo', args: ['$HOME; rm -rf x', 2, true] }), '$HOME; rm -rf x 2 true');
  assert.equal(await run({ command: 'pwd; echo "$WORD"', env: { WORD: '$(exit 9)' } }), `${folder}\n$(exit 9)`);
  assert.deepEqual(await run({ command: `printf '{"a":[1]}'` }), { a: [1] });
  assert.equal(await run({ command: 'echo "a secret: $SECRET"' }), 'a secret:');
  await assert.rejects(run({ command: 'echo why >&2; exit 3' }), { message: /failed, exit code 3: why$/ });
  await assert.rejects(run({ command: 'kill -TERM $$' }), { message: /failed, ended by SIGTERM$/ });
  await assert.rejects(run({ command: 'no-such-program', args: [] }), /ENOENT/);
  await assert.rejects(run({ command: 'yes' }), /an output may have at most 1048576 bytes/);
  await assert.rejects(run({ command: 'echo', args: 'x' }), /args must be a list, got "x"/);
  await assert.rejects(run({ command: 'echo', cwd: '/' }), /"cwd" is not an argument/);
});

test('an aborted command ends with all its child processes', { timeout: 30_000 }, async () => {
  const source = shellAbilities({ shell: true });
  const cut = new AbortController();
  const run = source.find('shell.execute').then((ability) =>
    ability!.run({
      name: 'shell.execute',
      args: { command: 'sleep 300 & echo $! >&2; sleep 300 & echo $! >&2; echo ready >&2; wait' },
      signal: cut.signal,
      attemptKey: 'k',
    }),
  );
  const pids = await sleepers();
  assert.equal(pids.length, 2);
  cut.abort(new Error('time is up'));
  await assert.rejects(run, /^Error: time is up$/);
  for (const pid of pids) assert.ok(await gone(pid));
});

/** The processes of this test that sleep for 300 seconds, once both are there. */
async function sleepers(): Promise<readonly number[]> {
  const { execFileSync } = await import('node:child_process');
  for (let tries = 0; tries < 200; tries++) {
    const lines = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n');
    const rows = lines.map((line) => line.trim().split(/\s+/));
    const shells = rows.filter(([, parent, file]) => Number(parent) === process.pid && file === '/bin/sh');
    const found = rows.filter(([, parent, file]) => file === 'sleep' && shells.some(([pid]) => pid === parent));
    if (found.length === 2) return found.map(([pid]) => Number(pid)).filter(isAlive);
    await new Promise((wake) => setTimeout(wake, 25));
  }
  return [];
}
