/** Decides without pause over a store that may be away, and says how long the longest decision took. */

import { refusalAt } from '../../src/core/controls/breaker/breaker.ts';
import { redisStore } from '../../src/stores/redis/index.ts';
import { breakerCell, settingsOf } from './breaker-transactions.ts';

const { url } = JSON.parse(process.argv[2]!) as { readonly url: string };
const unhandled: string[] = [];
process.on('unhandledRejection', (error) => unhandled.push(String(error)));
process.on('uncaughtException', (error) => unhandled.push(String(error)));

const store = await redisStore({ url, graceMs: 0 });
const { shared } = store;
const settings = settingsOf(1, 15);
const breaker = breakerCell(store);
const counter = store.cell('counter', () => ({ count: 0 }));
const events: string[] = [];
shared.watch((hint) => {
  if (hint.type !== 'cell-changed') events.push(hint.type);
});
let granted = 0;
let counted = 0;

async function decide(at: number): Promise<number> {
  const began = performance.now();
  shared.refresh();
  refusalAt(breaker.state, settings, store.clock.nowMs());
  if (at % 50 === 0) {
    const result = await shared.commit({ adds: [{ key: 'money', amount: 1, ceiling: 1_000_000 }] });
    if (result.status === 'committed') granted++;
  } else if (at % 50 === 25) {
    const update = ({ count }: { count: number }) => ({ state: { count: count + 1 } });
    const result = await shared.commit({ changes: [{ cell: counter, update }], queueIfUnavailable: true });
    if (result.status === 'committed' || result.status === 'queued') counted++;
  }
  return performance.now() - began;
}

async function healed(): Promise<number> {
  const began = performance.now();
  while (shared.health.state !== 'shared' && performance.now() - began < 10_000) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return performance.now() - began;
}

/** What the store says in the end. A machine that stands still for a deadline is away once more: then it asks again. */
async function readTotals(): Promise<{ readonly money: number; readonly count: number }> {
  let money = -1;
  let count = 0;
  for (let tries = 0; tries < 10 && (money === -1 || events.at(-1) === 'degraded'); tries++) {
    await healed();
    await shared.settled();
    const [stored] = await shared.read('counter', 1);
    const probe = await shared.commit({ adds: [{ key: 'money', amount: 0 }] });
    money = probe.status === 'committed' ? (probe.totals[0] ?? -1) : -1;
    count = (stored?.state as { count: number } | undefined)?.count ?? 0;
  }
  return { money, count };
}

process.on(
  'message',
  async (message: { readonly decisions?: number; readonly heal?: boolean; readonly end?: boolean }) => {
    if (message.decisions !== undefined) {
      let longest = 0;
      const slow: number[] = [];
      for (let at = 0; at < message.decisions; at++) {
        const took = await decide(at);
        longest = Math.max(longest, took);
        if (took > 1) slow.push(took);
        if (at % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      process.send?.({ longest, slow: slow.length, state: shared.health.state });
    } else if (message.heal) {
      process.send?.(await healed());
    } else {
      const { money, count } = await readTotals();
      process.send?.({ granted, counted, money, count, events, unhandled });
    }
  },
);
process.on('disconnect', () => process.exit()); // Nobody is left to ask.
process.send?.('ready');
