/** Commands in a PID namespace of their own. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { containCommand } from '../../src/supervisor/containment.ts';

const cannotContain = spawnSync('unshare', ['--user', '--pid', '--fork', '--mount-proc', 'true']).status !== 0;

test('a contained command keeps its arguments and its exit code, and sees its own processes only', {
  skip: cannotContain && 'this system allows no PID namespace',
}, () => {
  const script = 'ls -d /proc/[0-9]* | wc -l; printf "%s|" "$@"; exit 7';
  const [program = '', ...args] = containCommand(['sh', '-c', script, 'sh', 'a b', '', '"; exit 3'], process.env);
  const { status, stdout } = spawnSync(program, args, { encoding: 'utf8' });
  const [count, words] = stdout.split('\n');
  assert.deepEqual([status, words], [7, 'a b||"; exit 3|']);
  assert.ok(Number(count) < 10, stdout);
});

test('where no program can contain a command, the reason is named and nothing runs', () => {
  assert.throws(() => containCommand(['true'], { PATH: '/nonexistent' }), {
    code: 'contain_unavailable',
    message: /--contain cannot be used here \((it needs Linux|bwrap is not installed; unshare is not installed)\)/,
  });
});
