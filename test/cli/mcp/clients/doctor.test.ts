/** `switchgear doctor` calls a failing tool through every configured proxy, and names the servers without one. */

import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { main } from '../../../../src/cli/main.ts';
import { bin } from '../../../harness/switchgear-bin.ts';

function createHome(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-clients-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const put = (name: string, text: string) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  };
  put('bin/switchgear', `#!/bin/sh\nexec ${process.execPath} ${bin} "$@"\n`);
  chmodSync(join(folder, 'bin/switchgear'), 0o755);
  mkdirSync(join(folder, 'work'));
  const env = { HOME: folder, PATH: [join(folder, 'bin'), process.env.PATH].join(delimiter) };
  return {
    put,
    doctor: (...args: readonly string[]) => runDoctor('work', args),
    doctorIn: (place: string, ...args: readonly string[]) => runDoctor(place, args),
  };
  async function runDoctor(place: string, args: readonly string[]) {
    const out: string[] = [];
    const output = { out: (line: string) => out.push(line), err: (line: string) => out.push(line) };
    const code = await main(['doctor', ...args], { ...output, cwd: join(folder, place), env });
    return { code, out: out.join('\n') };
  }
}

/** An entry whose own server could not even be started. */
const proxied = {
  command: 'switchgear',
  args: ['mcp', '--name', 'docs', '--', '/none/server'],
};

test('doctor sees that a configured proxy refuses, without the server of the user', async (context) => {
  const at = createHome(context);
  const servers = { docs: proxied, files: { command: 'npx', args: ['files'] } };
  at.put('work/.cursor/mcp.json', JSON.stringify({ mcpServers: servers }));
  at.put('.codex/config.toml', '[mcp_servers.db]\ncommand = "switchgear"\nargs = ["mcp", "--", "db"]\n');
  const { code, out } = await at.doctor('cursor');
  assert.match(out, /^ok {4}cursor: the proxy of docs refuses call 6 of a tool after 5 failures$/m);
  assert.match(out, /^note {2}cursor: the proxy of docs: the command of its server is not found: "\/none\/server"$/m);
  assert.match(out, /^note {2}cursor: .*mcp\.json: without the proxy: files; switchgear init cursor --mcp --project$/m);
  assert.doesNotMatch(out, /codex/);
  assert.equal(code, 0);
  at.put('work/switchgear.toml', '[circuit_breaker]\nfailure_threshold = 2\n');
  assert.match((await at.doctor('codex', '--mcp')).out, /codex: the proxy of db refuses call 3 of a tool after 2 fail/);
});

test('in the home folder each file is read once', async (context) => {
  const at = createHome(context);
  at.put('.cursor/mcp.json', JSON.stringify({ mcpServers: { docs: proxied } }));
  const { out } = await at.doctorIn('', 'cursor');
  assert.equal(out.match(/the proxy of docs refuses call 6/g)?.length, 1);
});

test('doctor finds a proxy that refuses nothing and one that does not start', async (context) => {
  const at = createHome(context);
  // A variable of the entry switches the proxy off, which the policy of the folder does not say.
  at.put('off.toml', 'mode = "observe"\n');
  const off = { ...proxied, env: { SWITCHGEAR_POLICY: join('..', 'off.toml'), TOKEN: 'secret' } };
  const gone = { ...proxied, command: '/none/bin/switchgear' };
  at.put('.cursor/mcp.json', JSON.stringify({ mcpServers: { off, gone } }));
  const { code, out } = await at.doctor('--mcp');
  assert.equal(code, 1);
  assert.match(out, /^FAIL {2}cursor: the proxy of off passed a call of a tool that had failed 5 times$/m);
  assert.match(out, /^FAIL {2}cursor: the proxy of gone does not answer: .*ENOENT/m);
});

test('doctor --mcp tests the proxy of this installation where no client uses one', async (context) => {
  const at = createHome(context);
  at.put('.cursor/mcp.json', '{ "mcpServers": ');
  const { code, out } = await at.doctor('--mcp');
  assert.match(out, /^ok {4}the proxy of this installation refuses call 6 of a tool after 5 failures$/m);
  assert.match(out, /^note {2}cursor: .*mcp\.json: unexpected "" in line 1$/m);
  assert.equal(code, 0);
  assert.match((await at.doctor('cursr')).out, /got 'cursr'; did you mean cursor\?/);
});

test('doctor finds proxies whose policy cannot be read, or whose store cannot be opened', async (context) => {
  const at = createHome(context);
  at.put('work/bad.toml', 'mode = "x"\n[taks]\na = 1\n');
  at.put('work/deny.toml', '[mcp.tools]\ndeny = ["*"]\n');
  const start = (...options: readonly string[]) => ({ command: 'switchgear', args: ['mcp', ...options, '--', 'npx'] });
  const servers = {
    nofile: start('--policy', '/nope.toml'),
    bad: start('--policy', 'bad.toml'),
    byclient: start('--policy', '${workspaceFolder}/policy.toml'),
    nostore: start('--store', 'sqlite:bad.toml/x.db'),
    noaddress: { ...start(), env: { SWITCHGEAR_STORE: 'x.db' } },
    denied: start('--policy', 'deny.toml'),
    nocommand: { command: 'switchgear', args: ['mcp', '--', 'no-such-command'] },
  };
  at.put('work/.cursor/mcp.json', JSON.stringify({ mcpServers: servers }));
  const { code, out } = await at.doctor('cursor');
  assert.equal(code, 1);
  const lines = (name: string) => out.split('\n').filter((line) => line.includes(`the proxy of ${name}`));
  assert.match(
    lines('nofile').join('|'),
    /^FAIL {2}cursor: .* of nofile refuses every call: there is no file .*nope\.toml/,
  );
  assert.match(lines('bad').join('|'), /^FAIL .* every call: 2 problems in the policy: taks is not .*; mode must be/);
  assert.match(
    lines('byclient').join('|'),
    /^note {2}cursor: the proxy of byclient is not tested: its client replaces/,
  );
  assert.match(lines('nostore').join('|'), /^FAIL .* every call: the store sqlite:\S* cannot be opened/);
  assert.match(lines('noaddress').join('|'), /^FAIL .* every call: .* must be sqlite:PATH.*got "x\.db"$/);
  assert.match(lines('denied').join('|'), /^ok {4}cursor: the proxy of denied refuses a call by a rule of the policy$/);
  assert.match(lines('nocommand').join('|'), /^ok .* refuses call 6 .*\|note .*is not found: "no-such-command"$/);
});
