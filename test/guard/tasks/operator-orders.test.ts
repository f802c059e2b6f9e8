/** Orders on a file: a gear in another process sees them at its very next decision. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Order, type Orders, ordersCell } from '../../../src/coordination/operator-orders.ts';
import { createSwitchgear, refusalOf } from '../../../src/index.ts';
import type { Change } from '../../../src/ports/store.ts';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';
import { simulatedClock } from '../../../src/testing/index.ts';

test('an order reaches a task that proposes nothing, without a sweep', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-orders-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'state.db');
  const operator = sqliteStore({ path });
  const store = sqliteStore({ path });
  // The clock of the gear stands still, so that it does not sweep; the store looks by the clock of the machine.
  const gear = createSwitchgear({ store, clock: simulatedClock(), log: 'silent', env: {} });
  const task = gear.startTask({ id: 'silent' });
  await store.shared.settled();
  const halts = [{ target: 'silent', atMs: operator.clock.nowMs() + 1_000_000, reason: 'by hand' }];
  const change: Change<Orders> = { cell: ordersCell(operator), update: (state) => ({ state: { ...state, halts } }) };
  assert.equal(operator.shared.commitNow({ changes: [change as Change] }).status, 'committed');
  while (task.halt === undefined) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.equal(task.halt.code, 'operator_halt');
  gear.dispose();
  for (const each of [store, operator]) each.close();
});

test('a pause, a trip and a halt by an operator apply from the next call on until revoked', (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-orders-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'state.db');
  const operator = sqliteStore({ path });
  const gear = createSwitchgear({ store: sqliteStore({ path }), log: 'silent', env: {} });
  const task = gear.startTask({ id: 'work' });
  const search = gear.guard('search', () => 'found');
  const code = () => refusalOf(task.run(search))?.code;
  const order = (list: keyof Orders, ...orders: readonly Partial<Order>[]) => {
    const given = orders.map((each) => ({ target: null, atMs: operator.clock.nowMs(), reason: 'by hand', ...each }));
    const update = (state: Orders) => ({ state: { ...state, [list]: given } });
    const change: Change<Orders> = { cell: ordersCell(operator), update };
    assert.equal(operator.shared.commitNow({ changes: [change as Change] }).status, 'committed');
  };

  assert.equal(code(), undefined);
  order('pauses', { target: 'work' });
  assert.equal(code(), 'task_paused');
  assert.equal(refusalOf(search()), undefined); // A call outside any task is not in it.
  assert.equal(task.snapshot().gauges.find(({ name }) => name === 'denials')?.actual, 0);
  order('pauses', {});
  assert.equal(refusalOf(search())?.code, 'task_paused'); // All of them, and whatever has no task.
  order('pauses');
  assert.equal(code(), undefined);

  order('trips', { target: 'search', untilMs: operator.clock.nowMs() + 60_000 });
  assert.equal(code(), 'circuit_open');
  order('trips');
  gear.resetAll();
  assert.equal(code(), undefined);

  order('halts', { target: 'work' });
  assert.equal(code(), 'operator_halt');
  assert.equal(task.halt?.explanation, 'by hand');
  gear.dispose();
  operator.close();
});

test('a gear in observe mode ignores a pause and reports what a halt would have done', (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-orders-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const store = sqliteStore({ path: join(folder, 'state.db') });
  const gear = createSwitchgear({ store, mode: 'observe', log: 'silent', env: {} });
  const task = gear.startTask({ id: 'work' });
  const search = gear.guard('search', () => 'found');
  const order = { target: null, atMs: store.clock.nowMs(), reason: 'by hand' };
  const update = (state: Orders) => ({ state: { ...state, pauses: [order], halts: [order] } });
  store.shared.commitNow({ changes: [{ cell: ordersCell(store), update } as unknown as Change] });
  assert.equal(task.run(search), 'found');
  const halted = gear.journal().find(({ type }) => type === 'task-halted');
  assert.equal(halted?.type === 'task-halted' && halted.enforced, false);
  gear.dispose();
});
