/** One of the processes that want to probe a half-open breaker. */

import { breakerCell, openStore, probeTransaction, settingsOf, type Where } from './breaker-transactions.ts';

const role = JSON.parse(process.argv[2]!) as {
  readonly where: Where;
  readonly door: 'now' | 'soon';
  readonly name: string;
};
const store = await openStore(role.where);
const cell = breakerCell(store);
let asked = 0;

process.on('message', async ({ permits, leaseSecs }: { readonly permits: number; readonly leaseSecs: number }) => {
  const settings = settingsOf(permits, leaseSecs);
  const id = `${role.name}-${++asked}`;
  const began = performance.now();
  // When the step ran that was written in the end: the lease is counted from there.
  let atMs = 0;
  const transaction = probeTransaction(cell, settings, id, () => {
    atMs = store.clock.nowMs();
    return atMs;
  });
  let result = role.door === 'now' ? store.shared.commitNow(transaction) : await store.shared.commit(transaction);
  for (let tries = 0; result.status === 'unavailable' && tries < 20; tries++)
    result = await store.shared.commit(transaction);
  process.send?.({ status: result.status, atMs, tookMs: performance.now() - began, state: result });
});
process.on('disconnect', () => process.exit()); // Nobody is left to ask.
process.send?.('ready');
