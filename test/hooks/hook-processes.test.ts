/** Hooks as processes of their own: side by side, killed on the way, and under a run. */

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { hookPayloadBytesMax, lockPatienceMs } from '../../src/core/limits.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { openHookMailbox } from '../../src/supervisor/hook-mailbox.ts';
import { describeThisProcess } from '../../src/supervisor/run-record.ts';
import { collectOutput } from '../harness/child-output.ts';
import { compiled } from '../harness/compiled.ts';
import { bin } from '../harness/switchgear-bin.ts';
import {
  bash,
  type Event,
  type HookOutput,
  type HookSession,
  newSession,
  stop,
  writeRunAround,
} from './hook-session.ts';

function session(context: TestContext): HookSession {
  const hookSession = newSession();
  context.after(hookSession.clear);
  return hookSession;
}

function start({ folder, store }: HookSession, event: Event) {
  const env = { ...compiled, PATH: process.env.PATH, SWITCHGEAR_STORE: store };
  const child = spawn(process.execPath, [bin, 'hook', 'claude-code'], { cwd: folder, env, stdio: 'pipe' });
  const { out } = collectOutput(child);
  const answered = new Promise<HookOutput | undefined>((resolve, reject) => {
    child.on('close', (code, signal) => {
      if (signal !== null) resolve(undefined);
      else if (code !== 0) reject(new Error(`exit code ${code}`));
      else resolve(out() === '' ? undefined : (JSON.parse(out()) as HookOutput));
    });
  });
  child.stdin.on('error', () => {}); // It may be killed before it has read.
  child.stdin.end(JSON.stringify({ session_id: 's-1', cwd: folder, ...event }));
  return { child, answered };
}

test('six concurrent hooks are each counted once', async (context) => {
  const hookSession = session(context);
  const calls = Array.from({ length: 6 }, (_, at) => bash(`c${at}`, `echo ${at}`));
  const answers = await Promise.all(calls.map(({ pre }) => start(hookSession, pre).answered));
  assert.deepEqual(answers, Array(6).fill(undefined));
  await Promise.all(calls.map(({ post }) => start(hookSession, post).answered));
  const journal = hookSession.journal();
  assert.equal(journal.filter(({ type }) => type === 'task-started').length, 1);
  assert.equal(journal.filter(({ type }) => type === 'action-allowed').length, 6);
  assert.equal(journal.filter(({ type }) => type === 'action-settled').length, 6);
});

test('a payload beyond the size limit is not read completely', (context) => {
  const hookSession = session(context);
  const endless = `head -c ${2 * hookPayloadBytesMax} /dev/zero | "$0" "$1" hook claude-code`;
  const { status, stderr } = spawnSync('sh', ['-c', endless, process.execPath, bin], { cwd: hookSession.folder });
  assert.deepEqual([status, String(stderr)], [2, 'switchgear: hook: the input on stdin is too long\n']);
});

test('killed hooks leave no permanent lock, and no call passes uncounted', async (context) => {
  const hookSession = session(context);
  for (let round = 0; round < 8; round++) {
    const { child, answered } = start(hookSession, bash(`k${round}`, `echo ${round}`).pre);
    // Somewhere between its start and its end: each round a little later.
    setTimeout(() => child.kill('SIGKILL'), 60 + round * 40);
    await answered;
  }
  const { answered } = start(hookSession, bash('last', 'ls').pre);
  assert.equal(await answered, undefined);
  const allowed = hookSession.journal().filter(({ type }) => type === 'action-allowed');
  assert.ok(allowed.length >= 1 && allowed.length <= 9, `${allowed.length} were counted`);
  const ids = allowed.map((entry) => JSON.stringify('action' in entry && entry.action));
  assert.equal(new Set(ids).size, allowed.length);
});

test('a hook inside a run counts on the task of the run and lets the run report the halt', async (context) => {
  const hookSession = session(context);
  writeRunAround(hookSession, 't-run');
  const env = { SWITCHGEAR_TASK: 't-run', SWITCHGEAR_SESSION: 's-run', SWITCHGEAR_TASK_MAX_TOOL_CALLS: '1' };
  await hookSession.send(bash('c1', 'ls').pre, env);
  await hookSession.send(bash('c1', 'ls').post, env);
  const types = hookSession.journal().map(({ type }) => type);
  assert.deepEqual(
    types.filter((type) => type !== 'setting-ignored'),
    [],
    'what is counted there is not told twice',
  );
  assert.equal((await hookSession.send(bash('c2', 'pwd').pre, env)).output?.continue, false);
  const told = hookSession.journal().map(({ type }) => type);
  assert.ok(told.includes('action-refused') && !told.includes('task-halted'), 'the run tells of its halt');
  assert.deepEqual(hookSession.cards(), []);
  const store = sqliteStore({ path: hookSession.store.slice('sqlite:'.length) });
  context.after(() => store.close());
  store.shared.refresh();
  const { tools, halt } = openHookMailbox(store, 't-run').state;
  assert.deepEqual([tools, halt?.name, halt?.stop.code], [['Bash'], 'Bash', 'tool_call_limit']);
});

test('hooks report the halt of an agent whose run has ended or is unknown', async (context) => {
  const gone = { owner: { ...describeThisProcess(), began: 'before' } };
  for (const change of [gone, { state: 'halted' }, undefined] as const) {
    const hookSession = session(context);
    if (change !== undefined) writeRunAround(hookSession, 't-run', change);
    const env = { SWITCHGEAR_TASK: 't-run', SWITCHGEAR_SESSION: 's-run', SWITCHGEAR_TASK_MAX_TOOL_CALLS: '1' };
    await hookSession.send(bash('c1', 'ls').pre, env);
    assert.equal((await hookSession.send(bash('c2', 'pwd').pre, env)).output?.continue, false);
    assert.ok(hookSession.journal().some(({ type, task }) => type === 'task-halted' && task === 't-run'));
    assert.deepEqual(
      hookSession.cards().map(({ kind, code }) => [kind, code]),
      [['halt', 'tool_call_limit']],
    );
  }
});

test('a run counts a shared budget, and the hooks count it once the run is lost', async (context) => {
  for (const [state, wanted] of [
    ['running', undefined],
    ['lost', false],
  ] as const) {
    const hookSession = session(context);
    writeFileSync(
      join(hookSession.folder, 'switchgear.toml'),
      '[[budgets]]\nscope = "session"\nunit = "calls"\nlimit = 1\n',
    );
    writeRunAround(hookSession, 't-run', { state });
    const env = { SWITCHGEAR_TASK: 't-run', SWITCHGEAR_SESSION: 's-run' };
    await hookSession.send(bash('c1', 'ls').pre, env);
    assert.equal((await hookSession.send(bash('c2', 'pwd').pre, env)).output?.continue, wanted, state);
  }
});

test('the task of a run ends with the run, and a retried run starts a new state', async (context) => {
  const hookSession = session(context);
  const limits = { SWITCHGEAR_SESSION: 's-run', SWITCHGEAR_TASK_MAX_TOOL_CALLS: '1' };
  const first = { ...limits, SWITCHGEAR_TASK: 't-1' };
  await hookSession.send(bash('c1', 'ls').pre, first);
  assert.equal((await hookSession.send(bash('c2', 'pwd').pre, first)).output?.continue, false);
  assert.equal((await hookSession.send(bash('c3', 'ls').pre, { ...limits, SWITCHGEAR_TASK: 't-2' })).output, undefined);
  await hookSession.send(stop, { ...limits, SWITCHGEAR_TASK: 't-2' });
  assert.equal(hookSession.journal().filter(({ type }) => type === 'task-ended' || type === 'task-started').length, 0);
});

test('a hook waits for a locked file and answers once the file is free', async (context) => {
  const hookSession = session(context);
  await hookSession.send(bash('c0', 'ls').pre);
  const db = new DatabaseSync(hookSession.store.slice('sqlite:'.length));
  context.after(() => db.close());
  db.exec('BEGIN IMMEDIATE');
  let isFree = false;
  setTimeout(() => {
    isFree = true;
    db.exec('COMMIT');
  }, lockPatienceMs * 1.5);
  assert.equal((await hookSession.send(bash('c1', 'pwd').pre)).output, undefined);
  assert.ok(isFree);
  assert.equal(hookSession.journal().filter(({ type }) => type === 'action-allowed').length, 2);
});
