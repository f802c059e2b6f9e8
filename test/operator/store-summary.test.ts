import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { createSwitchgear } from '../../src/index.ts';
import { readStoreSummary } from '../../src/operator/store-summary.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

test('a store shows its size with bounds, and library processes with their tasks', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-summary-'));
  const clock = simulatedClock();
  const store = sqliteStore({ path: join(folder, 'store.db'), clock });
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const empty = await readStoreSummary(store, 'test');
  assert.deepEqual([empty.processes, empty.agents, empty.outages, empty.journal.last], [[], [], [], 0]);
  assert.deepEqual([empty.size.bytesMax, empty.size.keepDays, empty.size.cellsMax], [64 * 1_048_576, 30, 1_000_000]);
  assert.ok((empty.size.bytes ?? 0) > 0);

  const gear = createSwitchgear({ store, agent: 'scout', log: 'silent', env: {} });
  const task = gear.startTask({ id: 'x' });
  clock.advance(1_000);
  await store.shared.settled();
  const outage = { seq: 1, atMs: 1, wallMs: 5, type: 'store-degraded', reason: 'the lock was not free' } as const;
  const full = await readStoreSummary(store, 'test', [outage]);
  const [process] = full.processes;
  assert.deepEqual(
    [process?.kind, process?.isAlive, process?.tasks, process?.agents, full.processes.length],
    ['library', true, 1, ['scout'], 1],
  );
  assert.deepEqual(full.outages, [{ wallMs: 5, type: 'store-degraded', reason: 'the lock was not free' }]);
  task.end();
  gear.dispose();
});
