/** The command as a file: what it leaves on the machine that starts it. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../harness/source.ts';

test('what is compiled is kept in a folder of the user, and not where others may write', (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-bin-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const [home, shared, cache] = [join(folder, 'home'), join(folder, 'shared'), join(folder, 'cache')];
  for (const each of [home, shared]) mkdirSync(each);
  const start = (more: object) => {
    const env = { PATH: process.env.PATH, HOME: home, TMPDIR: shared, ...more };
    const bin = join(root, 'bin', 'switchgear.cjs');
    const { status, stderr } = spawnSync(process.execPath, [bin, '--version'], { env, encoding: 'utf8' });
    assert.deepEqual([status, stderr], [0, '']);
    assert.deepEqual(readdirSync(shared), []);
  };
  start({});
  assert.ok(existsSync(join(home, '.cache', 'switchgear')));
  start({ XDG_CACHE_HOME: cache });
  assert.ok(existsSync(join(cache, 'switchgear')));
});

test('of the warnings of Node only that SQLite is experimental is held back', (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-bin-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const warnings = join(folder, 'warnings.cjs');
  const lines = [
    "process.emitWarning('SQLite is an experimental feature and might change at any time', 'ExperimentalWarning');",
    "process.emitWarning('Another is an experimental feature', 'ExperimentalWarning');",
    "process.emitWarning('SQLite is slow');",
  ];
  writeFileSync(warnings, lines.join('\n'));
  const bin = join(root, 'bin', 'switchgear.cjs');
  const args = ['--require', warnings, bin, 'tail', '--store', `sqlite:${join(folder, 'state.db')}`];
  const { stderr } = spawnSync(process.execPath, args, {
    env: { PATH: process.env.PATH, HOME: folder },
    encoding: 'utf8',
  });
  const said = stderr.split('\n').filter((line) => /Warning: /.test(line));
  assert.deepEqual(
    said.map((line) => line.replace(/^\(node:\d+\) /, '')),
    ['ExperimentalWarning: Another is an experimental feature', 'Warning: SQLite is slow'],
  );
});
