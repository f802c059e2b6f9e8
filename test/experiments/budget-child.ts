/** Spends shared budgets in random order until nothing is left, and notes it where a kill -9 cannot reach. */

import { openSync, writeSync } from 'node:fs';
import type { Lease } from '../../src/ports/store.ts';
import { openStore, type Where } from './breaker-transactions.ts';
import { seeded } from './verdict.ts';

export interface Round {
  readonly where: Where;
  /** Begins the keys of the budgets; each has its ceiling. */
  readonly name: string;
  readonly ceilings: readonly number[];
  /** As many of the first are large: most calls spend from them. */
  readonly large: number;
  readonly ledger: string;
  readonly seed: number;
}

/** Calls that spent from large budgets, and how often for them the store was asked for more. */
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
  const leases = ceilings.map((ceiling, at) => store.shared.lease(`budget/${name}/${at}`, ceiling));
  const refusals = new Array<number>(ceilings.length).fill(0);
  let live = ceilings.map((_, at) => at);
  let calls = 0;
  let asks = 0;
  for (let turn = 0; live.length > 0; turn++) {
    const ofLarge = live.filter((at) => at < large);
    const from = ofLarge.length > 0 && random(10) > 0 ? ofLarge : live;
    const at = from[random(from.length)]!;
    const lease = leases[at]!;
    // Towards the end only the smallest amounts fit.
    const amount = refusals[at]! > 0 ? 1 : 1 + random(5);
    if (at < large) calls++;
    if (lease.left < amount && at < large) asks++;
    if (lease.take(amount) || (await more(lease, amount, turn))) {
      spent[at]! += amount;
      writeSync(file, new Uint8Array(spent.buffer, at * 8, 8), 0, 8, at * 8);
      refusals[at] = Math.min(refusals[at]!, 1);
    } else if (++refusals[at]! > refusalsMax) live = live.filter((each) => each !== at);
    if (turn % 64 === 63) await new Promise((resolve) => setImmediate(resolve));
  }
  for (const lease of leases) lease.close();
  await store.shared.settled();
  store.close();
  return { calls, asks };
}

/** By one door or the other; what only the other can do, it does. */
async function more(lease: Lease, amount: number, turn: number): Promise<boolean> {
  const granted = (turn % 2 === 0 && lease.moreNow(amount)) || (await lease.more(amount));
  return granted && lease.take(amount);
}

process.on('message', async (round: Round) => {
  process.send?.(await spend(round));
});
process.on('disconnect', () => process.exit()); // Nobody is left to ask.
process.send?.('ready');
