/** Who gets onto the page and what they see there: tokens, roles, a server or a store that goes away. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import type { Card } from '../../src/core/card.ts';
import { redisStore } from '../../src/stores/redis/index.ts';
import { startRedis, testWithRedis } from '../redis-server.ts';
import { openPage, testWithBrowser } from './browser.ts';
import { putCards, servePage, untilShown } from './served-page.ts';

const question: Card = {
  ...{ id: 'ask-1', kind: 'ask', task: 't', code: 'rule_declined', counters: {}, evidence: ['really pay?'] },
  ...{ actions: ['approve', 'decline'], state: 'open' },
};

testWithBrowser('without a session there is a form for a token, with the words how to get one', async () => {
  const served = await servePage();
  const { page, problems, close } = await openPage(`${served.origin}/`, { expected: /401/ });
  const box = page.getByLabel('Token');
  await box.waitFor();
  await page.getByText('switchgear serve token add').first().waitFor();
  await box.fill('ann.wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').or(page.getByRole('status')).filter({ hasText: /token/i }).first().waitFor();
  const [, token = ''] = served.url.split('#token=');
  await box.fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor();
  assert.ok(!page.url().includes(token));
  assert.deepEqual(problems, []);
  await close();
});

testWithBrowser(
  'the token of the printed address leaves the address, the history and every place a script reads',
  async () => {
    const served = await servePage();
    const { page, problems } = await served.open();
    const [, token = ''] = served.url.split('#token=');
    await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor();
    const places = await page.evaluate<string>(
      `JSON.stringify([location.href, document.cookie, { ...localStorage }, { ...sessionStorage }, history.state,
      document.documentElement.outerHTML])`,
    );
    assert.ok(!places.includes(token.split('.')[1]!), 'no place has the token');
    await page.goBack().catch(() => null);
    assert.ok(!page.url().includes(token));
    await page.goto(`${served.origin}/#/breakers`);
    await page.getByRole('heading', { level: 1, name: 'Breakers' }).waitFor();
    assert.deepEqual(problems, []);
  },
);

testWithBrowser('an address leads to its view after the sign-in, also from another site', async () => {
  const served = await servePage();
  const store = served.openStore();
  await putCards(store, [question]);
  const { page, problems, card } = await served.open();
  for (const [address, heading] of [
    ['#/inbox', 'Inbox'],
    ['#/inbox/ask-1', 'Inbox'],
    ['#/history', 'History'],
    ['#/standing', 'Standing approvals'],
    ['#/breakers', 'Breakers'],
    ['#/tasks', 'Tasks'],
    ['#/chains', 'Chains'],
    ['#/store', 'Store'],
  ] as const) {
    await page.goto('about:blank');
    await page.goto(`${served.origin}/${address}`);
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
  }
  await page.goto(`${served.origin}/#/inbox/ask-1`);
  await card(/pay|t/).first().waitFor();
  await page.goto(`${served.origin}/#/no-such-view`);
  await page.getByRole('main').waitFor();
  assert.deepEqual(problems, []);
});

testWithBrowser('another server of this machine gets the cookie of the page, and can do nothing with it', async () => {
  const served = await servePage();
  await putCards(served.openStore(), [question]);
  const cookies: string[] = [];
  // An agent may have started it: a page of it is of the same site, whatever its port.
  const other = createServer((request, response) => {
    cookies.push(request.headers.cookie ?? '');
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>dev server</title>');
  });
  await once(other.listen(0, '127.0.0.1'), 'listening');
  after(() => other.close());
  const { page } = await served.open();
  await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor();
  await page.goto(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`);
  const cookie = cookies.find((each) => each.includes('switchgear-session-')) ?? '';
  assert.notEqual(cookie, '', 'browsers send a cookie to every port');
  const approve = { method: 'POST', body: '{"answer":"approve"}' };
  const ownHeaders = { 'x-switchgear': '1', 'content-type': 'application/json' };
  const headers = { cookie, ...ownHeaders };
  const path = `${served.origin}/api/cards/ask-1/answer`;
  assert.equal((await fetch(path, { ...approve, headers })).status, 401);
  assert.equal((await fetch(`${served.origin}/api/cards`, { headers })).status, 401);
  // The page itself reads, sends, frames and opens what it can.
  const outcomes = await page.evaluate<readonly string[]>(`(async () => {
    const tryOut = (options) => fetch(${JSON.stringify(path)}, { credentials: 'include', ...options })
      .then(({ type, status }) => type + ' ' + status, () => 'refused');
    const frame = document.createElement('iframe');
    frame.src = ${JSON.stringify(`${served.origin}/`)};
    document.body.append(frame);
    await new Promise((resolve) => (frame.onload = frame.onerror = resolve));
    let framed = 'refused';
    try { framed = String(frame.contentDocument?.title ?? 'refused'); } catch {}
    return [
      await tryOut(${JSON.stringify({ ...approve, headers: ownHeaders })}),
      await tryOut({ method: 'POST', mode: 'no-cors', body: '{"answer":"approve"}' }),
      await tryOut({}),
      framed,
    ];
  })()`);
  assert.deepEqual(outcomes, ['refused', 'refused', 'refused', 'refused']);
  const { json } = await served
    .run(['inbox', 'list', '--json'])
    .then(({ out }) => ({ json: JSON.parse(out) as { readonly state: string }[] }));
  assert.deepEqual(
    json.map(({ state }) => state),
    ['open'],
  );
});

testWithBrowser('a second window that signs in anew takes the first one along', async () => {
  const served = await servePage();
  const { page, problems } = await served.open({ expected: /401/ });
  const second = await page.context().newPage();
  await second.goto(await served.addToken('bob', 'viewer'));
  await second.getByText('bob viewer').waitFor();
  await page.getByRole('link', { name: 'Store' }).click();
  await page.getByText('bob viewer').waitFor();
  await page.getByText('Journal entries').waitFor();
  await page.reload();
  await page.getByText('bob viewer').waitFor();
  assert.deepEqual(problems, []);
});

testWithBrowser('a viewer sees everything and is told why there are no buttons', async () => {
  const served = await servePage();
  const store = served.openStore();
  await putCards(store, [question]);
  const { page, card, problems } = await served.open({ address: await served.addToken('eve', 'viewer') });
  await card().first().waitFor();
  assert.equal(
    await card()
      .getByRole('button', { name: /Approve|Decline|Not now|Dismiss/ })
      .count(),
    0,
  );
  assert.equal(await page.getByRole('checkbox', { name: /^Select: / }).count(), 0);
  assert.match(await page.getByRole('main').innerText(), /viewer|only reads?|read-only/i);
  assert.deepEqual(problems, []);
});

testWithBrowser('a page whose server goes away says so, and goes on by itself when the server is back', async () => {
  const served = await servePage();
  const address = await served.addToken('ann', 'operator');
  const { page, card, problems } = await served.open({ address, expected: /ERR_CONNECTION|Failed to|502|503/ });
  const status = page.getByRole('banner').getByRole('status');
  await status.filter({ hasText: 'Live' }).waitFor();
  await served.stop();
  await status.filter({ hasText: 'Reconnecting' }).waitFor();
  const store = served.openStore();
  await putCards(store, [question]);
  await served.restart();
  await status.filter({ hasText: 'Live' }).waitFor();
  await card().filter({ hasText: 'really pay?' }).waitFor();
  assert.deepEqual(problems, []);
});

testWithRedis('a store that goes away and comes back is seen on the page', async () => {
  const redis = await startRedis();
  try {
    const served = await servePage(['--store', redis.url]);
    const { page, card, problems } = await served.open({ expected: /503|Failed to|ERR_/ });
    const status = page.getByRole('banner').getByRole('status');
    await status.filter({ hasText: 'Live' }).waitFor();
    redis.signal('SIGSTOP');
    await status.filter({ hasText: 'Store unavailable' }).waitFor();
    redis.signal('SIGCONT');
    await status.filter({ hasText: 'Live' }).waitFor();
    const store = await redisStore({ url: redis.url, graceMs: 0, deadlineMs: 1_000 });
    await putCards(store, [question]);
    await card().filter({ hasText: 'really pay?' }).waitFor();
    store.close();
    assert.deepEqual(problems, []);
  } finally {
    await redis.stop();
  }
});

testWithBrowser('a revoked token ends its page', async () => {
  const served = await servePage();
  const address = await served.addToken('ann', 'operator');
  const { page, problems } = await served.open({ address, expected: /401/ });
  await page.getByRole('banner').getByRole('status').filter({ hasText: 'Live' }).waitFor();
  await served.run(['serve', 'token', 'revoke', 'ann']);
  await page.goto('about:blank');
  await page.goto(`${served.origin}/#/inbox`);
  await page.getByLabel('Token').waitFor();
  await untilShown(async () => !(await page.getByRole('main').innerText()).includes('really pay?'));
  assert.deepEqual(problems, []);
});
