/** A disk that is full: the library overspends nothing, hooks refuse, and `run` does not start. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createSwitchgear, isRefused } from '../../../src/index.ts';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';
import { bin } from '../../harness/switchgear-bin.ts';
import { bash } from '../../hooks/hook-session.ts';
import { countAttempts, notTried } from './attempts.ts';

/** A small file system of its own; undefined where it cannot be mounted. */
function smallDisk(context: TestContext): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-attack-'));
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m,mode=0700', 'none', folder]).status === 0;
  context.after(() => {
    if (mounted) spawnSync('umount', ['-l', folder]);
    rmSync(folder, { recursive: true, force: true });
  });
  return mounted ? folder : undefined;
}

const call = { session_id: 's', ...bash('c', 'ls').pre };

/** Takes all that is left. */
function fill(folder: string): void {
  for (let size = 1 << 20; size >= 1; size >>= 1) {
    try {
      for (let at = 0; ; at++) writeFileSync(join(folder, `fill-${size}-${at}`), Buffer.alloc(size));
    } catch {
      // The next, smaller piece.
    }
  }
}

const command = (folder: string, args: readonly string[], input = '') => {
  const env = { HOME: folder, PATH: process.env.PATH, SWITCHGEAR_STORE: `sqlite:${join(folder, 'state.db')}` };
  return spawnSync(process.execPath, [bin, ...args], { cwd: tmpdir(), env, input, encoding: 'utf8' });
};

test('held: on a full disk no budget is overspent, hooks refuse and run does not start', async (context) => {
  const folder = smallDisk(context);
  if (folder === undefined) return notTried(context, 'a full disk: a tmpfs cannot be mounted');
  const policy = { budgets: [{ scope: 'project', unit: 'calls', limit: 40 }] } as const;
  const open = () => {
    const store = sqliteStore({ path: join(folder, 'state.db') });
    return createSwitchgear({ store, policy, env: {}, log: 'silent', project: 'p', agent: 'A' });
  };
  let ran = 0;
  const gears = [open(), open()];
  const tools = gears.map((gear) => gear.guard('t', async (_: number) => ++ran));
  for (let at = 0; at < 5; at++) for (const tool of tools) await tool(at);
  fill(folder);
  for (let at = 0; at < 60; at++) {
    const values = await Promise.all(tools.map((tool) => tool(100 + at)));
    if (values.every(isRefused)) break;
  }
  for (const gear of gears) gear.dispose();
  assert.ok(ran <= 40, `${ran} of 40 were spent`);

  rmSync(join(folder, 'state.db'), { force: true });
  for (const end of ['-wal', '-shm']) rmSync(join(folder, `state.db${end}`), { force: true });
  fill(folder);
  const hook = command(folder, ['hook', 'claude-code'], JSON.stringify(call));
  assert.ok(hook.status === 2 || hook.stdout.includes('"deny"'), `the hook let it pass: ${hook.stdout}${hook.stderr}`);

  const mark = join(tmpdir(), `switchgear-attack-mark-${process.pid}`);
  const run = command(folder, ['run', '--quiet', '--', 'touch', mark]);
  const started = spawnSync('test', ['-e', mark]).status === 0;
  rmSync(mark, { force: true });
  assert.ok(run.status === 2 && !started, `run started on a full disk: ${run.status} ${run.stderr}`);
  countAttempts(context, 3);
});

test('held: with a limit on the size of files a hook refuses, and allows again without it', (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-attack-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const env = { HOME: folder, PATH: process.env.PATH, SWITCHGEAR_STORE: `sqlite:${join(folder, 'state.db')}` };
  const hook = (before: string) => {
    const words = ['-c', `${before}exec "$0" "$@"`, process.execPath, bin, 'hook', 'claude-code'];
    return spawnSync('sh', words, { cwd: folder, env, input: JSON.stringify(call), encoding: 'utf8' });
  };
  const limited = hook('trap "" XFSZ; ulimit -f 8; ');
  assert.ok(!/\n\s+at .*:\d+:\d+/.test(limited.stderr), limited.stderr);
  assert.ok(limited.status === 2 || limited.stdout.includes('"deny"'), `${limited.status} ${limited.stdout}`);
  const after = hook('');
  assert.deepEqual([after.status, after.stdout.includes('"deny"')], [0, false], after.stdout);
  countAttempts(context, 1);
});
