/** The watch over pages under test notices what a page must not do. */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import { assertAccessible, openPage, testWithBrowser } from './browser.ts';

const pages: Readonly<Record<string, string>> = {
  '/good':
    '<!doctype html><html lang="en"><title>Good</title><link rel="icon" href="data:,"><main><h1>Good</h1></main>',
  '/bad': `<!doctype html><title>Bad</title><link rel="icon" href="data:,"><img src="http://127.0.0.1:9/outside.png">
<script>alert('inline')</script><script src="/throws.js"></script><button></button>`,
  '/throws.js': "console.error('words'); throw new Error('thrown');",
};
const server = createServer(({ url = '' }, response) => {
  response.setHeader('content-security-policy', "default-src 'self'; img-src * data:; script-src 'self'");
  response.setHeader('content-type', url.endsWith('.js') ? 'text/javascript' : 'text/html; charset=utf-8');
  response.end(pages[url] ?? '');
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
after(() => server.close());
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

testWithBrowser('a good page has no problem', async () => {
  const { page, problems, close } = await openPage(`${origin}/good`);
  await assertAccessible(page, 'good');
  assert.deepEqual(problems, []);
  await close();
});

testWithBrowser('outside requests, errors, inline scripts and missing names are noticed', async () => {
  const { page, problems, close } = await openPage(`${origin}/bad`);
  for (const words of [
    /^request: http:\/\/127\.0\.0\.1:9\/outside\.png/,
    /^policy: script-src-elem blocked inline/,
    /^console: words/,
    /^error: Error: thrown/,
  ]) {
    const isNoticed = () => problems.some((problem) => words.test(problem));
    for (let looks = 0; looks < 100 && !isNoticed(); looks++) await page.waitForTimeout(50);
    assert.ok(isNoticed(), `${words} in ${problems.join('\n')}`);
  }
  await assert.rejects(assertAccessible(page, 'bad'), /button-name[\s\S]*html-has-lang/);
  await close();
});
