/** Half-open, many processes, a few permits: exactly so many get one; after a kill -9 the next waits for the lease. */

import { onBothStores } from './both-stores.ts';
import { breakerCell, openStore, roundTransaction, settingsOf, type Where } from './breaker-transactions.ts';
import {
  type Child,
  type Form,
  idleTwin,
  pause,
  type Report,
  report,
  startChild,
  type Verdict,
  verdictOf,
} from './verdict.ts';

interface Asked {
  readonly status: string;
  readonly atMs: number;
  readonly tookMs: number;
}

export async function probes(form: Form): Promise<Verdict> {
  const told = report(form);
  await onBothStores((name, where) => on(name, where, form, told));
  return verdictOf('probes', form, told);
}

async function on(name: string, where: Where, form: Form, told: Report): Promise<void> {
  const children = await crowd(where, form.short ? 4 : 8);
  for (const permits of [1, 3]) await rounds(name, where, children, permits, form, told);
  await kills(name, where, children, form, told);
  await Promise.all(children.map((child) => child.kill()));
}

function crowd(where: Where, many: number): Promise<Child[]> {
  const roles = Array.from({ length: many }, (_, at) => ({ where, door: at % 2 ? 'now' : 'soon', name: `c${at}` }));
  return Promise.all(roles.map((role) => startChild('probes-child.ts', role)));
}

async function rounds(
  name: string,
  where: Where,
  children: readonly Child[],
  permits: number,
  { short }: Form,
  told: Report,
): Promise<void> {
  const total = short ? 60 : 10_000;
  const settings = settingsOf(permits, 15);
  const store = await openStore(where);
  const cell = breakerCell(store);
  let wrong = 0;
  let slowest = 0;
  const began = performance.now();
  for (let round = 0; round < total; round++) {
    const opened = await store.shared.commit(roundTransaction(cell, settings, store.clock.nowMs()));
    told.fault(opened.status !== 'committed', `${name}: round ${round} could not begin: ${JSON.stringify(opened)}`);
    const answers = await Promise.all(children.map((child) => child.ask<Asked>({ permits, leaseSecs: 15 })));
    const admitted = answers.filter(({ status }) => status === 'committed').length;
    slowest = Math.max(slowest, ...answers.map(({ tookMs }) => tookMs));
    if (admitted !== permits) wrong++;
  }
  told.fault(wrong > 0, `${name}, ${permits} permits: ${wrong} of ${total} rounds admitted another number`);
  told.figures[`${name} ${permits}: rounds`] = total;
  told.figures[`${name} ${permits}: slowest ask ms`] = Math.round(slowest * 10) / 10;
  told.figures[`${name} ${permits}: seconds`] = Math.round((performance.now() - began) / 100) / 10;
  store.close();
}

/** The owner of the probe dies: the next one comes after its lease, and not two at once. */
async function kills(name: string, where: Where, children: Child[], { short }: Form, told: Report): Promise<void> {
  const ask = { permits: 1, leaseSecs: 0.4 };
  const total = short ? 1 : 100;
  const settings = settingsOf(1, ask.leaseSecs);
  const store = await openStore(where);
  const cell = breakerCell(store);
  let latest = 0;
  const stall = await idleTwin();
  for (let round = 0; round < total; round++) {
    await store.shared.commit(roundTransaction(cell, settings, store.clock.nowMs()));
    const owner = children.shift()!;
    const first = await owner.ask<Asked>(ask);
    told.fault(first.status !== 'committed', `${name}: the first probe was ${first.status}`);
    await owner.kill();
    let next: Asked | undefined;
    while (next === undefined) {
      const answers = await Promise.all(children.map((child) => child.ask<Asked>(ask)));
      const admitted = answers.filter(({ status }) => status === 'committed');
      // A machine that stood still for a whole lease may see the next one in the same round of asking.
      const [earliest, second] = admitted.sort((a, b) => a.atMs - b.atMs);
      const apartMs = (second?.atMs ?? Number.POSITIVE_INFINITY) - (earliest?.atMs ?? 0);
      told.fault(apartMs < ask.leaseSecs * 1000, `${name}: two probes ${apartMs} ms apart after a kill`);
      next = earliest;
      if (next === undefined) await pause(5);
    }
    const lateMs = next.atMs - first.atMs - ask.leaseSecs * 1000;
    told.fault(lateMs < 0, `${name}: a probe ${-lateMs} ms before the dead owner's lease ended`);
    latest = Math.max(latest, lateMs);
    if (round + 1 < total) children.push(...(await crowd(where, 1)));
  }
  const stalled = await stall();
  told.late(latest > 250 && latest > 2 * stalled, `${name}: the next probe came ${latest} ms after the lease`);
  told.figures[`${name}: kills`] = total;
  told.figures[`${name}: next probe after the lease, latest ms`] = Math.round(latest);
  store.close();
}
