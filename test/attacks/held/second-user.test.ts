/** Another user of the machine: reads nothing of a store, signals nothing, and plants nothing that is taken. */

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { test } from 'node:test';
import { sourceBin } from '../../harness/switchgear-bin.ts';
import { type Attempts, holdAll, notTried, waitFor } from './attempts.ts';

/** A user id that owns nothing here; no account is needed to run as it. */
const stranger = 54_321;

const as = (uid: number, args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  spawnSync('setpriv', ['--reuid', `${uid}`, '--regid', `${uid}`, '--clear-groups', '--', ...args], {
    env: { PATH: [dirname(process.execPath), process.env.PATH].join(delimiter), HOME: '/nonexistent', ...env },
    encoding: 'utf8',
    cwd: '/',
  });

test('held: another user cannot read, write, replace or signal what belongs to this one', async (context) => {
  if (process.getuid?.() !== 0 || as(stranger, ['true']).status !== 0)
    return notTried(context, 'a second user: needs root and setpriv');
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-attack-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o755);
  const state = join(folder, 'state', 'switchgear', 'state.db');
  const env = {
    HOME: folder,
    XDG_STATE_HOME: join(folder, 'state'),
    PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
  };
  const child = spawn(process.execPath, [sourceBin, 'run', '--quiet', '--', 'sleep', '600'], {
    cwd: folder,
    env,
    stdio: 'ignore',
  });
  context.after(() => child.kill('SIGKILL'));
  await waitFor('the run is under way', () => statSync(state, { throwIfNoEntry: false }) !== undefined);
  const attacks: Attempts<readonly string[]> = [
    ['reads the store', ['cat', state]],
    ['reads its log', ['cat', `${state}-wal`]],
    ['lists its folder', ['ls', dirname(state)]],
    ['writes to it', ['sh', '-c', `echo x >> '${state}'`]],
    ['deletes it', ['rm', '-f', state]],
    ['puts another in its place', ['mv', '/dev/null', state]],
    ['reads the environment of the run', ['cat', `/proc/${child.pid}/environ`]],
    ['stops the run', ['kill', '-STOP', `${child.pid}`]],
    ['ends the run', ['kill', '-9', `${child.pid}`]],
    ['reads what the run has open', ['ls', `/proc/${child.pid}/fd`]],
    ['plants a policy', ['sh', '-c', `echo 'mode = "observe"' > '${folder}/switchgear.toml'`]],
  ];
  await holdAll(context, attacks, (args) => {
    const { status, stdout } = as(stranger, args);
    const isGone = args[0] === 'rm' && statSync(state, { throwIfNoEntry: false }) === undefined;
    assert.ok(status !== 0 && !isGone, `it worked: ${stdout.slice(0, 200)}`);
    assert.equal(stdout, '');
  });
  assert.equal(child.exitCode, null, 'the run has ended');

  const readable = process.execPath.split('/').slice(0, 3).join('/');
  const node = as(stranger, [process.execPath, '--version']);
  if (node.status !== 0) return notTried(context, `the command as a second user: it cannot read ${readable}`);
  const own = mkdtempSync(join(tmpdir(), 'switchgear-attack-'));
  context.after(() => rmSync(own, { recursive: true, force: true }));
  chmodSync(own, 0o777);
  writeFileSync(join(own, 'kept'), '');
  const halt = as(stranger, [process.execPath, sourceBin, 'halt', '--all', '--store', `sqlite:${state}`], {
    HOME: own,
  });
  assert.notEqual(halt.status, 0, halt.stdout);
  assert.equal(child.exitCode, null, 'another user halted the run');
});
