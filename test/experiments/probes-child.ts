/** One of the processes that want to probe a half-open breaker. */

import { breakerCell, openStore, probeDeal, settingsOf, type Where } from './breaker-deals.ts';

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
  const deal = probeDeal(cell, settings, id, () => {
    atMs = store.clock.nowMs();
    return atMs;
  });
  let dealt = role.door === 'now' ? store.shared.now(deal) : await store.shared.soon(deal);
  for (let tries = 0; dealt.status === 'away' && tries < 20; tries++) dealt = await store.shared.soon(deal);
  process.send?.({ status: dealt.status, atMs, tookMs: performance.now() - began, state: dealt });
});
process.on('disconnect', () => process.exit()); // Nobody is left to ask.
process.send?.('ready');
