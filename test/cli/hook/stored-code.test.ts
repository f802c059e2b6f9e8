/** A built hook stores the code that V8 compiled, for the hooks after it. V8 runs such code unchecked. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { buildCommand } from '../../built-command.ts';
import { bash } from '../../hooks/hook-session.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchgear-code-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const built = process.env.BUILT_COMMAND ?? buildCommand(join(folder, 'built'));

/** An installed command with a home of its own. */
function install(context: TestContext) {
  const home = mkdtempSync(join(folder, 'home-'));
  context.after(() => rmSync(home, { recursive: true, force: true }));
  const bin = join(home, 'bin', 'switchgear.cjs');
  const file = join(home, 'dist', 'cli', 'hook.cjs');
  const cache = join(home, '.cache', 'switchgear');
  cpSync(built, bin);
  cpSync(join(dirname(built), '../dist/cli/hook.cjs'), file);
  let calls = 0;
  const run = (command: string) => {
    const { status, signal, stdout, stderr } = spawnSync(process.execPath, [bin, 'hook', 'claude-code'], {
      cwd: home,
      encoding: 'utf8',
      env: { PATH: process.env.PATH, HOME: home },
      input: JSON.stringify({ session_id: 's-1', cwd: home, ...bash(`c${calls++}`, command).pre }),
    });
    assert.deepEqual({ status, signal, stderr }, { status: 0, signal: null, stderr: '' });
    return stdout;
  };
  const listCode = () => readdirSync(cache).filter((name) => name.startsWith('hook-'));
  return { home, file, run, listCode, codeFile: () => join(cache, listCode()[0]!) };
}

test('hooks with stored code answer as the first one did, and the folder keeps one file', (context) => {
  const { home, run, listCode, codeFile } = install(context);
  const refused = run(`rm -rf ${home}/.cache/switchgear`);
  assert.match(refused, /"permissionDecision":"(deny|ask)"/);
  const { size } = statSync(codeFile());
  for (let round = 0; round < 2; round++) {
    assert.equal(run('ls'), '');
    assert.equal(run(`rm -rf ${home}/.cache/switchgear`), refused);
  }
  assert.equal(listCode().length, 1);
  assert.ok(statSync(codeFile()).size > size, 'the functions of the other hooks were added');
  if (process.getuid !== undefined) assert.equal(statSync(codeFile()).mode & 0o777, 0o600);
});

test('damaged code is not run, and is replaced', (context) => {
  const { run, codeFile } = install(context);
  run('ls');
  const damages: readonly ((code: Buffer) => Buffer)[] = [
    (code) => code.fill(0xa5, code.length >> 2, (code.length >> 2) + 4_096),
    (code) => code.subarray(0, code.length >> 1),
    (code) => code.fill(0),
    () => Buffer.alloc(0),
  ];
  for (const damage of damages) {
    const damaged = Buffer.from(damage(readFileSync(codeFile())));
    writeFileSync(codeFile(), damaged);
    assert.equal(run('ls'), '');
  }
  const code = readFileSync(codeFile());
  const length = (code.length - 1) / 2;
  assert.ok(length > 1_000 && code.subarray(0, length).equals(code.subarray(length, -1)));
});

test('a changed file of the hook does not run with the code of the file before', (context) => {
  const { home, file, run, listCode } = install(context);
  const before = run(`rm -rf ${home}/.cache/switchgear`);
  const { atime, mtimeMs } = statSync(file);
  // V8 compares nothing but the length, which stays.
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll('only a person may', 'just a person may'));
  utimesSync(file, atime, new Date(mtimeMs + 2_000));
  assert.equal(run(`rm -rf ${home}/.cache/switchgear`), before.replaceAll('only a person may', 'just a person may'));
  assert.match(before, /only a person may/);
  assert.equal(listCode().length, 2);
});

test('a hook that cannot store its code answers all the same', { skip: process.platform === 'win32' }, (context) => {
  const { home, run } = install(context);
  writeFileSync(join(home, '.cache'), 'no folder');
  assert.equal(run('ls'), '');
  assert.equal(run('ls'), '');
});
