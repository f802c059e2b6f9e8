/** What a process asks of a budget that others spend from, too: as much as its calls need, however late the answer. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { emptyWindow } from '../../../src/core/controls/budget/joint-budget.ts';
import { createBudgetAllowance } from '../../../src/guard/budgets/allowance.ts';
import type { SharedStore, Transaction, TransactionResult } from '../../../src/ports/store.ts';
import { simulatedClock } from '../../../src/testing/simulated-clock.ts';

/** A purse on a store that answers when it is told to. */
function pursed() {
  const clock = simulatedClock();
  const cell = { key: 'budget', state: emptyWindow(), version: 1 };
  const questions: (() => void)[] = [];
  function carryOut({ changes = [] }: Transaction): TransactionResult {
    for (const { update } of changes) {
      const next = update(structuredClone(cell.state));
      if (next === 'refuse') return { status: 'rejected', by: 'cell', key: cell.key };
      if (next !== 'keep') cell.state = next.state as typeof cell.state;
    }
    return { status: 'committed', totals: [], windowCounts: [] };
  }
  const shared = {
    health: { state: 'shared' },
    commitNow: (transaction: Transaction) =>
      transaction.queueIfUnavailable ? carryOut(transaction) : { status: 'unavailable', reason: 'it takes a moment' },
    commit: (transaction: Transaction) =>
      new Promise((resolve) => questions.push(() => resolve(carryOut(transaction)))),
  } as unknown as SharedStore;
  const options = { keepMs: undefined, notes: () => [], say() {} };
  const allowance = createBudgetAllowance(shared, clock, { scope: 'global', unit: 'calls', limit: 30 }, cell, options);
  return {
    /** A call comes; true where it may pass. */
    async call(atMs: number): Promise<boolean> {
      clock.advance(atMs - clock.nowMs());
      const stop = allowance.take(1, clock.nowMs(), 'halt');
      await turn();
      return stop === undefined;
    },
    async answer(): Promise<void> {
      questions.shift()!();
      await turn();
    },
    asked: () => questions.length,
    booked: () => cell.state.sums[0],
  };
}

test('a call retried before the store has replied does not request its amount twice', async () => {
  const { call, answer, asked, booked } = pursed();
  for (const atMs of [0, 10, 19.5, 40]) assert.equal(await call(atMs), false);
  await answer();
  assert.deepEqual([asked(), booked()], [0, 1]);
  assert.equal(await call(80), true);
});

test('each waiting call requests its amount, even if another call takes the granted one', async () => {
  const { call, answer, asked, booked } = pursed();
  const [first, second] = [call, call];
  assert.equal(await first(0), false);
  assert.equal(await second(4), false);
  assert.equal(await first(10), false);
  await answer();
  assert.deepEqual([asked(), booked()], [1, 1]);
  assert.equal(await second(15), true);
  assert.equal(await first(20), false);
  await answer();
  assert.deepEqual([asked(), booked()], [0, 2]);
  assert.equal(await first(40), true);
});

test('calls that start together are requested from the store together', async () => {
  const { call, answer, asked, booked } = pursed();
  const waiting = [call(0), call(0), call(0)];
  assert.deepEqual(await Promise.all(waiting), [false, false, false]);
  await answer();
  assert.deepEqual([asked(), booked()], [0, 3]);
  for (let at = 0; at < 3; at++) assert.equal(await call(10), true);
});
