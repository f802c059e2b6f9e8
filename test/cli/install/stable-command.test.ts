/** The line of an installed hook, with the installation there, deleted, and gone altogether. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import {
  formatHookProgram,
  formatSharedHookProgram,
  stableCommandPath,
  writeStableCommand,
} from '../../../src/cli/install/stable-command.ts';
import { main } from '../../../src/cli/main.ts';
import { sourceBin } from '../../harness/switchgear-bin.ts';

const hosts = ['claude-code', 'codex', 'gemini'] as const;

/** A folder with a package as the registry has it, whose command prints its own folder and its arguments. */
function installed(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "switchgear's command-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const put = (name: string, text: string) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  };
  const modules = 'project/node_modules';
  const manifest = { name: 'switchgear', version: '1.0.0', files: ['bin', 'dist'], dependencies: { toml: '1' } };
  put(`${modules}/switchgear/package.json`, JSON.stringify(manifest));
  put(
    `${modules}/switchgear/bin/switchgear.cjs`,
    "process.stdout.write([__dirname, require('toml'), ...process.argv.slice(2)].join(' '));",
  );
  put(`${modules}/switchgear/dist/cli/hook.cjs`, '');
  put(`${modules}/toml/package.json`, JSON.stringify({ name: 'toml', dependencies: { deep: '1' } }));
  put(`${modules}/toml/index.js`, "module.exports = `toml with ${require('deep')}`;");
  put(`${modules}/toml/node_modules/deep/package.json`, JSON.stringify({ name: 'deep' }));
  put(`${modules}/toml/node_modules/deep/index.js`, "module.exports = 'deep';");
  const state = join(folder, 'state');
  const bin = join(folder, modules, 'switchgear/bin/switchgear.cjs');
  return { folder, state, bin, put };
}

function sh(line: string, env: Record<string, string> = {}, cwd = '/') {
  const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', line], {
    encoding: 'utf8',
    cwd,
    input: '',
    env: { PATH: '/usr/bin:/bin', ...env },
  });
  return { status, stdout, stderr };
}

for (const host of hosts) {
  test(`${host}: the hook line runs the installation, then its copy, then says that it is gone`, (context) => {
    const { folder, state, bin } = installed(context);
    writeStableCommand(state, bin);
    const line = `${formatHookProgram(stableCommandPath(state), host)} hook ${host} --policy 'a b'`;
    const words = ` toml with deep hook ${host} --policy a b`;
    assert.deepEqual(sh(line), { status: 0, stdout: `${dirname(bin)}${words}`, stderr: '' });

    rmSync(join(folder, 'project'), { recursive: true });
    const copied = sh(line);
    assert.deepEqual([copied.status, copied.stderr], [0, '']);
    assert.match(copied.stdout, /\/state\/command\/copy-\w+\/bin toml with deep hook /);

    for (const name of readdirSync(join(state, 'command')).filter((each) => each.startsWith('copy-')))
      rmSync(join(state, 'command', name), { recursive: true });
    const without = sh(line);
    rmSync(state, { recursive: true });
    for (const answer of [without, sh(line)]) {
      assert.deepEqual([answer.status, answer.stderr], [0, ''], 'the host continues');
      const { systemMessage } = JSON.parse(answer.stdout) as { systemMessage: string };
      assert.match(systemMessage, new RegExp(`^Switchgear is gone: .* npx switchgear init ${host} --undo$`));
    }
  });

  test(`${host}: the shared hook line finds the command of the project, or says that there is none`, (context) => {
    const { folder, put } = installed(context);
    const project = join(folder, 'project');
    put('project/node_modules/.bin/switchgear', '#!/bin/sh\necho "ran $*"\n');
    spawnSync('chmod', ['755', join(project, 'node_modules/.bin/switchgear')]);
    const line = `${formatSharedHookProgram(host)} hook ${host}`;
    const env = { CLAUDE_PROJECT_DIR: project, GEMINI_PROJECT_DIR: project };
    const cwd = host === 'codex' ? project : '/';
    assert.deepEqual(sh(line, env, cwd), { status: 0, stdout: `ran hook ${host}\n`, stderr: '' });
    rmSync(join(project, 'node_modules'), { recursive: true });
    const answer = sh(line, env, cwd);
    assert.deepEqual([answer.status, answer.stderr], [0, '']);
    assert.match(answer.stdout, /^{"systemMessage":"Switchgear is not installed here: calls are not checked/);
  });
}

test('the command finds another Node when its own is gone', (context) => {
  const { state, bin } = installed(context);
  writeStableCommand(state, bin);
  const path = stableCommandPath(state);
  writeFileSync(path, readFileSync(path, 'utf8').replace(/^node=.*$/m, 'node=/gone/node'));
  const line = `sh "${path}" --version`;
  assert.match(sh(line, { PATH: `${dirname(process.execPath)}:/usr/bin:/bin` }).stdout, / --version$/);
});

test('a second installation replaces the copy, and an equal one keeps it', (context) => {
  const { state, bin, put } = installed(context);
  const copies = () => readdirSync(join(state, 'command')).filter((name) => name.startsWith('copy-'));
  writeStableCommand(state, bin);
  const [first] = copies();
  writeStableCommand(state, bin);
  assert.deepEqual(copies(), [first]);
  put('project/node_modules/switchgear/dist/cli/hook.cjs', '// another version');
  writeStableCommand(state, bin);
  assert.equal(copies().length, 1);
  assert.notEqual(copies()[0], first);
});

async function run(home: string, ...args: readonly string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const env = { HOME: home, PATH: dirname(process.execPath) };
  const lines = { out: (line: string) => out.push(line), err: (line: string) => err.push(line) };
  return { code: await main(args, { ...lines, cwd: tmpdir(), env }), out: out.join('\n'), err: err.join('\n') };
}

test('undo works from another installation, and removes the command with the last hooks', async (context) => {
  const { folder } = installed(context);
  await run(folder, 'init', 'claude-code');
  await run(folder, 'init', 'codex');
  const state = join(folder, '.local/state/switchgear');
  assert.ok(existsSync(stableCommandPath(state)));
  const undo = (bin: string, host: string) =>
    spawnSync('sh', [bin, 'init', host, '--undo'], { env: { HOME: folder, PATH: process.env.PATH }, encoding: 'utf8' });
  assert.equal(undo(stableCommandPath(state), 'claude-code').status, 0, 'by the command of the hooks itself');
  assert.ok(existsSync(stableCommandPath(state)), 'Codex still needs it');
  assert.equal((await run(folder, 'init', 'codex', '--undo')).code, 0);
  assert.equal(existsSync(join(state, 'command')), false);
  assert.equal(existsSync(join(folder, '.codex/hooks.json')), false);
  assert.ok(existsSync(sourceBin));
});

for (const [what, prepare, sentence] of [
  ['a home that cannot be written', (home: string) => writeFileSync(home, ''), /: not a directory$/],
  [
    'settings that are a folder',
    (home: string) => mkdirSync(join(home, '.codex/hooks.json'), { recursive: true }),
    /hooks\.json: illegal operation on a directory$/,
  ],
  [
    'a state folder that cannot be written',
    (home: string) => {
      mkdirSync(join(home, '.local'), { recursive: true });
      writeFileSync(join(home, '.local/state'), '');
    },
    /: not a directory$/,
  ],
] as const) {
  test(`init with ${what} fails in one sentence, and shows nothing as done`, async (context) => {
    const home = join(installed(context).folder, 'home');
    prepare(home);
    for (const args of [['init', 'codex']]) {
      const { code, out, err } = await run(home, ...args);
      assert.deepEqual([code, out], [1, '']);
      assert.match(err, /^switchgear: init changed nothing: [^\n]+$/);
      assert.match(err, sentence);
    }
    assert.equal(existsSync(join(home, '.codex/hooks.json')), what === 'settings that are a folder');
  });
}
