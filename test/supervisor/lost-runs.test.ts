/** Runs whose supervisor is gone. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { closeLostRuns } from '../../src/supervisor/lost-runs.ts';
import { describeThisProcess, type RunRecord, transitionRun, writeRun } from '../../src/supervisor/run-record.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchgear-lost-'));
const store = sqliteStore({ path: join(folder, 'state.db') });
after(() => {
  store.close();
  rmSync(folder, { recursive: true, force: true });
});

function lostRun(task: string): RunRecord {
  const owner = { ...describeThisProcess(), began: '1' };
  const place = { task, agent: 'Agent', session: 's', command: ['true'], options: [], cwd: '/' };
  return { ...place, state: 'running', owner, mark: `SWITCHGEAR_MARK_${task}` };
}

test('attack 11: a lost run gets its card although the process that closed it was killed before', async () => {
  writeRun(store, lostRun('t-1'));
  // Killed between the state of the run and its card.
  assert.equal(await transitionRun(store, 't-1', 'running', { state: 'lost', card: 'card-lost-t-1' }), true);
  assert.equal(store.card('card-lost-t-1'), undefined);
  const cards = await closeLostRuns(store);
  assert.deepEqual(
    cards.map(({ id, state }) => [id, state]),
    [['card-lost-t-1', 'open']],
  );
  assert.match(store.card('card-lost-t-1')?.evidence[0] ?? '', /none of its processes runs/);
  assert.deepEqual(await closeLostRuns(store), []);
});
