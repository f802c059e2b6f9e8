/** The files of the page: small, cached by content, without anything from outside; a link may lead to the page. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { bundlePage } from '../../../tools/bundle-page.ts';
import { root } from '../../harness/source.ts';
import { openFileStore, send, serve } from '../server-setup.ts';

const folder = join(root, 'dist', 'page');
const pageBytesMax = 60_000;

before(() => bundlePage(folder));

test('the whole page is at most 60 kB, zipped', (context) => {
  const zipped = readdirSync(folder).filter((name) => name.endsWith('.gz'));
  const bytes = zipped.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  context.diagnostic(`${bytes} bytes in ${zipped.length} files`);
  assert.equal(zipped.length, 3);
  assert.ok(bytes <= pageBytesMax, `${bytes} bytes: look at what grew with esbuild --analyze`);
});

test('the page asks for nothing from outside, and has no inline script or style', () => {
  const html = readFileSync(join(folder, 'index.html'), 'utf8');
  assert.doesNotMatch(html, /<script(?![^>]*\ssrc="\/page\/page-\w+\.js")|<style|\sstyle=|\son\w+=|https?:/);
  const css = readdirSync(folder).find((name) => name.endsWith('.css'))!;
  assert.doesNotMatch(readFileSync(join(folder, css), 'utf8'), /url\(|@import/);
  const script = readdirSync(folder).find((name) => name.endsWith('.js'))!;
  const addresses = readFileSync(join(folder, script), 'utf8').match(/(?:https?|wss?):\/\/[\w.]+/g) ?? [];
  assert.deepEqual(
    addresses.filter((each) => each !== 'http://www.w3.org'),
    [],
  );
});

test('the files are sent compressed if the client takes it, with a tag, and cached by their names', async () => {
  const store = openFileStore();
  const server = await serve(store);
  const get = (path: string, headers = {}, method = 'GET') => server.send(method, path, undefined, headers);
  const page = await get('/', { authorization: '' });
  assert.equal(page.status, 200, 'without a token');
  assert.equal(page.headers['content-type'], 'text/html; charset=utf-8');
  assert.equal(page.headers['cache-control'], 'no-store');
  assert.match(
    String(page.headers['content-security-policy']),
    /^default-src 'none'; script-src 'self'; style-src 'self'/,
  );
  assert.doesNotMatch(String(page.headers['content-security-policy']), /unsafe/);
  const again = await get('/', { 'if-none-match': String(page.headers.etag) });
  assert.deepEqual([again.status, again.text], [304, '']);
  const names = [...page.text.matchAll(/"(\/page\/[\w.-]+)"/g)].map(([, name = '']) => name);
  assert.equal(names.length, 2);
  for (const name of names) {
    const file = await get(name);
    assert.match(String(file.headers['cache-control']), /immutable/);
    const forms = await Promise.all(
      ['br, gzip', 'gzip', 'br;q=0, gzip;q=0.000', 'identity'].map((accept) =>
        get(name, { 'accept-encoding': accept }),
      ),
    );
    assert.deepEqual(
      forms.map(({ headers }) => headers['content-encoding']),
      ['br', 'gzip', undefined, undefined],
    );
    const head = await get(name, {}, 'HEAD');
    assert.deepEqual(
      [head.status, head.text, head.headers['content-length']],
      [200, '', file.headers['content-length']],
    );
  }
  for (const name of ['/page/index.html.gz', '/page/..%2findex.js', '/page/%2e%2e', '/page/nothing.js'])
    assert.equal((await get(name)).status, 404, name);
  await server.close();
  store.close();
});

test('a link on another page opens the page, and nothing else', async () => {
  const store = openFileStore();
  const server = await serve(store);
  const host = `127.0.0.1:${server.port}`;
  const navigation = {
    host,
    'sec-fetch-site': 'cross-site',
    'sec-fetch-mode': 'navigate',
    'sec-fetch-dest': 'document',
  };
  const status = async (method: string, path: string, headers: Record<string, string>) =>
    (await send(server.port, method, path, '', { ...navigation, ...headers })).status;
  assert.equal(await status('GET', '/', {}), 200);
  assert.equal(await status('GET', '/', { 'sec-fetch-dest': 'iframe' }), 403);
  assert.equal(await status('GET', '/', { 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' }), 403);
  assert.equal(await status('GET', '/', { origin: 'https://evil.example' }), 403);
  assert.equal(await status('POST', '/', {}), 403);
  for (const path of ['/api/status', '/metrics', '/health', '/page/page.js', '/nothing'])
    assert.equal(await status('GET', path, { authorization: `Bearer ${server.token}` }), 403, path);
  await server.close();
  store.close();
});
