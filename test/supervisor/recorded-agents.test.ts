/** Records of clients in a store. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { hostRecordMs, hostSilenceMs } from '../../src/core/limits.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { findProcess } from '../../src/supervisor/process-table.ts';
import { ClientRecords, readRecordedClients } from '../../src/supervisor/recorded-agents.ts';
import { simulatedClock } from '../../src/testing/simulated-clock.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchgear-records-'));
after(() => rmSync(folder, { recursive: true, force: true }));

test('attack 02: a client is recorded again while it runs, so that its record never counts as silent', async () => {
  const clock = simulatedClock();
  const store = sqliteStore({ path: join(folder, 'state.db'), clock });
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  after(() => child.kill('SIGKILL'));
  const client = findProcess(child.pid!)!;
  const seen = async () => (await readRecordedClients(store, [client]))[0]?.seenMs ?? Number.NaN;
  await new ClientRecords(store).keep({ processes: [client] }, { by: 'mcp', agent: 'a', name: 'docs' });
  for (let passedMs = 0; passedMs <= hostSilenceMs; passedMs += hostRecordMs) {
    clock.advance(hostRecordMs);
    await store.shared.settled();
  }
  assert.ok(clock.nowMs() - (await seen()) <= hostRecordMs);
  child.kill('SIGKILL');
  await once(child, 'exit');
  const lastMs = await seen();
  clock.advance(2 * hostRecordMs);
  await store.shared.settled();
  assert.equal(await seen(), lastMs);
  store.close();
});
