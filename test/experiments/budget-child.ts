/** Spends shared budgets in random order until nothing is left; its ledger of amounts survives kill -9. */

import { openSync, writeSync } from 'node:fs';
import { type BudgetWindow, emptyWindow } from '../../src/core/controls/budget/joint-budget.ts';
import { type BudgetAllowance, createBudgetAllowance } from '../../src/guard/budgets/allowance.ts';
import type { SharedStore, Store, Transaction, TransactionResult } from '../../src/ports/store.ts';
import { openStore, type Where } from './breaker-transactions.ts';
import { pause, seeded } from './verdict.ts';

export interface Round {
  readonly where: Where;
  /** The key prefix of the budgets; each budget has its ceiling. */
  readonly name: string;
  readonly ceilings: readonly number[];
  /** The number of large budgets, which come first; most calls spend from them. */
  readonly large: number;
  readonly ledger: string;
  readonly seed: number;
}

/** Calls that spent from large budgets, and the transactions that the store executed for these budgets. */
export interface Spent {
  readonly calls: number;
  readonly asks: number;
}

const refusalsMax = 3;

async function spend({ where, name, ceilings, large, ledger, seed }: Round): Promise<Spent> {
  const store = await openStore(where);
  const random = seeded(seed);
  const file = openSync(ledger, 'w');
  const spent = new Float64Array(ceilings.length);
  const allowances = ceilings.map((ceiling, at) => {
    const onTransaction = () => {
      if (at < large) asks++;
    };
    return openAllowance(store, `budget/${name}/${at}`, ceiling, onTransaction);
  });
  const refusals = new Array<number>(ceilings.length).fill(0);
  let live = ceilings.map((_, at) => at);
  let calls = 0;
  let asks = 0;
  for (let turn = 0; live.length > 0; turn++) {
    const ofLarge = live.filter((at) => at < large);
    const from = ofLarge.length > 0 && random(10) > 0 ? ofLarge : live;
    const at = from[random(from.length)]!;
    // Towards the end only the smallest amounts fit.
    const amount = refusals[at]! > 0 ? 1 : 1 + random(5);
    if (at < large) calls++;
    if (await takeAmount(allowances[at]!, amount, store)) {
      spent[at]! += amount;
      writeSync(file, new Uint8Array(spent.buffer, at * 8, 8), 0, 8, at * 8);
      refusals[at] = Math.min(refusals[at]!, 1);
    } else if (++refusals[at]! > refusalsMax) live = live.filter((each) => each !== at);
    if (turn % 64 === 63) await new Promise((resolve) => setImmediate(resolve));
  }
  for (const allowance of allowances) allowance.close();
  await store.shared.settled();
  store.close();
  return { calls, asks };
}

/** Opens the allowance of one budget over a store that reports each transaction it executes for this budget. */
function openAllowance(
  store: Store & { readonly shared: SharedStore },
  key: string,
  limit: number,
  onTransaction: () => void,
): BudgetAllowance {
  const report = (result: TransactionResult) => {
    if (result.status !== 'unavailable') onTransaction();
    return result;
  };
  const shared: SharedStore = Object.create(store.shared, {
    commitNow: { value: (transaction: Transaction) => report(store.shared.commitNow(transaction)) },
    commit: { value: async (transaction: Transaction) => report(await store.shared.commit(transaction)) },
  });
  const cell = store.cell<BudgetWindow>(key, emptyWindow);
  const options = { keepMs: undefined, notes: () => [], say: () => {} };
  return createBudgetAllowance(shared, store.clock, { scope: 'global', unit: 'calls', limit }, cell, options);
}

/** Takes an amount, and waits as the guard does while the store fetches more of the budget. */
async function takeAmount(allowance: BudgetAllowance, amount: number, { clock }: Store): Promise<boolean> {
  for (;;) {
    const stop = allowance.take(amount, clock.nowMs(), 'deny');
    if (stop === undefined) return true;
    if (stop.kind !== 'wait') return false;
    await pause(Math.max(1, (stop.retryAtMs ?? 0) - clock.nowMs()));
  }
}

process.on('message', async (round: Round) => {
  process.send?.(await spend(round));
});
process.on('disconnect', () => process.exit()); // The parent has ended.
process.send?.('ready');
