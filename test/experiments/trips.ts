/** Many processes fail at one breaker: it trips once, one entry says so, and everybody knows at once. */

import { onBothStores } from './both-stores.ts';
import { openStore, type Where } from './breaker-transactions.ts';
import { type Form, idleTwin, type Report, report, startChild, type Verdict, verdictOf } from './verdict.ts';

interface Fired {
  readonly calls: number;
  readonly tripped: number;
  readonly seenMs: number;
  readonly generation: number;
}

export async function trips(form: Form): Promise<Verdict> {
  const told = report(form);
  await onBothStores((name, where) => on(name, where, form, told));
  return verdictOf('trips', form, told);
}

async function on(name: string, where: Where, { short }: Form, told: Report): Promise<void> {
  const total = short ? 40 : 1_000;
  const children = await Promise.all(
    Array.from({ length: short ? 3 : 8 }, () => startChild('trips-child.ts', { where })),
  );
  const stall = await idleTwin();
  const seen: number[] = [];
  const calls: number[] = [];
  let generation = 1;
  const store = await openStore(where);
  for (let round = 0; round < total; round++) {
    const fired = await Promise.all(children.map((child) => child.ask<Fired>({ fire: generation })));
    const trippers = fired.reduce((sum, { tripped }) => sum + tripped, 0);
    told.fault(trippers !== 1, `${name}: round ${round} was said to trip ${trippers} times`);
    const generations = new Set(fired.map((each) => each.generation));
    told.fault(generations.size !== 1, `${name}: round ${round} ended in generations ${[...generations].join(', ')}`);
    calls.push(fired.reduce((sum, each) => sum + each.calls, 0));
    const entries = await store.shared.entries(2 * round + 1, 10);
    const [opened] = entries.filter(({ type }) => type === 'breaker-opened');
    told.fault(entries.length !== 1 || opened === undefined, `${name}: round ${round} wrote ${entries.length} entries`);
    if (opened !== undefined) seen.push(...fired.map(({ seenMs }) => seenMs - opened.atMs));
    // On one machine the very next decision knows.
    const next = await children[round % children.length]!.ask<Fired>({ fire: 0 });
    told.fault(next.calls > 0, `${name}: a call passed after the trip`);
    generation = await children[round % children.length]!.ask<number>({ reset: true });
  }
  seen.sort((a, b) => a - b);
  const p99 = seen[Math.floor(seen.length * 0.99)] ?? 0;
  const stalled = await stall();
  told.late(name === 'redis' && p99 > 50 && p99 > 2 * stalled, `${name}: known after ${p99} ms (p99)`);
  told.figures[`${name}: generations`] = total;
  told.figures[`${name}: known after ms, p50`] = Math.round(seen[seen.length >> 1]! * 10) / 10;
  told.figures[`${name}: known after ms, p99`] = Math.round(p99 * 10) / 10;
  told.figures[`${name}: calls until all knew, mean`] =
    Math.round((calls.reduce((a, b) => a + b, 0) / total) * 10) / 10;
  await Promise.all(children.map((child) => child.kill()));
  store.close();
}
