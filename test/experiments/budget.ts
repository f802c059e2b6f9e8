/** Kills some of the processes that spend shared budgets: never overspent, little lost, few round trips. */

import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { BudgetWindow } from '../../src/core/controls/budget/joint-budget.ts';
import { onBothStores } from './both-stores.ts';
import { openStore, type Where } from './breaker-transactions.ts';
import type { Round, Spent } from './budget-child.ts';
import { type Form, pause, type Report, report, seeded, startChild, type Verdict, verdictOf } from './verdict.ts';

const killedShare = 0.2;

export async function budget(form: Form): Promise<Verdict> {
  const told = report(form);
  await onBothStores((name, where, folder) => on(name, where, folder, form, told));
  return verdictOf('budget', form, told);
}

async function on(name: string, where: Where, folder: string, form: Form, told: Report): Promise<void> {
  const random = seeded(form.seed);
  const rounds = form.short ? 1 : 10;
  const total = { ceiling: 0, spent: 0, calls: 0, asks: 0, kills: 0 };
  for (let at = 0; at < rounds; at++) await round(`${name}-${at}`, where, folder, form, random, told, total);
  const usable = total.spent / total.ceiling;
  const asked = total.asks / total.calls;
  told.fault(usable < 0.98, `${name}: ${(usable * 100).toFixed(2)} % of the budgets could be spent`);
  told.fault(asked > 0.1, `${name}: ${asked.toFixed(3)} round trips for each call`);
  told.figures[`${name}: budgets`] = rounds * budgetsOf(form).count;
  told.figures[`${name}: kills`] = total.kills;
  told.figures[`${name}: usable %`] = Math.round(usable * 10_000) / 100;
  told.figures[`${name}: questions for each call, large budgets`] = Math.round(asked * 10_000) / 10_000;
  told.figures[`${name}: calls, large budgets`] = total.calls;
}

function budgetsOf({ short }: Form): { readonly count: number; readonly large: number; readonly processes: number } {
  return short ? { count: 6, large: 100_000, processes: 4 } : { count: 101, large: 1_000_000, processes: 8 };
}

/** One large budget and many small ones, spent to the end by all processes that live so long. */
async function round(
  name: string,
  where: Where,
  folder: string,
  form: Form,
  random: (below: number) => number,
  told: Report,
  total: { ceiling: number; spent: number; calls: number; asks: number; kills: number },
): Promise<void> {
  const { count, large, processes } = budgetsOf(form);
  const ceilings = Array.from({ length: count }, (_, at) => (at === 0 ? large : 200 + random(1_800)));
  const ledgers = Array.from({ length: processes }, (_, at) => join(folder, `${name}-${at}`));
  const children = await Promise.all(ledgers.map(() => startChild('budget-child.ts', {})));
  const doomed = Math.max(1, Math.round(processes * killedShare));
  const runtime = children.map((child, at) => {
    const role: Round = { where, name, ceilings, large: 1, ledger: ledgers[at]!, seed: form.seed + at };
    return child.ask<Spent>(role).catch(() => undefined); // Killed.
  });
  for (let at = 0; at < doomed; at++) {
    while ((statSync(ledgers[at]!, { throwIfNoEntry: false })?.size ?? 0) === 0) await pause(1);
    await pause(random(form.short ? 20 : 200));
    await children[at]!.kill();
    total.kills++;
  }
  for (const spent of await Promise.all(runtime)) {
    total.calls += spent?.calls ?? 0;
    total.asks += spent?.asks ?? 0;
  }
  const store = await openStore(where);
  const spends = ledgers.map(amountsIn);
  const cells = new Map((await store.shared.read(`budget/${name}/`, count)).map(({ key, state }) => [key, state]));
  ceilings.forEach((ceiling, at) => {
    const spent = spends.reduce((sum, amounts) => sum + (amounts[at] ?? 0), 0);
    told.fault(spent > ceiling, `${name}: ${spent} of ${ceiling} were spent`);
    const booked = bookedIn(cells.get(`budget/${name}/${at}`));
    told.fault(booked > ceiling, `${name}: ${booked} of ${ceiling} are booked`);
    told.fault('path' in where && booked < spent, `${name}: ${booked} are booked and ${spent} were spent`);
    total.ceiling += ceiling;
    total.spent += spent;
  });
  store.close();
  await Promise.all(children.slice(doomed).map((child) => child.kill()));
}

function bookedIn(state: unknown): number {
  return (state as BudgetWindow | undefined)?.sums.reduce((total, sum) => total + sum, 0) ?? 0;
}

/** The amounts that a process wrote to its ledger, also if the process was killed. */
function amountsIn(ledger: string): Float64Array {
  try {
    const bytes = readFileSync(ledger);
    return new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + (bytes.length & ~7)));
  } catch {
    return new Float64Array(); // It was killed before its first spending.
  }
}
