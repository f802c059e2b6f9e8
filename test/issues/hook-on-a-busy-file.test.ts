/** A hook whose store was busy for seconds ended with exit code 0 and no answer: the call ran, and was not counted. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { lockPatienceMs } from '../../src/core/limits.ts';
import { compiled } from '../harness/compiled.ts';
import { bin } from '../harness/switchgear-bin.ts';
import { bash, newSession } from '../hooks/hook-session.ts';

test('a hook process waits until its locked store is free, and the call is counted', async (context) => {
  const { folder, store, send, journal, clear } = newSession();
  context.after(clear);
  await send(bash('c0', 'ls').pre);
  const db = new DatabaseSync(store.slice('sqlite:'.length));
  context.after(() => db.close());
  db.exec('BEGIN IMMEDIATE');
  const env = { ...compiled, PATH: process.env.PATH, HOME: folder, SWITCHGEAR_STORE: store };
  const hook = spawn(process.execPath, [bin, 'hook', 'claude-code'], { cwd: folder, env, stdio: 'pipe' });
  hook.stdin.end(JSON.stringify({ session_id: 's-1', cwd: folder, ...bash('c1', 'pwd').pre }));
  const ended = once(hook, 'close');
  const isFree = new Promise<void>((resolve) => {
    setTimeout(() => {
      db.exec('COMMIT');
      resolve();
    }, lockPatienceMs * 2.5);
  });
  const first = await Promise.race([ended, isFree]);
  assert.equal(first, undefined, 'the hook ended while the file was busy');
  await ended;
  assert.equal(hook.exitCode, 0);
  assert.equal(journal().filter(({ type }) => type === 'action-allowed').length, 2);
});
