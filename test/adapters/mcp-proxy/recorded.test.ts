/** Sessions of real clients with real servers: every byte arrives as it was sent, with the proxy as without it. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test as plainTest } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Recording, recordDirectly, recordThrough, type Side, Stage, type Transport } from './recordings.ts';
import { type GenerationName, generations, marks, proxied, servers } from './sessions.ts';
import type { Exchange } from './tap.ts';

const test = (title: string, run: () => Promise<void>) => plainTest(title, { timeout: 120_000 }, run);
/** `SWITCHGEAR_RECORDINGS` names a folder that keeps the recordings. */
const kept = process.env.SWITCHGEAR_RECORDINGS;
const folder = kept ?? mkdtempSync(join(tmpdir(), 'switchgear-recorded-'));
after(() => kept ?? rmSync(folder, { recursive: true, force: true }));

/** The messages of one direction; the level of a log message is drawn by lot, and updates come every few seconds. */
function compared(messages: readonly string[]): readonly string[] {
  const drawn = ['"notifications/message"', '"notifications/resources/updated"'];
  return messages.filter((text) => !drawn.some((method) => text.includes(method)));
}

/**
 * Over HTTP answers come on connections of their own, in any order; some name the session, which stdio has not. The
 * server asks for roots by a timer, whether the client listens by then or not.
 */
function unordered(messages: readonly string[]): readonly string[] {
  return compared(messages)
    .filter((text) => text.trim() !== '' && !/"roots\/list"|"result":\{"roots":/.test(text))
    .map((text) => text.replaceAll(/ for session (?:[0-9a-f-]{36}|undefined)/g, ''))
    .toSorted();
}

/** The requests with all bytes of their responses; those of the server end with the connection of the client. */
function describeExchanges({ exchanges = [] }: Side): readonly string[] {
  const describe = ({ method, path, headers, body, status, responseHeaders, response }: Exchange) =>
    JSON.stringify({ method, path, body, status, response, heads: [headers, responseHeaders].map(sortHeaders) });
  return exchanges.map(describe).toSorted();
}

/** Headers by name. How a body is framed and which page sent it is for the listener; answers are not compressed. */
function sortHeaders(raw: readonly string[]): readonly string[] {
  const pairs = raw.flatMap((name, at) => (at % 2 === 0 ? [`${name.toLowerCase()}: ${raw[at + 1]}`] : []));
  return pairs.filter((pair) => !/^(content-length|accept-encoding|sec-fetch-\w+):/.test(pair)).toSorted();
}

const direct = new Map<string, Promise<Recording>>();

/** The same session without the proxy, played once. */
function findDirect(name: GenerationName, transport: Transport): Promise<Recording> {
  const key = `${name} ${transport}`;
  const known = direct.get(key) ?? recordDirectly(name, folder, transport);
  direct.set(key, known);
  return known;
}

function checkSeen(name: GenerationName, { seen, client }: Recording, without: Recording): void {
  for (const mark of marks[name]) assert.ok(seen.includes(mark), `${mark} is missing: ${seen}`);
  const told = (words: readonly string[]) => new Set(words.filter((word) => word !== 'tools changed'));
  assert.deepEqual(told(seen), told(without.seen));
  assert.match(client.received.join('\n'), /"notifications\/progress"/);
  assert.ok(client.sent.length > 8 && client.received.length > 8);
}

for (const name of Object.keys(generations) as GenerationName[]) {
  test(`${name}, stdio: the same bytes on both sides of the proxy, and the same as without it`, async () => {
    const [without, through] = await Promise.all([
      findDirect(name, 'stdio'),
      recordThrough(name, folder, 'stdio', 'stdio'),
    ]);
    checkSeen(name, through, without);
    assert.deepEqual(through.server?.bytes, through.client.bytes);
    assert.deepEqual(compared(through.client.sent), compared(without.client.sent));
    assert.deepEqual(compared(through.client.received), compared(without.client.received));
  });

  test(`${name}, HTTP: the same requests and bytes on both sides, and the same as without the proxy`, async () => {
    const without = await findDirect(name, 'HTTP');
    const through = await recordThrough(name, folder, 'HTTP', 'HTTP');
    checkSeen(name, through, without);
    assert.deepEqual(describeExchanges(through.server!), describeExchanges(through.client));
    assert.deepEqual(unordered(through.client.sent), unordered(without.client.sent));
    assert.deepEqual(unordered(through.client.received), unordered(without.client.received));
  });
}

/**
 * Messages without what a bridge must change: the ids of clients that share a server, how a request is cancelled, and
 * the answer that ends the response of a cancelled request. Over HTTP a server forgets news that nobody listens to
 * yet; on stdio the first request of a newer client goes to a process that it starts for that alone.
 */
function bridged(messages: readonly string[]): readonly string[] {
  const own = ['"notifications/cancelled"', '"the client gave up the request"', '"notifications/tools/list_changed"'];
  return unordered(messages)
    .filter((text) => !own.some((mark) => text.includes(mark)) && !/"server\/discover"|"supportedVersions"/.test(text))
    .map((text) =>
      text.replaceAll(/"(id|progressToken|io\.modelcontextprotocol\/subscriptionId)":("[^"]*"|\d+)/g, '"$1":0'),
    )
    .toSorted();
}

for (const name of Object.keys(generations) as GenerationName[]) {
  for (const [client, server] of [
    ['stdio', 'HTTP'],
    ['HTTP', 'stdio'],
  ] as const) {
    test(`${name}, ${client} to ${server}: the same messages on both sides, and as without the proxy`, async () => {
      const without = await findDirect(name, client);
      const through = await recordThrough(name, folder, client, server);
      checkSeen(name, through, without);
      for (const direction of ['sent', 'received'] as const) {
        assert.deepEqual(bridged(through.client[direction]), bridged(through.server![direction]));
        assert.deepEqual(bridged(through.client[direction]), bridged(without.client[direction]));
      }
    });
  }
}

/** Uses of the inspector's command line. */
const uses = [
  ['--method', 'tools/list'],
  ['--method', 'prompts/list'],
  ['--method', 'resources/read', '--uri', 'demo://resource/static/document/architecture.md'],
  ['--method', 'tools/call', '--tool-name', 'echo', '--tool-arg', 'message=hello'],
];

async function inspect(words: readonly string[]): Promise<string> {
  const program = fileURLToPath(new URL('../node_modules/.bin/mcp-inspector-cli', import.meta.url));
  const env = { PATH: process.env.PATH, HOME: folder };
  // It looks for a package.json above its working folder.
  const cwd = fileURLToPath(new URL('../node_modules', import.meta.url));
  return (await promisify(execFile)(process.execPath, [program, '--cli', ...words], { env, cwd })).stdout;
}

test('the inspector lists, reads and calls by stdio through the proxy as without it', async () => {
  const config = join(folder, 'mcp.json');
  // It takes `--` in the arguments of a server for the end of its own.
  const entry = (name: string, command: readonly string[]) => {
    const script = join(folder, `${name}.sh`);
    writeFileSync(script, `#!/bin/sh\nexec ${command.map((word) => `'${word}'`).join(' ')}\n`, { mode: 0o755 });
    return { command: script };
  };
  const { everything } = servers;
  const mcpServers = {
    direct: entry('direct', everything),
    proxied: entry('proxied', proxied(folder, ['--', ...everything])),
  };
  writeFileSync(config, JSON.stringify({ mcpServers }));
  for (const words of uses) {
    const outputs = ['direct', 'proxied'].map((server) => inspect(['--config', config, '--server', server, ...words]));
    const [direct, through] = await Promise.all(outputs);
    assert.ok(direct !== undefined && direct.length > 20);
    assert.equal(through, direct);
  }
});

test('the inspector lists, reads and calls by HTTP through the proxy as without it', async () => {
  const stages = [undefined, 'HTTP', 'stdio'].map((behind) => ({
    behind: behind as Transport | undefined,
    stage: new Stage(folder, `inspector-${behind}`),
  }));
  try {
    const started = await Promise.all(stages.map(({ stage, behind }) => stage.start('everything', 'HTTP', behind)));
    const urls = started.map(({ end }) => String(end));
    for (const words of uses) {
      const [direct, ...through] = await Promise.all(
        urls.map((url) => inspect([url, '--transport', 'http', ...words])),
      );
      assert.ok(direct !== undefined && direct.length > 20);
      for (const each of through) assert.equal(each, direct);
    }
  } finally {
    await Promise.all(stages.map(({ stage }) => stage.stop()));
  }
});
