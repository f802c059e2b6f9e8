/** The benchmarks start. One table is measured once and briefly; its figures are not judged here. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from './harness/source.ts';

test('the benchmark of the whole guard runs and prints its table', () => {
  const args = ['--expose-gc', join(root, 'bench', 'main.ts'), '--quick', '--only', 'guard'];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  assert.match(stdout, /\| no arguments, no result \|/);
});
