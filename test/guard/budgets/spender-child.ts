/** A process that spends a budget together with others, through a gear, until its tasks are halted. */

import { openSync, writeSync } from 'node:fs';
import { createSwitchgear, refusalOf } from '../../../src/index.ts';
import type { BudgetDocument } from '../../../src/policy/index.ts';
import type { Transaction } from '../../../src/stores/index.ts';
import { openStore, type Where } from '../../experiments/breaker-transactions.ts';

export interface Spending {
  readonly where: Where;
  readonly budget: BudgetDocument;
  /** What a call costs at worst, and what it costs in the end; absent where calls are counted. */
  readonly cents?: { readonly worst: number; readonly real: number };
  /** A file that grows by one byte with each call, where a kill -9 cannot reach it. */
  readonly ledger?: string;
}

export interface Spent {
  readonly calls: number;
  /** Codes of what was refused, each once. */
  readonly codes: readonly string[];
  /** How often the store was asked or told, by either door. */
  readonly transactions: number;
}

/** Halts in a row after which nothing is believed to be left. */
const haltsMax = 3;

async function spend({ where, budget, cents, ledger }: Spending): Promise<Spent> {
  const store = await openStore(where);
  let transactions = 0;
  const { commitNow, commit } = store.shared;
  Object.assign(store.shared, {
    commitNow(transaction: Transaction) {
      const result = commitNow(transaction);
      if (result.status !== 'unavailable') transactions++; // Redis says at once that it cannot be asked so.
      return result;
    },
    commit(transaction: Transaction) {
      transactions++;
      return commit(transaction);
    },
  });
  const policy = { budgets: [budget], loop: { enabled: false } };
  const gear = createSwitchgear({ store, policy, project: 'p', log: 'silent', env: {} });
  const tool = gear.guard('work', async (_: number) => work(), {
    ...(cents && { maxCost: { usd: cents.worst / 100 } }),
    ...(cents && { usage: () => ({ inputTokens: 0, outputTokens: 0, costUsd: cents.real / 100 }) }),
  });
  const file = ledger === undefined ? undefined : openSync(ledger, 'w');
  function work(): 'done' {
    if (file !== undefined) writeSync(file, '.');
    return 'done';
  }
  const codes = new Set<string>();
  let calls = 0;
  for (let halts = 0; halts < haltsMax; ) {
    const limits = { maxToolCalls: 1_000_000, maxSpendCents: 1_000_000, maxDenials: 1_000_000 };
    const { status } = await gear.task({ limits }, async (task) => {
      while (task.halt === undefined) {
        const answers = await Promise.all([0, 1, 2, 3].map((at) => tool(at)));
        for (const answer of answers) {
          const code = refusalOf(answer)?.code;
          if (code === undefined) calls++;
          else codes.add(code);
        }
        if (answers.includes('done')) halts = 0;
      }
    });
    if (status === 'halted') halts++;
  }
  gear.dispose();
  return { calls, codes: [...codes], transactions };
}

process.on('message', async (spending: Spending) => {
  process.send?.(await spend(spending));
});
process.on('disconnect', () => process.exit()); // Nobody is left to ask.
process.send?.('ready');
