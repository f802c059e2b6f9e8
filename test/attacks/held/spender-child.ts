/**
 * A process that spends from a project budget on a shared store as fast as it can, until it is told to stop. Every call
 * that runs is a byte in its ledger, so that nothing is forgotten when it is killed.
 */

import { appendFileSync, openSync, writeSync } from 'node:fs';
import { createSwitchgear, isRefused, refusalOf } from '../../../src/index.ts';
import type { Store } from '../../../src/stores/index.ts';
import { redisStore } from '../../../src/stores/redis/index.ts';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';

export interface Spending {
  readonly url?: string;
  readonly path?: string;
  readonly limit: number;
  readonly ledger: string;
}

const spending = JSON.parse(process.argv[2] ?? '') as Spending;
const store: Store =
  spending.url === undefined
    ? sqliteStore({ path: spending.path ?? '' })
    : await redisStore({ url: spending.url, prefix: 'attacked' });
const gear = createSwitchgear({
  agent: 'Spender',
  project: 'attacked',
  store,
  log: 'silent',
  env: {},
  policy: { budgets: [{ scope: 'project', unit: 'calls', limit: spending.limit }] },
});
const ledger = openSync(spending.ledger, 'a');
const spend = gear.guard('spend', async (at: number) => {
  writeSync(ledger, '.');
  return at;
});

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
process.on('disconnect', () => process.exit());
process.on('uncaughtException', (error) => {
  appendFileSync(`${spending.ledger}.error`, `${error.stack}\n`);
  process.exit(1);
});
process.on('unhandledRejection', (error) => {
  appendFileSync(`${spending.ledger}.error`, `unhandled: ${String(error)}\n`);
  process.exit(1);
});
process.send?.('ready');

/** Slow enough that the budget outlasts the first attacks. */
for (let at = 0; ; at++) {
  const value: unknown = await spend(at);
  const { code, kind } = refusalOf(value) ?? {};
  if (isRefused(value)) process.send?.({ refused: code, kind });
  await pause(isRefused(value) ? 20 : 8);
}
