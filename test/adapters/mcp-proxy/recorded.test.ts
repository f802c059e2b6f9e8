/** Sessions of real clients with real servers: every byte arrives as it was sent, with the proxy as without it. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { generations, proxied, record, servers } from './sessions.ts';

/** `SWITCHGEAR_RECORDINGS` names a folder that keeps the recordings. */
const kept = process.env.SWITCHGEAR_RECORDINGS;
const folder = kept ?? mkdtempSync(join(tmpdir(), 'switchgear-recorded-'));
after(() => kept ?? rmSync(folder, { recursive: true, force: true }));

/** Everything that a session must have seen, or the comparison says nothing. */
const legacyMarks = ['sampling', 'elicitation', 'cancelled', 'logging'];
const marks: Readonly<Record<keyof typeof generations, readonly string[]>> = {
  'client 1.x': legacyMarks,
  'client 2.x': legacyMarks,
  'client 2.x, 2026-07-28': ['elicitation', 'cancelled', 'an unknown tool'],
};

/** The frames of one direction; the level of a log message is drawn by lot. */
const frames = (text: string) => text.split('\n').filter((line) => !line.includes('"notifications/message"'));

for (const name of Object.keys(generations) as (keyof typeof generations)[]) {
  test(`${name}: the same bytes on both sides of the proxy, and the same as without it`, async () => {
    const [direct, through] = await Promise.all([record(name, folder, false), record(name, folder, true)]);
    for (const mark of marks[name]) assert.ok(through.seen.includes(mark), `${mark} is missing: ${through.seen}`);
    assert.deepEqual(through.seen, direct.seen);
    assert.match(through.client.received, /"notifications\/progress"/);
    assert.ok(through.client.sent.length > 500 && through.client.received.length > 500);
    assert.equal(through.server?.sent, through.client.sent);
    assert.equal(through.server?.received, through.client.received);
    assert.deepEqual(frames(through.client.sent), frames(direct.client.sent));
    assert.deepEqual(frames(through.client.received), frames(direct.client.received));
  });
}

test('the inspector lists, reads and calls through the proxy as without it', async () => {
  const program = fileURLToPath(new URL('../node_modules/.bin/mcp-inspector-cli', import.meta.url));
  const config = join(folder, 'mcp.json');
  // It takes `--` in the arguments of a server for the end of its own.
  const entry = (name: string, command: readonly string[]) => {
    const script = join(folder, `${name}.sh`);
    writeFileSync(script, `#!/bin/sh\nexec ${command.map((word) => `'${word}'`).join(' ')}\n`, { mode: 0o755 });
    return { command: script };
  };
  const { everything } = servers;
  writeFileSync(
    config,
    JSON.stringify({
      mcpServers: {
        direct: entry('direct', everything),
        proxied: entry('proxied', proxied(folder, everything)),
      },
    }),
  );
  const inspect = async (server: string, words: readonly string[]) => {
    const args = [program, '--cli', '--config', config, '--server', server, ...words];
    const env = { PATH: process.env.PATH, HOME: folder };
    // It looks for a package.json above its working folder.
    const cwd = fileURLToPath(new URL('../node_modules', import.meta.url));
    return (await promisify(execFile)(process.execPath, args, { env, cwd })).stdout;
  };
  const uses = [
    ['--method', 'tools/list'],
    ['--method', 'resources/read', '--uri', 'demo://resource/static/document/architecture.md'],
    ['--method', 'tools/call', '--tool-name', 'echo', '--tool-arg', 'message=hello'],
  ];
  for (const words of uses) {
    const [direct, through] = await Promise.all(['direct', 'proxied'].map((server) => inspect(server, words)));
    assert.ok(direct !== undefined && direct.length > 20);
    assert.equal(through, direct);
  }
});
