/** Hosts of hooks and supervisors of runs that cannot be looked up from this PID namespace. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { hostSilenceMs } from '../../src/core/limits.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { placeProcess } from '../../src/supervisor/guarded-agents.ts';
import { closeLostRuns } from '../../src/supervisor/lost-runs.ts';
import { describeThisProcess, findRun, type RunRecord, writeRun } from '../../src/supervisor/run-record.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchgear-hosts-'));
const store = sqliteStore({ path: join(folder, 'state.db') });
after(() => {
  store.close();
  rmSync(folder, { recursive: true, force: true });
});

test('attack 02: a host in another PID namespace counts as running only while its hooks report it', async () => {
  const host = { ...describeThisProcess(), space: 'pid:[1]', pid: 2 ** 30, began: '1' };
  const place = async (seenMs: number) => {
    const cell = store.cell<object | null>('agent-host/other', () => null);
    const state = { agent: 'claude-code', session: 's', process: host, seenMs };
    await store.shared.commit({ changes: [{ cell, update: () => ({ state }) } as never] });
    const placed = await placeProcess(store, {});
    return placed.kind;
  };
  assert.equal(await place(store.clock.nowMs()), 'unknown');
  assert.equal(await place(store.clock.nowMs() - hostSilenceMs - 1), 'operator');
});

test('attack 02: a run in another PID namespace counts as running only while its record is written', async () => {
  const owner = { ...describeThisProcess(), space: 'pid:[1]', pid: 2 ** 30, began: '1' };
  const facts = { agent: 'claude-code', session: 's', command: ['claude'], options: [], cwd: '/' };
  const run: RunRecord = { ...facts, task: 't-out-of-sight', state: 'running', owner, agentProcess: owner };
  const place = async (seenMs: number) => {
    const cell = store.cell<object | null>(`agent-run/${run.task}`, () => null);
    await store.shared.commit({ changes: [{ cell, update: () => ({ state: { ...run, seenMs } }) } as never] });
    await closeLostRuns(store);
    return [(await placeProcess(store, {})).kind, findRun(store, run.task)?.state];
  };
  writeRun(store, run);
  await store.shared.settled();
  assert.equal((await placeProcess(store, {})).kind, 'unknown', 'writing a record says that its supervisor is alive');
  assert.deepEqual(await place(store.clock.nowMs()), ['unknown', 'running']);
  assert.deepEqual(await place(store.clock.nowMs() - hostSilenceMs - 1), ['operator', 'lost']);
});
