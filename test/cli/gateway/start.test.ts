/** What `switchgear gateway` says and refuses when it starts, and what it says while it runs. */

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { main } from '../../../src/cli/main.ts';
import { ask, messageOf, sendJson } from '../../gateway/harness.ts';

/** An empty folder, and a way to start a gateway in it. */
function openFolder(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-start-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'home'));
  const place = { cwd: folder, env: { HOME: join(folder, 'home') } };
  const store = ['--store', `sqlite:${join(folder, 'gear.db')}`];
  async function start(...options: string[]) {
    const stop = new AbortController();
    const started = Promise.withResolvers<string>();
    const errors: string[] = [];
    const terminal = { out: started.resolve, err: (line: string) => void errors.push(line), stopSignal: stop.signal };
    const ended = main(['gateway', ...store, '--port', '0', ...options], { ...place, ...terminal });
    const url = await Promise.race([started.promise, ended.then((code) => `ended with ${code}`)]);
    const end = async () => {
      stop.abort();
      await ended;
    };
    context.after(end);
    return { url, errors, end };
  }
  const addKey = async (name: string) => {
    const lines: string[] = [];
    const terminal = { out: (line: string) => void lines.push(line), err: () => {} };
    await main(['gateway', 'key', 'add', name, ...store], { ...place, ...terminal });
    return lines[0]!;
  };
  return { folder, start, addKey };
}

test('an upstream without a key is named at the start if clients have keys of the gateway', async (context) => {
  const { start, addKey } = openFolder(context);
  const keyless = await start();
  assert.deepEqual(keyless.errors, []);
  await keyless.end();
  const key = await addKey('bob');
  const { url, errors } = await start('--upstream', 'openai=http://127.0.0.1:9');
  assert.deepEqual(errors.length, 1, errors.join('\n'));
  assert.match(errors[0]!, /refused with 502: anthropic, gemini: it has no key of its own, .* set key_env/);
  const answer = await fetch(`${url}/v1/messages`, { method: 'POST', body: '{}', headers: { 'x-api-key': key } });
  assert.deepEqual([answer.status, answer.headers.get('x-switchgear-code')], [502, 'upstream_not_configured']);
  assert.match(await answer.text(), /the upstream anthropic cannot be used: it has no key of its own/);
});

test('the gateway does not start while its upstreams wait for trust', async (context) => {
  const { folder, start } = openFolder(context);
  writeFileSync(join(folder, 'switchgear.toml'), '[[upstreams]]\nname = "own"\nurl = "http://127.0.0.1:9"\n');
  const refused = await start();
  assert.equal(refused.url, 'ended with 1');
  assert.match(
    refused.errors.join('\n'),
    /upstreams of the policy wait for trust: .*switchgear policy trust.*--upstream/,
  );
  const { url, errors } = await start('--upstream', 'http://127.0.0.1:9');
  assert.match(url, /^http:/, errors.join('\n'));
});

test('a policy file that does not exist is named once', async (context) => {
  const { errors } = await openFolder(context).start('--policy', 'nope.toml');
  assert.equal(errors.length, 1);
  assert.match(errors[0]!, /there is no file \S+nope\.toml \(ENOENT\)$/);
});

test('a gateway that observes says the first refusal of each task and code on stderr', async (context) => {
  const mock = createServer((_, response) => sendJson(response, messageOf('hi', 10_000, 100)));
  await new Promise<void>((resolve) => mock.listen(0, '127.0.0.1', resolve));
  context.after(() => mock.close());
  const { start } = openFolder(context);
  const upstream = `http://127.0.0.1:${(mock.address() as AddressInfo).port}`;
  const { url, errors, end } = await start('--observe', '--max-spend', '$0.05', '--upstream', upstream);
  for (let at = 0; at < 4; at++) {
    const sent = await fetch(`${url}/task/a/v1/messages`, { method: 'POST', body: JSON.stringify(ask) });
    assert.equal(sent.status, 200);
  }
  for (let at = 0; at < 2; at++) await (await fetch(`${url}/task/a/v1/files`)).text();
  await end();
  assert.equal(errors.length, 2, errors.join('\n'));
  assert.match(errors[0]!, /^switchgear: gw-a would be (refused|halted): .*\$0\.05/);
  assert.match(errors[1]!, /^switchgear: a request would be refused: .* \/v1\/files cannot be metered/);
});
