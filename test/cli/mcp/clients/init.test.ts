/** `switchgear init CLIENT --mcp`: servers of a client run behind the proxy, and everything else keeps its bytes. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { main } from '../../../../src/cli/main.ts';
import { findClientFile } from '../../../../src/cli/mcp/clients/client-files.ts';
import { serverFile } from '../proxy-process.ts';

function createHome(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-clients-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'work'));
  const env = { HOME: folder, PATH: process.env.PATH };
  return {
    env,
    path: (name: string) => join(folder, name),
    put(name: string, text: string) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    },
    read: (name: string) => readFileSync(join(folder, name), 'utf8'),
    async run(...args: readonly string[]) {
      const out: string[] = [];
      const err: string[] = [];
      const output = { out: (line: string) => out.push(line), err: (line: string) => err.push(line) };
      const code = await main(args, { ...output, cwd: join(folder, 'work'), env });
      return { code, out: out.join('\n'), err: err.join('\n') };
    },
  };
}

const command = '.local/state/switchgear/command/bin/switchgear';

/** The configuration of VS Code is JSON with comments. */
const commented = `// my servers
{
  "inputs": [{ "id": "key", "type": "promptString", "password": true }],
  "servers": {
    "docs": { "type": "stdio", "command": "npx", "args": ["-y", "some-docs-server"] }, // the docs
    "db":   {
      /* started by hand before */
      "env": { "DB_PASSWORD": "\${input:key}", "PLAIN": "hunter2" },
      "command": "uvx",
      "args": [
        // what it serves
        "db-server", "--token", "abc-secret-1", // a token
        "postgres://me:pw@host/db?sslkey=zzz",
      ],
    },
    "alone": { "command": "alone" },
  },
}
`;

test('init puts the proxy before every command and keeps comments, order and other keys', async (context) => {
  const at = createHome(context);
  const file = '.config/Code/User/mcp.json';
  at.put(file, commented);
  const { code, out } = await at.run('init', 'vscode', '--mcp');
  assert.equal(code, 0);
  const own = JSON.stringify(at.path(command));
  assert.equal(
    at.read(file),
    commented
      .replace('"npx", "args": [', `${own}, "args": ["mcp", "--name", "docs", "--", "npx", `)
      .replace('"uvx"', own)
      .replace(
        '"db-server"',
        ['mcp', '--name', 'db', '--', 'uvx', 'db-server'].map((word) => `"${word}"`).join(',\n        '),
      )
      .replace('{ "command": "alone" }', `{ "command": ${own}, "args": ["mcp", "--name", "alone", "--", "alone"] }`),
  );
  assert.match(out, /^- "command": "npx", "args": \["-y","some-docs-server"\]$/m);
  assert.match(out, /^\+ .*\["mcp","--name","docs","--","npx","-y","some-docs-server"\]$/m);
  for (const secret of ['hunter2', 'abc-secret-1', 'me:pw', 'zzz']) assert.ok(!out.includes(secret), secret);
  const text = at.read(file);
  const again = await at.run('init', 'vscode', '--mcp', '--yes');
  assert.match(again.out, /nothing to change: 3 servers run behind the proxy/);
  assert.equal(at.read(file), text);
  assert.equal((await at.run('init', 'vscode', '--mcp', '--undo')).code, 0);
  assert.equal(at.read(file), commented);
  assert.equal(existsSync(at.path(command)), false);
});

test('the printed change of undo has no arguments where the entry had none', async (context) => {
  const at = createHome(context);
  at.put('.cursor/mcp.json', '{"mcpServers":{"a":{"command":"x"},"b":{"command":"y","args":[]}}}');
  await at.run('init', 'cursor', '--mcp');
  const { out } = await at.run('init', 'cursor', '--mcp', '--undo');
  assert.deepEqual(
    out.split('\n').filter((line) => line.startsWith('+')),
    ['+ "command": "x"', '+ "command": "y", "args": []'],
  );
});

test('undo restores every file byte for byte, and what was changed in between stays', async (context) => {
  const at = createHome(context);
  const file = '.cursor/mcp.json';
  const texts = [
    '{"mcpServers":{"a":{"command":"x"}}}',
    [
      '\ufeff{',
      '\t"mcpServers": {',
      '\t\t"a b": {',
      '\t\t\t"command": "x",',
      '\t\t\t"args": []',
      '\t\t}',
      '\t}',
      '}',
      '',
    ].join('\r\n'),
    '{ "mcpServers": { "a": { "args": [\n"1",\n"2"], "command": "x", "n": 12345678901234567 }, "a": {"command":"y"} }}',
  ];
  for (const text of texts) {
    at.put(file, text);
    await at.run('init', 'cursor', '--mcp');
    assert.notEqual(at.read(file), text);
    // With a new server the earlier ones are undone as well.
    const added = at.read(file).replace(/"mcpServers" ?: ?\{/, '$&"new": { "command": "z", "args": ["1"] },');
    at.put(file, added);
    await at.run('init', 'cursor', '--mcp');
    await at.run('init', 'cursor', '--mcp', '--undo');
    assert.equal(at.read(file), text.replace(/"mcpServers" ?: ?\{/, '$&"new": { "command": "z", "args": ["1"] },'));
    at.put(file, text);
    await at.run('init', 'cursor', '--mcp');
    at.put(file, at.read(file).replace('{', '{ "theme": 1,'));
    await at.run('init', 'cursor', '--mcp', '--undo');
    assert.equal(at.read(file), text.replace('{', '{ "theme": 1,'));
  }
});

test('servers behind the proxy keep their options, and shared files name no path of this machine', async (context) => {
  const at = createHome(context);
  const own = '{ "command": "npx", "args": ["-y", "switchgear", "mcp", "--no-restart", "--", "x"] }';
  const text = `{ "mcpServers": { "own": ${own}, "a": { "command": "x" } } }`;
  at.put('work/.mcp.json', text);
  const { err } = await at.run('init', 'claude-code', '--mcp', '--project');
  assert.match(err, /switchgear is neither on your PATH nor in node_modules/);
  const { mcpServers } = JSON.parse(at.read('work/.mcp.json')) as { mcpServers: Record<string, object> };
  assert.deepEqual(mcpServers.own, JSON.parse(own));
  assert.deepEqual(mcpServers.a, { command: 'switchgear', args: ['mcp', '--name', 'a', '--', 'x'] });
  await at.run('init', 'claude-code', '--mcp', '--project', '--undo');
  assert.equal(at.read('work/.mcp.json'), text);
});

test('a server with an address gets its headers by a variable; one that may sign in stays', async (context) => {
  const at = createHome(context);
  const text = `{
  "servers": {
    "keyed": {
      "type": "http", // reached by HTTP
      "url": "https://example.com/mcp",
      "headers": { "Authorization": "Bearer s3cr3t", "X-Team": "\${input:team}" }
    },
    "local": { "url": "http://localhost:3000/mcp" },
    "open": { "type": "http", "url": "https://example.com/mcp" },
    "old": { "type": "sse", "url": "https://example.com/sse", "headers": { "A": "b" } },
    "query": { "url": "https://example.com/mcp?key=q4", "headers": { "A": "b" } }
  }
}`;
  at.put('.config/Code/User/mcp.json', text);
  const { out } = await at.run('init', 'vscode', '--mcp');
  for (const secret of ['s3cr3t', 'q4']) assert.ok(!out.includes(secret), out);
  assert.match(out, /^ {2}open stays as it is: its client may have to sign in/m);
  assert.match(out, /^ {2}old stays as it is: it uses the old transport/m);
  assert.match(out, /^ {2}query stays as it is: its address may hold a secret/m);
  const after = at.read('.config/Code/User/mcp.json');
  assert.ok(after.includes('// reached by HTTP'));
  const { servers } = JSON.parse(after.replace('// reached by HTTP', ''));
  const start = (name: string) => ['mcp', '--name', name, '--url'];
  assert.deepEqual(servers.keyed, {
    type: 'stdio',
    command: at.path(command),
    args: [...start('keyed'), 'https://example.com/mcp', '--headers-from', 'MCP_HEADERS'],
    env: { MCP_HEADERS: 'Authorization: Bearer s3cr3t\nX-Team: ${input:team}' },
  });
  assert.deepEqual(servers.local.args, [...start('local'), 'http://localhost:3000/mcp']);
  assert.equal((await at.run('init', 'vscode', '--mcp')).code, 0);
  assert.equal(at.read('.config/Code/User/mcp.json'), after);
  // Changed in between: the entries get their earlier bytes, and the change stays.
  at.put('.config/Code/User/mcp.json', after.replace('{', '{ "inputs": [],'));
  await at.run('init', 'vscode', '--mcp', '--undo');
  assert.equal(at.read('.config/Code/User/mcp.json'), text.replace('{', '{ "inputs": [],'));
  // Without a backup the entries are made from their options.
  at.put('.config/Code/User/mcp.json', after);
  await at.run('init', 'vscode', '--mcp', '--undo');
  const made = JSON.parse(at.read('.config/Code/User/mcp.json'));
  const original = JSON.parse(text.replace('// reached by HTTP', ''));
  assert.deepEqual(made.servers, original.servers);
});

test('the servers of Claude Code for all folders and for one folder are changed, in its one file', async (context) => {
  const at = createHome(context);
  const server = { type: 'stdio', command: 'x', args: ['1'], env: { KEY: 'v' } };
  at.put(
    '.claude.json',
    JSON.stringify({ mcpServers: { a: server }, projects: { '/w': { mcpServers: { a: server } } } }),
  );
  const { code } = await at.run('init', 'claude-code', '--mcp', '--store', 'sqlite:/tmp/s.db');
  assert.equal(code, 0);
  const { mcpServers, projects } = JSON.parse(at.read('.claude.json'));
  const args = ['mcp', '--name', 'a', '--store', 'sqlite:/tmp/s.db', '--', 'x', '1'];
  assert.deepEqual(mcpServers.a, { ...server, command: at.path(command), args });
  assert.deepEqual(projects['/w'].mcpServers.a, mcpServers.a);
  // Other options replace those of before.
  await at.run('init', 'claude-code', '--mcp');
  assert.deepEqual(JSON.parse(at.read('.claude.json')).mcpServers.a.args, ['mcp', '--name', 'a', '--', 'x', '1']);
});

test('hooks and proxies in one file are undone on their own, and keep the command that both run', async (context) => {
  const at = createHome(context);
  const text = '{ "mcpServers": { "a": { "command": "x" } } }';
  at.put('.gemini/settings.json', text);
  await at.run('init', 'gemini');
  const hooked = at.read('.gemini/settings.json');
  await at.run('init', 'gemini', '--mcp');
  await at.run('init', 'gemini', '--mcp', '--undo');
  assert.equal(at.read('.gemini/settings.json'), hooked);
  await at.run('init', 'gemini', '--mcp');
  await at.run('init', 'gemini', '--undo');
  assert.ok(existsSync(at.path(command)));
  await at.run('init', 'gemini', '--mcp', '--undo');
  assert.deepEqual(JSON.parse(at.read('.gemini/settings.json')), JSON.parse(text));
  assert.equal(existsSync(at.path(command)), false);
});

test('a symbolic link stays one, and --dry-run writes nothing', async (context) => {
  const at = createHome(context);
  const text = '{ "mcpServers": { "a": { "command": "x" } } }';
  at.put('real.json', text);
  mkdirSync(at.path('.cursor'));
  symlinkSync(at.path('real.json'), at.path('.cursor/mcp.json'));
  assert.match((await at.run('init', 'cursor', '--mcp', '--dry-run')).out, /^\+ /m);
  assert.equal(at.read('real.json'), text);
  assert.equal(existsSync(at.path('.local')), false);
  await at.run('init', 'cursor', '--mcp');
  assert.ok(lstatSync(at.path('.cursor/mcp.json')).isSymbolicLink());
  assert.notEqual(at.read('real.json'), text);
});

test('a missing file, a broken one and a wrong client are reported in one sentence', async (context) => {
  const at = createHome(context);
  const missing = await at.run('init', 'claude-desktop', '--mcp');
  assert.equal(missing.code, 1);
  assert.match(missing.err, /^switchgear: init changed nothing: there is no file .*claude_desktop_config\.json$/);
  at.put('.cursor/mcp.json', '{ "mcpServers": { "a": ');
  const broken = await at.run('init', 'cursor', '--mcp');
  assert.match(broken.err, /^switchgear: .*mcp\.json cannot be changed: unexpected "" in line 1$/);
  for (const text of ['', '{}', '{ "mcpServers": [] }', '{ "mcpServers": { "a": 1 } }']) {
    at.put('.cursor/mcp.json', text);
    assert.match((await at.run('init', 'cursor', '--mcp')).out, /nothing to change$/);
  }
  assert.match((await at.run('init', 'cursor')).err, /cursor knows no hooks; expected --mcp/);
  assert.match((await at.run('init', 'codex', '--mcp')).err, /config\.toml; write switchgear mcp there by hand/);
  assert.match((await at.run('init', 'cursr', '--mcp')).err, /got 'cursr'; did you mean cursor\?/);
  assert.equal((await at.run('init', 'claude-desktop', '--mcp', '--project')).code, 2);
});

test('the configuration of a client is found where its vendor puts it', () => {
  const folders = { home: '/h', project: '/p', env: {} };
  const find = (client: 'claude-desktop' | 'vscode', platform: NodeJS.Platform, env = {}) =>
    findClientFile(client, false, { ...folders, env }, platform);
  const mac = '/h/Library/Application Support';
  assert.equal(find('claude-desktop', 'darwin'), `${mac}/Claude/claude_desktop_config.json`);
  assert.equal(find('vscode', 'darwin'), `${mac}/Code/User/mcp.json`);
  assert.equal(find('vscode', 'linux', { XDG_CONFIG_HOME: '/c' }), '/c/Code/User/mcp.json');
  const windows = { APPDATA: 'C:\\Users\\me\\AppData\\Roaming' };
  assert.equal(find('claude-desktop', 'win32', windows), `${windows.APPDATA}\\Claude\\claude_desktop_config.json`);
  assert.equal(findClientFile('cursor', true, folders), '/p/.cursor/mcp.json');
  assert.equal(findClientFile('vscode', true, folders), '/p/.vscode/mcp.json');
  assert.equal(
    findClientFile('claude-code', false, { ...folders, env: { CLAUDE_CONFIG_DIR: '/d' } }),
    '/d/.claude.json',
  );
});

test('a server starts by its changed entry', async (context) => {
  const at = createHome(context);
  const entry = { command: process.execPath, args: [serverFile] };
  at.put('.cursor/mcp.json', JSON.stringify({ mcpServers: { 'My docs': entry } }));
  await at.run('init', 'cursor', '--mcp');
  const { mcpServers } = JSON.parse(at.read('.cursor/mcp.json')) as { mcpServers: Record<string, typeof entry> };
  const { command: program, args } = mcpServers['My docs']!;
  const hello = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18' } };
  const { stdout, status } = spawnSync(program, args, {
    input: `${JSON.stringify(hello)}\n`,
    env: at.env,
    encoding: 'utf8',
  });
  assert.match(stdout, /"name":"scripted"/);
  assert.equal(status, 0);
});
