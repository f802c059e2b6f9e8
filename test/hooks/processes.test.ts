/** Hooks as processes of their own: side by side, killed on the way, and under a run. */

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { hookPayloadBytesMax, lockPatienceMs } from '../../src/core/limits.ts';
import { sqliteStore } from '../../src/stores/sqlite.ts';
import { hookedRun } from '../../src/supervisor/hooked-run.ts';
import { thisProcess } from '../../src/supervisor/run-record.ts';
import { outputOf } from '../child-output.ts';
import { bin } from '../switchgear-bin.ts';
import { bash, type Event, type HookSession, newSession, runAround, type Said, stop } from './session.ts';

function session(context: TestContext): HookSession {
  const made = newSession();
  context.after(made.clear);
  return made;
}

function start({ folder, store }: HookSession, event: Event) {
  const env = { PATH: process.env.PATH, SWITCHGEAR_STORE: store };
  const child = spawn(process.execPath, [bin, 'hook', 'claude-code'], { cwd: folder, env, stdio: 'pipe' });
  const { out } = outputOf(child);
  const answered = new Promise<Said | undefined>((resolve, reject) => {
    child.on('close', (code, signal) => {
      if (signal !== null) resolve(undefined);
      else if (code !== 0) reject(new Error(`exit code ${code}`));
      else resolve(out() === '' ? undefined : (JSON.parse(out()) as Said));
    });
  });
  child.stdin.on('error', () => {}); // It may be killed before it has read.
  child.stdin.end(JSON.stringify({ session_id: 's-1', cwd: folder, ...event }));
  return { child, answered };
}

test('six hooks at once are each counted once', async (context) => {
  const made = session(context);
  const calls = Array.from({ length: 6 }, (_, at) => bash(`c${at}`, `echo ${at}`));
  const answers = await Promise.all(calls.map(({ pre }) => start(made, pre).answered));
  assert.deepEqual(answers, Array(6).fill(undefined));
  await Promise.all(calls.map(({ post }) => start(made, post).answered));
  const journal = made.journal();
  assert.equal(journal.filter(({ type }) => type === 'task-started').length, 1);
  assert.equal(journal.filter(({ type }) => type === 'action-allowed').length, 6);
  assert.equal(journal.filter(({ type }) => type === 'action-settled').length, 6);
});

test('a payload without end is not read to its end', (context) => {
  const made = session(context);
  const endless = `head -c ${2 * hookPayloadBytesMax} /dev/zero | "$0" "$1" hook claude-code`;
  const { status, stderr } = spawnSync('sh', ['-c', endless, process.execPath, bin], { cwd: made.folder });
  assert.deepEqual([status, String(stderr)], [1, 'switchgear: hook: what came on stdin is too long\n']);
});

test('hooks that are killed on the way lose no turn for good and let nothing through uncounted', async (context) => {
  const made = session(context);
  for (let round = 0; round < 8; round++) {
    const { child, answered } = start(made, bash(`k${round}`, `echo ${round}`).pre);
    // Somewhere between its start and its end: each round a little later.
    setTimeout(() => child.kill('SIGKILL'), 60 + round * 40);
    await answered;
  }
  const { answered } = start(made, bash('last', 'ls').pre);
  assert.equal(await answered, undefined);
  const allowed = made.journal().filter(({ type }) => type === 'action-allowed');
  assert.ok(allowed.length >= 1 && allowed.length <= 9, `${allowed.length} were counted`);
  const ids = allowed.map((entry) => JSON.stringify('action' in entry && entry.action));
  assert.equal(new Set(ids).size, allowed.length);
});

test('below a run a hook counts on its task, tells nothing twice, and has the run halt it', async (context) => {
  const made = session(context);
  runAround(made, 't-run');
  const env = { SWITCHGEAR_TASK: 't-run', SWITCHGEAR_SESSION: 's-run', SWITCHGEAR_TASK_MAX_TOOL_CALLS: '1' };
  await made.send(bash('c1', 'ls').pre, env);
  await made.send(bash('c1', 'ls').post, env);
  const types = made.journal().map(({ type }) => type);
  assert.deepEqual(
    types.filter((type) => type !== 'setting-ignored'),
    [],
    'what is counted there is not told twice',
  );
  assert.equal((await made.send(bash('c2', 'pwd').pre, env)).said?.continue, false);
  const told = made.journal().map(({ type }) => type);
  assert.ok(told.includes('action-refused') && !told.includes('task-halted'), 'the run tells of its halt');
  assert.deepEqual(made.cards(), []);
  const store = sqliteStore({ path: made.store.slice('sqlite:'.length) });
  context.after(() => store.close());
  store.shared.refresh();
  const { tools, halt } = hookedRun(store, 't-run').state;
  assert.deepEqual([tools, halt?.name, halt?.stop.code], [['Bash'], 'Bash', 'tool_call_limit']);
});

test('what outlives its run, or was never heard of there, is told by hooks alone', async (context) => {
  const gone = { owner: { ...thisProcess(), began: 'before' } };
  for (const change of [gone, { state: 'halted' }, undefined] as const) {
    const made = session(context);
    if (change !== undefined) runAround(made, 't-run', change);
    const env = { SWITCHGEAR_TASK: 't-run', SWITCHGEAR_SESSION: 's-run', SWITCHGEAR_TASK_MAX_TOOL_CALLS: '1' };
    await made.send(bash('c1', 'ls').pre, env);
    assert.equal((await made.send(bash('c2', 'pwd').pre, env)).said?.continue, false);
    assert.ok(made.journal().some(({ type, task }) => type === 'task-halted' && task === 't-run'));
    assert.deepEqual(
      made.cards().map(({ kind, code }) => [kind, code]),
      [['halt', 'tool_call_limit']],
    );
  }
});

test('a budget that many share is the run’s to count, and that of hooks where the run is gone', async (context) => {
  for (const [state, wanted] of [
    ['running', undefined],
    ['lost', false],
  ] as const) {
    const made = session(context);
    writeFileSync(join(made.folder, 'switchgear.toml'), '[[budgets]]\nscope = "session"\nunit = "calls"\nlimit = 1\n');
    runAround(made, 't-run', { state });
    const env = { SWITCHGEAR_TASK: 't-run', SWITCHGEAR_SESSION: 's-run' };
    await made.send(bash('c1', 'ls').pre, env);
    assert.equal((await made.send(bash('c2', 'pwd').pre, env)).said?.continue, wanted, state);
  }
});

test('the task of a run ends when the run says so, and one that is tried again begins anew', async (context) => {
  const made = session(context);
  const limits = { SWITCHGEAR_SESSION: 's-run', SWITCHGEAR_TASK_MAX_TOOL_CALLS: '1' };
  const first = { ...limits, SWITCHGEAR_TASK: 't-1' };
  await made.send(bash('c1', 'ls').pre, first);
  assert.equal((await made.send(bash('c2', 'pwd').pre, first)).said?.continue, false);
  assert.equal((await made.send(bash('c3', 'ls').pre, { ...limits, SWITCHGEAR_TASK: 't-2' })).said, undefined);
  await made.send(stop, { ...limits, SWITCHGEAR_TASK: 't-2' });
  assert.equal(made.journal().filter(({ type }) => type === 'task-ended' || type === 'task-started').length, 0);
});

test('a hook never gives up on a busy file: it answers once the file is free', async (context) => {
  const made = session(context);
  await made.send(bash('c0', 'ls').pre);
  const db = new DatabaseSync(made.store.slice('sqlite:'.length));
  context.after(() => db.close());
  db.exec('BEGIN IMMEDIATE');
  let isFree = false;
  setTimeout(() => {
    isFree = true;
    db.exec('COMMIT');
  }, lockPatienceMs * 1.5);
  // A process of its own: a hook has its time from the start of the process on, and here much of it is over.
  assert.equal(await start(made, bash('c1', 'pwd').pre).answered, undefined);
  assert.ok(isFree);
  assert.equal(made.journal().filter(({ type }) => type === 'action-allowed').length, 2);
});
