/** Every source of cards on each kind of store: its card appears, is decided on the page, and the source learns it. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after } from 'node:test';
import { cardApprover } from '../../src/approvers/index.ts';
import { createSwitchgear } from '../../src/index.ts';
import { redisStore } from '../../src/stores/redis/index.ts';
import { ProxyProcess } from '../cli/mcp/proxy-process.ts';
import { messageOf, sendJson, sonnet } from '../gateway/harness.ts';
import { collectOutput } from '../harness/child-output.ts';
import { startRedis } from '../redis-server.ts';
import { isCi, missingService } from '../services.ts';
import { until } from '../supervisor/processes.ts';
import { testWithBrowser } from './browser.ts';
import { runHook } from './hooked-call.ts';
import { type Served, type SignedInPage, servePage } from './served-page.ts';

/** A server over one store, with its page and the address of the store. */
interface Stage {
  readonly served: Served;
  readonly opened: SignedInPage;
  readonly store: string;
}

type Source = (stage: Stage) => Promise<void>;

const shell = '[abilities]\nshell = true\n';

/** The sources, each played until its decision has taken effect. */
const sources: Readonly<Record<string, Source>> = {
  async run({ served, opened: { page, card, goTo }, store }) {
    const words = ['--store', store, '--max-calls', '5', '--', 'claude', '-p', 'calls 60'];
    served.startAgent(words, { FAKE_RESUMED: 'calls 2,silent' });
    await card(/tool calls: 6 of 5/)
      .getByRole('button', { name: 'Try again with a limit of 10' })
      .click();
    await goTo('Tasks');
    await page.getByRole('row').filter({ hasText: '8 of 10' }).waitFor();
  },
  async hooks({ served, opened: { page, card }, store }) {
    const answered = runHook(served, store, {
      ...{ hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_use_id: 'c1' },
      tool_input: { command: 'make deploy' },
    });
    await card().filter({ hasText: 'make deploy' }).getByRole('button', { name: 'Decline…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox').fill('after the review');
    await dialog.getByRole('button', { name: 'Decline' }).click();
    assert.match(await answered, /"deny".*after the review/);
  },
  async chain({ served, opened: { card }, store }) {
    const file = join(served.folder, 'release.yaml');
    const policy = join(served.folder, 'shell.toml');
    writeFileSync(policy, shell);
    writeFileSync(
      file,
      [
        'id: release',
        'steps: [{ id: publish, ability: shell.execute, args: { command: "echo published" }, output_key: out }]',
        'circuit_breakers: [{ condition: "ability:shell.execute", action: confirm, reason: really publish? }]',
      ].join('\n'),
    );
    const run = served.start(['chain', 'run', file, '--id', 'r-1', '--store', store, '--policy', policy]);
    await card().filter({ hasText: 'really publish?' }).getByRole('button', { name: 'Approve once' }).click();
    const { code, out, err } = await run.finished;
    assert.equal(code, 0, out + err);
    assert.match((await served.run(['chain', 'show', 'r-1', '--outputs', '--store', store])).out, /published/);
  },
  async library({ served, opened: { card }, store: address }) {
    const store = address.startsWith('redis:') ? await redisStore({ url: address }) : served.openStore();
    const rules = [{ condition: 'ability:pay', action: 'confirm', reason: 'really pay?' }] as const;
    const gear = createSwitchgear({
      ...{ store, approver: cardApprover({ store }), policy: { rules }, log: 'silent', env: {} },
    });
    const pay = gear.guard('pay', async (amount: number) => `paid ${amount}`);
    const asked = gear.task({ id: 'pays' }, () => pay(5));
    await card().filter({ hasText: 'really pay?' }).getByRole('button', { name: 'Approve once' }).click();
    assert.deepEqual(await asked, { status: 'done', value: 'paid 5' });
    gear.dispose();
    if (address.startsWith('redis:')) await store.close();
  },
  async mcp({ served, opened: { page, card, goTo }, store }) {
    const { folder } = served;
    writeFileSync(join(folder, 'mcp.toml'), 'rules = ["ability:*echo*|confirm|really echo?"]\n');
    const place = { folder, store, log: join(folder, 'mcp.log'), clear: () => undefined };
    const proxy = new ProxyProcess(place, { options: ['--policy', 'mcp.toml'], isBeside: true });
    await proxy.initialize();
    const called = proxy.call('echo', { word: 'hi' });
    await card().filter({ hasText: 'really echo?' }).getByRole('button', { name: 'Approve once' }).click();
    let result = await called;
    // The proxy waits for 10 s; after that the model calls again, unchanged.
    if (result.isError === true) result = await proxy.call('echo', { word: 'hi' });
    assert.notEqual(result.isError, true, JSON.stringify(result));
    await goTo('Store');
    await page.getByRole('row').filter({ hasText: 'client of an MCP proxy' }).waitFor();
    proxy.end();
    await proxy.exited;
  },
  async gateway({ served, opened: { page, card, goTo, hears }, store }) {
    const mock = createServer((_, response) => sendJson(response, messageOf('hi', 10_000, 100)));
    await once(mock.listen(0, '127.0.0.1'), 'listening');
    const upstream = `http://127.0.0.1:${(mock.address() as AddressInfo).port}`;
    const line = ['--store', store, '--port', '0', '--max-spend', '$0.05', '--upstream', upstream];
    const gateway = served.start(['gateway', ...line]);
    after(() => gateway.child.kill('SIGKILL'));
    await until(() => gateway.out().includes('\n') || gateway.child.exitCode !== null);
    const body = JSON.stringify({ model: sonnet, max_tokens: 100, messages: [] });
    // Another process is the client: what a client starts, such as the browser of this test, may not decide.
    const url = `${gateway.out().trim()}/task/nightly/v1/messages`;
    const post = `(await fetch('${url}', { method: 'POST', body: '${body}' })).status`;
    const send = `for (const _ of 'abc') console.log(${post})`;
    const client = spawn(process.execPath, ['--input-type=module', '-e', send]);
    const { out } = collectOutput(client);
    await once(client, 'close');
    assert.deepEqual(out().trim().split('\n'), ['200', '200', '402'], gateway.err());
    await goTo('Store');
    await page.getByRole('row').filter({ hasText: 'gateway' }).first().waitFor();
    await goTo('Inbox');
    await card()
      .filter({ hasText: 'gw-nightly' })
      .filter({ hasText: 'Stopped' })
      .getByRole('button', { name: 'Dismiss' })
      .click();
    await hears(/dismissed/);
    gateway.child.kill('SIGTERM');
    await once(gateway.child, 'exit');
    mock.close();
  },
};

const isPlayed = missingService('chromium') === undefined || isCi();

async function openStage(kind: 'SQLite' | 'Redis'): Promise<Stage> {
  if (kind === 'SQLite') {
    const served = await servePage();
    return { served, opened: await served.open(), store: served.store };
  }
  const redis = await startRedis();
  after(() => redis.stop());
  const served = await servePage(['--store', redis.url]);
  return { served, opened: await served.open(), store: redis.url };
}

for (const kind of ['SQLite', 'Redis'] as const) {
  const missing = kind === 'Redis' ? missingService('redis') : undefined;
  const stage = isPlayed && missing === undefined ? await openStage(kind) : undefined;
  for (const [name, play] of Object.entries(sources)) {
    testWithBrowser(`${kind}: a card of ${name} is decided on the page`, async (context) => {
      if (missing !== undefined && !isCi()) return context.skip(missing);
      await stage!.opened.goTo('Inbox');
      await play(stage!);
      assert.deepEqual(stage!.opened.problems, []);
    });
  }
}
