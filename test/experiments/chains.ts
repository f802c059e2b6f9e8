/**
 * Chains under kill -9: each run is killed at a random time and gone on with by another process. A step that is not
 * marked idempotent never runs twice; what is killed inside a step is in doubt, says so, and finishes once settled.
 */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onBothStores } from './both-stores.ts';
import type { Where } from './breaker-transactions.ts';
import { freeStep, stepIds } from './chains-plan.ts';
import {
  type Child,
  type Form,
  pause,
  type Report,
  report,
  seeded,
  startChild,
  type Verdict,
  verdictOf,
} from './verdict.ts';

interface Told {
  readonly status: string;
  /** The step in doubt. */
  readonly step?: string;
}

/** How long a step takes, and how long the parent may wait before it kills: about as long as a run. */
const waitMs = 4;
const killWithinMs = 80;

export async function chains(form: Form): Promise<Verdict> {
  const told = report(form);
  const random = seeded(form.seed);
  await onBothStores(async (name, where, folder) => {
    const total = name === 'sqlite' ? (form.short ? 12 : 500) : form.short ? 4 : 40;
    await killRuns(name, where, join(folder, `${name}.log`), total, random, told);
  });
  return verdictOf('chains', form, told);
}

async function killRuns(
  name: string,
  where: Where,
  log: string,
  total: number,
  random: (below: number) => number,
  told: Report,
): Promise<void> {
  const start = () => startChild('chains-child.ts', { where, log });
  const figures = { 'killed before it began': 0, 'killed between steps': 0, 'in doubt': 0, 'done before the kill': 0 };
  let child = await start();
  for (let at = 0; at < total; at++) {
    const id = `${name}-${at}`;
    const spare = start(); // Ready when the other one is gone.
    const answer = child.ask<Told>({ what: 'run', id, waitMs }).catch((): undefined => undefined);
    const early = await Promise.race([answer, pause(random(killWithinMs)).then((): undefined => undefined)]);
    await child.kill();
    child = await spare;
    let now = await child.ask<Told>({ what: 'resume', id });
    if (now.status === 'run_over') figures['done before the kill']++;
    else if (now.status === 'unknown_run') {
      figures['killed before it began']++;
      now = await child.ask<Told>({ what: 'run', id, waitMs });
    } else if (now.status === 'in-doubt') {
      figures['in doubt']++;
      now = await settle(child, id, now, log);
    } else figures['killed between steps']++;
    told.fault(early !== undefined && early.status !== 'done', `${id}: ended as ${early?.status} before it was killed`);
    told.fault(now.status !== 'done' && now.status !== 'run_over', `${id}: ended as ${now.status}`);
  }
  await child.kill();
  check(name, log, total, told);
  told.fault(figures['in doubt'] === 0 && total >= 100, `${name}: no kill hit a step`);
  for (const [what, count] of Object.entries(figures)) told.figures[`${name}: ${what}`] = count;
  told.figures[`${name}: runs`] = total;
  told.figures[`${name}: share in doubt`] = Math.round((figures['in doubt'] / total) * 1000) / 1000;
}

/** As a person would: who counted says whether the step was done. */
async function settle(child: Child, id: string, { step = '' }: Told, log: string): Promise<Told> {
  const again = await child.ask<Told>({ what: 'resume', id });
  if (again.status !== 'in-doubt') return { status: `${again.status}, although nobody had settled the doubt` };
  const ran = counts(log).get(`${id} ${step}`) ?? 0;
  return child.ask<Told>({ what: ran === 0 ? 'redo' : 'done', id, waitMs });
}

function check(name: string, log: string, total: number, told: Report): void {
  const executed = counts(log);
  let twice = 0;
  for (let at = 0; at < total; at++) {
    for (const step of stepIds) {
      const times = executed.get(`${name}-${at} ${step}`) ?? 0;
      if (step === freeStep) {
        if (times > 1) twice++;
        told.fault(times === 0, `${name}-${at}: step ${step} never ran`);
      } else told.fault(times !== 1, `${name}-${at}: step ${step} ran ${times} times`);
    }
  }
  told.figures[`${name}: idempotent steps that ran again`] = twice;
}

function counts(log: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  if (!existsSync(log)) return found;
  for (const line of readFileSync(log, 'utf8').split('\n')) found.set(line, (found.get(line) ?? 0) + 1);
  return found;
}
