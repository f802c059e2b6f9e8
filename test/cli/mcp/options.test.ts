/** The options of `switchgear mcp`. */

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import type { Terminal } from '../../../src/cli/command.ts';
import { parseMcpOptions } from '../../../src/cli/mcp/options.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchgear-mcp-options-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const parse = (args: readonly string[], env: Terminal['env'] = {}) =>
  parseMcpOptions(args, { env, cwd: folder, out: () => undefined, err: () => undefined });

test('a command without -- is an error that says how to write it', async () => {
  await assert.rejects(parse(['mcp-server-everything', 'stdio']), {
    message: 'mcp: write the command of the server after --, as in: mcp -- mcp-server-everything stdio',
  });
  await assert.rejects(parse(['docs', '--', 'x']), /too many arguments: docs/);
});

const url = ['--url', 'https://docs.example/mcp'];

test('headers come from lines of a variable as they are, so that no secret is in the list of processes', async () => {
  const env = { HEADERS: 'Authorization: Bearer s3cr3t\nX-Team: ${TEAM}\n', TEAM: 'blue' };
  const { server } = await parse([...url, '--headers-from', 'HEADERS', '--header', 'X-More: ${TEAM}'], env);
  assert.deepEqual(server.kind === 'url' && server.headers, {
    authorization: 'Bearer s3cr3t',
    'x-team': '${TEAM}',
    'x-more': 'blue',
  });
});

test('headers that are missing or wrong are an error without their text', async () => {
  await assert.rejects(parse([...url, '--headers-from', 'HEADERS']), /the environment variable HEADERS is not set/);
  const wrong = { HEADERS: 's3cr3t' };
  await assert.rejects(
    parse([...url, '--headers-from', 'HEADERS'], wrong),
    ({ message }: Error) => /must be 'NAME: VALUE'/.test(message) && !message.includes('s3cr3t'),
  );
  await assert.rejects(parse(['--headers-from', 'HEADERS', '--', 'x'], { HEADERS: 'A: b' }), /needs --url/);
});

test('an option that would do nothing is an error', async () => {
  await assert.rejects(parse(['--allow-host', 'docs.example', '--', 'x']), /--allow-host needs --listen/);
  await assert.rejects(parse([...url, '--no-restart']), /--no-restart needs a server that is started by a command/);
});

/** Writes the configuration of a client, and reads its server `docs`. */
async function readDocs(path: string, text: string, env: Terminal['env'] = {}) {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  const { server, name } = await parse(['--config', path, '--server', 'docs'], { HOME: '/home/ann', ...env });
  assert.equal(name, 'docs');
  return server.kind === 'command' ? server : { ...server, url: server.url.href };
}

const docs = { command: 'npx', args: ['-y', 'docs-server'], env: { TOKEN: 't' } };
const started = { kind: 'command', command: ['npx', '-y', 'docs-server'], env: { TOKEN: 't' } };

test('a server comes from the file of each client, in its words', async () => {
  const plain = JSON.stringify({ mcpServers: { docs } });
  for (const path of ['claude_desktop_config.json', '.mcp.json', '.cursor/mcp.json', '.gemini/settings.json'])
    assert.deepEqual(await readDocs(path, plain), started, path);
  const commented = `{\n  // Servers\n  "servers": { "docs": ${JSON.stringify(docs)}, },\n}\n`;
  assert.deepEqual(await readDocs('.vscode/mcp.json', commented), started, 'VS Code');
  const settings = JSON.stringify({ mcp: { servers: { docs } } });
  assert.deepEqual(await readDocs('settings.json', settings), started, 'the settings of VS Code');
  const other = { mcpServers: { docs: { command: 'other' } }, projects: { [folder]: { mcpServers: { docs } } } };
  assert.deepEqual(await readDocs('.claude.json', JSON.stringify(other)), started, 'Claude Code, for the folder');
  const toml =
    '[mcp_servers.docs]\ncommand = "npx"\nargs = ["-y", "docs-server"]\nenv = { TOKEN = "t" }\ncwd = "/srv"\n';
  assert.deepEqual(await readDocs('.codex/config.toml', toml), { ...started, cwd: '/srv' }, 'Codex');
});

test('variables are replaced as the client would', async () => {
  const entry = {
    ...{ command: '${userHome}/bin/docs', args: ['${workspaceFolder}/data', '${env:MODE}', '${LEVEL:-low}'] },
    ...{ env: { TOKEN: '${SECRET}' }, cwd: '${workspaceFolder}' },
  };
  const text = JSON.stringify({ mcpServers: { docs: entry } });
  assert.deepEqual(await readDocs('variables.json', text, { MODE: 'fast', SECRET: 's' }), {
    ...{ kind: 'command', command: ['/home/ann/bin/docs', `${folder}/data`, 'fast', 'low'] },
    ...{ env: { TOKEN: 's' }, cwd: folder },
  });
  const verbatim = '[mcp_servers.docs]\ncommand = "sh"\nargs = ["-c", "echo ${HOME}"]\n';
  const codex = await readDocs('verbatim.toml', verbatim);
  assert.deepEqual('command' in codex && codex.command, ['sh', '-c', 'echo ${HOME}'], 'Codex replaces nothing');
  const asked = JSON.stringify({ servers: { docs: { command: 'docs', env: { KEY: '${input:key}' } } } });
  await assert.rejects(readDocs('asked.json', asked), /only the editor knows \$\{input:key\}/);
});

test('a server with an address comes with its headers', async () => {
  const address = 'https://docs.example/mcp';
  const found = { kind: 'url', url: address, headers: { authorization: 'Bearer s' } };
  const headers = { Authorization: 'Bearer ${SECRET}' };
  const env = { SECRET: 's' };
  const plain = JSON.stringify({ mcpServers: { docs: { type: 'http', url: address, headers } } });
  assert.deepEqual(await readDocs('url.json', plain, env), found);
  const gemini = JSON.stringify({ mcpServers: { docs: { httpUrl: address, headers } } });
  assert.deepEqual(await readDocs('.gemini/settings.json', gemini, env), found, 'Gemini CLI');
  const old = JSON.stringify({ mcpServers: { docs: { url: address } } });
  await assert.rejects(readDocs('.gemini/settings.json', old), /old HTTP\+SSE transport/);
  const codex = `[mcp_servers.docs]\nurl = "${address}"\nbearer_token_env_var = "SECRET"\n`;
  assert.deepEqual(await readDocs('url.toml', codex, env), found, 'Codex');
  const more = `[mcp_servers.docs]\nurl = "${address}"\nenv_http_headers = { Authorization = "HEADER" }\n`;
  assert.deepEqual(await readDocs('headers.toml', more, { HEADER: 'Bearer s' }), found, 'Codex, by a variable');
});

test('a file that cannot be read, or has no such server, is named', async () => {
  await assert.rejects(parse(['--config', 'none.json', '--server', 'x']), /none\.json cannot be read: ENOENT/);
  await assert.rejects(readDocs('broken.json', '{'), /broken\.json is not JSON/);
  await assert.rejects(readDocs('broken.toml', '= 1'), /broken\.toml is not TOML/);
  await assert.rejects(readDocs('empty.json', '{}'), /has no mcpServers/);
  await assert.rejects(
    readDocs('others.json', '{"mcpServers": {"__proto__x": {}, "a": {}}}'),
    /no server "docs" in others\.json; it has "__proto__x", "a"/,
  );
  await assert.rejects(parse(['--config', 'others.json']), /--config needs --server NAME; others\.json has/);
});
