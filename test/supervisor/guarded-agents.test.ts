/** Hosts of hooks and supervisors of runs that cannot be looked up, or that are among too many. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { agentRunsMax, hostSilenceMs } from '../../src/core/limits.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { placeProcess } from '../../src/supervisor/guarded-agents.ts';
import { closeLostRuns } from '../../src/supervisor/lost-runs.ts';
import { recordHost } from '../../src/supervisor/recorded-agents.ts';
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

test('attack 02: a guarded agent is found among more sessions and runs than are read', async (context) => {
  const open = (name: string) => {
    const opened = sqliteStore({ path: join(folder, name) });
    context.after(() => opened.close());
    return opened;
  };
  const fill = ({ cell: openCell, shared }: typeof store, prefix: string, state: object) => {
    const changes = Array.from({ length: agentRunsMax }, (_, at) => {
      const cell = openCell<object | null>(`${prefix}${String(at).padStart(4, '0')}`, () => null);
      return { cell, update: () => ({ state }) } as never;
    });
    return shared.commit({ changes });
  };
  const self = describeThisProcess();
  const other = { ...self, pid: 2 ** 30, began: '1' };
  const crowd = open('crowd.db');
  await fill(crowd, 'agent-host/0', { agent: 'codex', session: 's', process: other, seenMs: 0 });
  assert.equal((await placeProcess(crowd, {})).kind, 'unknown');
  await recordHost(crowd, self, { agent: 'claude-code', session: 'mine' });
  const placed = await placeProcess(crowd, {});
  assert.deepEqual([placed.kind, placed.kind === 'guarded' && placed.agent.id], ['guarded', 'mine']);

  const full = open('full.db');
  const facts = { agent: 'claude-code', session: 's', command: [], options: [], cwd: '/', task: 't' };
  await fill(full, 'agent-run/', { ...facts, state: 'halted', owner: other, agentProcess: other });
  const unread = await placeProcess(full, {});
  assert.ok(unread.kind === 'unknown' && unread.isUnread === true);
});
