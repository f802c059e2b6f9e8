/** An agent waits for the start of `run`: a built run loads parsers and prices only when it needs them. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { buildCommand } from '../../built-command.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchgear-loaded-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const built = process.env.BUILT_COMMAND ?? buildCommand(join(folder, 'built'));
const recorder = join(folder, 'recorder.mjs');
writeFileSync(
  recorder,
  `import { appendFileSync } from 'node:fs';
  import { registerHooks } from 'node:module';
  const record = (url) => appendFileSync(process.env.LOG, url + '\\n');
  registerHooks({ load(url, context, next) { record(url); return next(url, context); } });`,
);

/** The packages that a run loads, and what it prints. */
function run(words: readonly string[], policy?: string) {
  const home = mkdtempSync(join(folder, 'home-'));
  const log = join(home, 'loaded.txt');
  if (policy !== undefined) writeFileSync(join(home, 'switchgear.toml'), policy);
  const { status, stderr } = spawnSync(process.execPath, ['--import', recorder, built, 'run', ...words], {
    cwd: home,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: home, LOG: log },
  });
  const found = readFileSync(log, 'utf8').matchAll(/\/node_modules\/(yaml|smol-toml|@pydantic\/genai-prices)\//g);
  return { status, stderr, packages: [...new Set([...found].map(([, name]) => name))] };
}

test('a run without a policy and without usage loads neither a parser nor prices', () => {
  const { status, stderr, packages } = run(['--', process.execPath, '-e', '0']);
  assert.equal(status, 0, stderr);
  assert.deepEqual(packages, []);
});

test('a policy in TOML loads its parser, and its errors are named', () => {
  const { status, stderr, packages } = run(['--', process.execPath, '-e', '0'], '[task\n');
  assert.notEqual(status, 0);
  assert.match(stderr, /not valid TOML: .*line 1/);
  assert.deepEqual(packages, ['smol-toml']);
});
