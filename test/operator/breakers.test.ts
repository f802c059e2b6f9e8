import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { defaultBreaker } from '../../src/core/controls/breaker/defaults.ts';
import { createSwitchgear } from '../../src/index.ts';
import { readStoredBreakers, resetBreakers, tripBreakers } from '../../src/operator/breakers.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';

test('a trip opens the stored breakers of a tool, and a reset closes them again', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-operator-'));
  const store = sqliteStore({ path: join(folder, 'state.db') });
  context.after(() => {
    store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const gear = createSwitchgear({ store });
  await assert.rejects(gear.run('search', () => Promise.reject(new Error('down'))));
  await store.shared.settled();
  const order = { target: 'search', reason: 'broken', by: 'Ada' };
  const trip = await tripBreakers(store, { ...order, settings: defaultBreaker });
  assert.equal(trip.breakers.length, 1);
  assert.ok(trip.untilMs !== undefined && trip.untilMs > trip.atMs);
  const states = async () => (await readStoredBreakers(store)).filter(({ name }) => name === 'search');
  for (const { state } of await states()) assert.equal(state, 'OPEN');
  const before = await resetBreakers(store, order);
  assert.equal(before.length, trip.breakers.length);
  for (const { state } of await states()) assert.equal(state, 'CLOSED');
  await assert.rejects(resetBreakers(store, order), { code: 'not_found' });
  gear.dispose();
});
