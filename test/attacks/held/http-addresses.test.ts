/** HTTP steps that should reach what they must not: private addresses in disguise, redirects, names, headers. */

import assert from 'node:assert/strict';
import type { lookup as systemLookup } from 'node:dns';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { httpAbilities } from '../../../src/chains/index.ts';
import { call } from '../../chains/abilities/call-ability.ts';
import { holdAll } from './attempts.ts';

const open = httpAbilities({ http: true, httpHosts: [] });

/** Addresses that are neither public nor this machine's own loopback over plain HTTP. */
const refused = [
  'http://10.0.0.1/',
  'https://10.0.0.1/',
  'https://172.16.0.1/',
  'https://172.31.255.254/',
  'https://192.168.1.1/',
  'https://169.254.169.254/latest/meta-data/',
  'https://169.254.1.1/',
  'https://100.64.0.1/',
  'https://198.18.0.1/',
  'https://192.0.0.1/',
  'https://0.0.0.1/',
  'https://224.0.0.1/',
  'https://240.0.0.1/',
  'https://255.255.255.255/',
  'https://[fe80::1]/',
  'https://[fc00::1]/',
  'https://[fd12:3456::1]/',
  'https://[ff02::1]/',
  'https://[::ffff:10.0.0.1]/',
  'https://[::ffff:a9fe:a9fe]/',
  'https://[64:ff9b::a00:1]/',
  'https://[64:ff9b::169.254.169.254]/',
  'https://[2002:a00:1::]/',
  'https://[::10.0.0.1]/',
  'https://0xa.0.0.1/',
  'https://012.0.0.1/',
  'https://167772161/',
  'https://0xa9fea9fe/',
  'https://169.16689662/',
  'https://①⓪.0.0.1/',
  'https://10。0。0。1/',
  'https://user:secret@10.0.0.1/',
  'http://example.com/',
  'ftp://127.0.0.1/',
  'file:///etc/passwd',
  'data:text/plain,hello',
  'javascript:1',
  'gopher://127.0.0.1:70/',
  'ws://127.0.0.1/',
  'blob:https://example.com/x',
  '//10.0.0.1/',
  '',
];

test('held: no address in disguise leaves for a private network or by another scheme', async (context) => {
  await holdAll(
    context,
    refused.map((url) => [url, url] as const),
    async (url) => {
      const reached = await call(open, 'http.get', { url }, AbortSignal.timeout(30_000)).then(
        () => 'it was requested',
        (error: Error) => error,
      );
      assert.ok(reached instanceof Error, String(reached));
      assert.match(reached.name, /^(PolicyDenied|InvalidArguments)$/, `${reached.name}: ${reached.message}`);
      assert.ok(!reached.message.includes('secret'), reached.message);
    },
  );
});

test('held: a name that leads to a private address is refused, also among public ones', async (context) => {
  const inner = [
    '10.0.0.1',
    '169.254.169.254',
    '192.168.0.1',
    '::ffff:10.0.0.1',
    'fc00::1',
    'fe80::1',
    '64:ff9b::a00:1',
  ];
  await holdAll(
    context,
    inner.flatMap((address) => [
      [`always ${address}`, [address]] as readonly [string, readonly string[]],
      [`among others ${address}`, ['93.184.216.34', address]] as const,
    ]),
    async (found) => {
      const lookup = ((_name: string, _options: unknown, done: (error: null, found: object[]) => void) => {
        done(
          null,
          found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
        );
      }) as unknown as typeof systemLookup;
      const source = httpAbilities({ http: true, httpHosts: [] }, { lookup });
      const url = 'https://rebinding.example/';
      await assert.rejects(call(source, 'http.get', { url }, AbortSignal.timeout(30_000)), { name: 'PolicyDenied' });
    },
  );
});

/** A server on loopback that notes what it is asked. */
async function serve(
  context: TestContext,
  answer: (path: string) => { status: number; location?: string; body?: string },
) {
  const seen: { readonly path: string; readonly headers: NodeJS.Dict<string | string[]> }[] = [];
  const server: Server = createServer((request, response) => {
    const path = request.url ?? '';
    seen.push({ path, headers: request.headers });
    const { status, location, body = 'reached' } = answer(path);
    response.writeHead(status, location === undefined ? {} : { location });
    response.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  context.after(() => server.close());
  return { base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

test('held: a redirect is judged like a request, and does not go on for ever', async (context) => {
  const targets = [
    'https://10.0.0.1/',
    'https://169.254.169.254/',
    'file:///etc/passwd',
    'http://example.com/',
    'data:,x',
    '//10.0.0.1/',
    '/again',
    '',
  ];
  const { base } = await serve(context, (path) => ({ status: 302, location: decodeURIComponent(path.slice(1)) }));
  await holdAll(
    context,
    targets.map((target) => [target, target] as const),
    async (target) => {
      const url = `${base}/${encodeURIComponent(target)}`;
      const reached = await call(open, 'http.get', { url }, AbortSignal.timeout(30_000)).catch((error: Error) => error);
      assert.ok(reached instanceof Error || target === '', `reached: ${JSON.stringify(reached)}`);
    },
  );
});

test('held: neither headers nor query nor path smuggle another request', async (context) => {
  const { base, seen } = await serve(context, () => ({ status: 200 }));
  const breaks = [
    'a\r\nX-Injected: 1',
    'a\nX-Injected: 1',
    'a\r\n\r\nGET /smuggled HTTP/1.1',
    'a\0b',
    'a\u010dX-Injected: 1',
  ];
  const places: readonly ((text: string) => Record<string, unknown>)[] = [
    (text) => ({ url: base, headers: { 'X-Plain': text } }),
    (text) => ({ url: base, headers: { [text]: 'x' } }),
    (text) => ({ url: base, query: { q: text } }),
    (text) => ({ url: `${base}/${text}` }),
    (text) => ({ url: base, headers: { Host: text } }),
  ];
  await holdAll(
    context,
    breaks.flatMap((text) =>
      places.map((place, at) => [`${JSON.stringify(text)} in place ${at}`, place(text)] as const),
    ),
    async (args) => {
      seen.length = 0;
      await call(open, 'http.get', args, AbortSignal.timeout(30_000)).catch(() => {});
      assert.ok(seen.length <= 1, `${seen.length} requests`);
      for (const { path, headers } of seen) {
        assert.equal(headers['x-injected'], undefined);
        assert.ok(!path.startsWith('/smuggled'), path);
      }
    },
  );
});

test('held: a list of hosts is not passed by look-alikes', async (context) => {
  const listed = httpAbilities({ http: true, httpHosts: ['api.example.com', '*.example.org'] });
  const lookalikes = [
    'https://api.example.com.evil.test/',
    'https://evilapi.example.com/',
    'https://api.example.com@evil.test/',
    'https://evil.test/api.example.com',
    'https://evil.test#api.example.com',
    'https://evil.test?.example.org',
    'https://example.org.evil.test/',
    'https://apiXexample.com/',
    'https://evil.test\\@api.example.com/',
    'http://api.example.com/',
    'https://127.0.0.1/',
  ];
  await holdAll(
    context,
    lookalikes.map((url) => [url, url] as const),
    async (url) => {
      const source = call(listed, 'http.get', { url }, AbortSignal.timeout(30_000));
      await assert.rejects(source, (error: Error) => /^(PolicyDenied|InvalidArguments)$/.test(error.name));
    },
  );
});
