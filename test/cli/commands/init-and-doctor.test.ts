/** `switchgear init` and `switchgear doctor`: our hooks come into the settings of others, and leave nothing behind. */

import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { main } from '../../../src/cli/main.ts';
import { startScriptedModel } from '../../../src/hooks/install/scripted-model.ts';
import { insertHookHandlers, removeHookHandlers } from '../../../src/hooks/install/settings-files.ts';

function home(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-init-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return {
    path: (name: string) => join(folder, name),
    put(name: string, text: string) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    },
    read: (name: string) => readFileSync(join(folder, name), 'utf8'),
    async run(...args: readonly string[]) {
      const out: string[] = [];
      const err: string[] = [];
      const env = { HOME: folder, PATH: [join(folder, 'work'), process.env.PATH].join(delimiter) };
      const output = { out: (line: string) => out.push(line), err: (line: string) => err.push(line) };
      const code = await main(args, { ...output, cwd: join(folder, 'work'), env });
      return { code, out: out.join('\n'), err: err.join('\n') };
    },
  };
}

interface Handler {
  readonly command?: string;
  readonly onFailure?: string;
  readonly timeout?: number;
  readonly url?: string;
}

function handlers(text: string): Readonly<Record<string, readonly { readonly hooks: readonly Handler[] }[]>> {
  return (JSON.parse(text) as { hooks: ReturnType<typeof handlers> }).hooks;
}

const mine = `{
  // my own words
  "model": "opus",
  "hooks": {
    "PreToolUse": [
      { "matcher": "Bash", "hooks": [ { "type": "command", "command": "my.sh" } ] }
    ]
  },
  "permissions": { "allow": ["Bash"] } /* kept */
}
`;

test('init adds hooks once beside existing settings, prints them, and makes them fail closed', async (context) => {
  const at = home(context);
  const path = '.claude/settings.json';
  at.put(path, mine);
  const { code, out } = await at.run('init', 'claude-code');
  assert.equal(code, 0);
  assert.match(out, /^\+ .*"onFailure": "block"/m);
  const text = at.read(path);
  assert.ok(text.includes('// my own words') && text.includes('/* kept */'));
  const guards = handlers(text.replace(/\/\/ my own words|\/\* kept \*\//g, '')).PreToolUse ?? [];
  assert.equal(guards.length, 2);
  assert.equal(guards[0]?.hooks[0]?.command, 'my.sh');
  assert.match(guards[1]?.hooks[0]?.command ?? '', /exec sh "\$s" hook claude-code$/);
  assert.equal(guards[1]?.hooks[0]?.onFailure, 'block');
  assert.match((await at.run('init', 'claude-code')).out, /nothing to change/);
  assert.equal(at.read(path), text);
});

test('undo restores the settings byte for byte', async (context) => {
  const at = home(context);
  const path = '.claude/settings.json';
  for (const text of [mine, '{}', '{"hooks":{}}\n', '{\n\t"hooks": {\n\t\t"Stop": []\n\t}\n}']) {
    at.put(path, text);
    await at.run('init', 'claude-code');
    assert.notEqual(at.read(path), text);
    await at.run('init', 'claude-code', '--undo');
    assert.equal(at.read(path), text);
  }
});

test('undo deletes a file that init created, and keeps changes that others made since', async (context) => {
  const at = home(context);
  await at.run('init', 'gemini');
  await at.run('init', 'gemini', '--undo');
  assert.equal(existsSync(at.path('.gemini/settings.json')), false);
  await at.run('init', 'gemini');
  at.put('.gemini/settings.json', at.read('.gemini/settings.json').replace('{', '{\n  "theme": "dark",'));
  await at.run('init', 'gemini', '--undo');
  assert.deepEqual(JSON.parse(at.read('.gemini/settings.json')), { theme: 'dark' });
});

test('without a backup, undo removes only the hooks of Switchgear', () => {
  const plan = { run: { command: 'switchgear', more: '' }, timeoutSecs: 60 };
  for (const host of ['claude-code', 'codex', 'gemini'] as const) {
    assert.equal(removeHookHandlers(insertHookHandlers(mine, host, plan), host), mine);
    const once = insertHookHandlers(mine, host, plan);
    assert.equal(insertHookHandlers(once, host, plan), once);
  }
});

test('init writes the events and the time unit of each host', async (context) => {
  const at = home(context);
  await at.run('init', 'codex');
  await at.run('init', 'gemini', '--project');
  const codex = handlers(at.read('.codex/hooks.json'));
  assert.deepEqual(Object.keys(JSON.parse(at.read('.codex/hooks.json'))), ['hooks']);
  assert.equal(codex.PreToolUse?.[0]?.hooks[0]?.timeout, 60);
  assert.equal(codex.SessionEnd?.[0]?.hooks[0]?.timeout, 3);
  const gemini = handlers(at.read('work/.gemini/settings.json'));
  assert.equal(gemini.BeforeTool?.[0]?.hooks[0]?.timeout, 60_000);
  const shared = gemini.BeforeTool?.[0]?.hooks[0]?.command ?? '';
  assert.match(shared, /command -v switchgear.* hook gemini$/);
  assert.ok(!shared.includes(at.path('')), 'no path of this machine');
});

test('init accepts a hook server instead of a command only for Claude Code', async (context) => {
  const at = home(context);
  assert.equal((await at.run('init', 'codex', '--http', 'http://127.0.0.1:1')).code, 2);
  const { out } = await at.run('init', 'claude-code', '--http', 'http://127.0.0.1:4321/');
  const output = out.trim().split('\n').at(-1) ?? '';
  assert.match(
    output,
    /^Every call is blocked unless a server of yours answers at http:\/\/127\.0\.0\.1:4321\/hooks\/claude-code /,
  );
  const [guard] = handlers(at.read('.claude/settings.json')).PreToolUse ?? [];
  assert.deepEqual(guard?.hooks[0], {
    type: 'http',
    url: 'http://127.0.0.1:4321/hooks/claude-code',
    timeout: 60,
    onFailure: 'block',
  });
});

test('invalid settings are not changed, and the error is reported', async (context) => {
  const at = home(context);
  at.put('.claude/settings.json', '{ "hooks": [');
  const { code, err } = await at.run('init', 'claude-code');
  assert.equal(code, 1);
  assert.match(err, /settings\.json cannot be changed: a closing bracket is missing at the end of the file in line 1/);
  assert.equal(at.read('.claude/settings.json'), '{ "hooks": [');
});

test('doctor reports missing hooks and removed events', async (context) => {
  const at = home(context);
  mkdirSync(at.path('work'));
  const missing = await at.run('doctor', 'codex');
  assert.equal(missing.code, 1);
  assert.match(missing.out, /FAIL {2}codex: no Switchgear hooks/);
  assert.match((await at.run('init', 'codex')).out, /Codex does not end a run that a hook halts before a call/);
  assert.match((await at.run('doctor', 'codex')).out, /ok {4}codex: Codex does not end a run/);
  const { hooks } = JSON.parse(at.read('.codex/hooks.json')) as { hooks: Record<string, unknown> };
  at.put('.codex/hooks.json', JSON.stringify({ hooks: { ...hooks, Stop: undefined } }));
  assert.match((await at.run('doctor', 'codex')).out, /FAIL {2}codex: .*lacks hooks for Stop/);
});

test('doctor runs the installed hook command and checks that a call is refused', async (context) => {
  const at = home(context);
  mkdirSync(at.path('work'));
  const entry = new URL('../../hooks/hook-process.ts', import.meta.url).pathname;
  const plan = { run: { command: `${process.execPath} ${entry} switchgear`, more: '' }, timeoutSecs: 60 };
  at.put('.claude/settings.json', insertHookHandlers('', 'claude-code', plan));
  const well = await at.run('doctor', 'claude-code');
  assert.match(well.out, /ok {4}claude-code: the installed hook allows a first call and refuses/);
  assert.equal(well.code, 0);
  const open = insertHookHandlers('', 'claude-code', { ...plan, run: { command: 'true switchgear', more: '' } });
  at.put('.claude/settings.json', open.replace('"block"', '"continue"'));
  const bad = await at.run('doctor', 'claude-code');
  assert.equal(bad.code, 1);
  assert.match(bad.out, /a call beyond the limit was not refused/);
  assert.match(bad.out, /a failing hook lets the call run/);
});

test('doctor starts the real program and checks by its side effects whether a refused call ran', async (context) => {
  const at = home(context);
  const entry = new URL('../../hooks/hook-process.ts', import.meta.url).pathname;
  const plan = { run: { command: `${process.execPath} ${entry} switchgear`, more: '' }, timeoutSecs: 60 };
  at.put('.claude/settings.json', insertHookHandlers('', 'claude-code', plan));
  const stories = [
    { does: 'echo one > one', ok: true, says: /ran the first call and did not run the second/ },
    { does: 'echo one > one; echo two > two', ok: false, says: /ran a refused call/ },
    { does: 'echo "no key" >&2; exit 1', ok: false, says: /ran no call: no key/ },
  ];
  for (const { does, ok, says } of stories) {
    at.put('work/claude', `#!/bin/sh\n${does}\n`);
    chmodSync(at.path('work/claude'), 0o755);
    const { code, out } = await at.run('doctor', 'claude-code', '--real');
    assert.match(out, says);
    assert.equal(code, ok ? 0 : 1);
  }
});

test('doctor names the program that is not on the PATH', async (context) => {
  const at = home(context);
  mkdirSync(at.path('work'));
  await at.run('init', 'claude-code');
  const plain = await at.run('doctor', 'claude-code');
  assert.deepEqual([plain.code, plain.out.split('\n').at(-1)], [0, 'note  claude-code: claude is not on PATH']);
  const { code, out } = await at.run('doctor', 'claude-code', '--real');
  assert.equal(code, 1);
  assert.match(out, /^FAIL {2}claude-code: claude is not on PATH: the real program cannot be tested$/m);
  rmSync(at.path('.local/state/switchgear/command'), { recursive: true });
  assert.match((await at.run('doctor', 'claude-code')).out, /^FAIL .*did not pass: Switchgear is gone: calls are not/m);
});

test('the model server of doctor requests its commands in both API formats, and then finishes', async (context) => {
  for (const path of ['/v1/messages', '/v1/responses']) {
    const model = await startScriptedModel(['echo one', 'echo two']);
    context.after(model.close);
    const ask = async (body: string) => (await fetch(model.url + path, { method: 'POST', body })).text();
    assert.doesNotMatch(await ask('{"tools":[]}'), /echo/);
    assert.match(await ask('{"tools":[{}]}'), /echo one/);
    assert.match(await ask('{"tools":[{}]}'), /echo two/);
    assert.match(await ask('{"tools":[{}]}'), /done/);
  }
});
