/** A process that runs chains until it is killed. Each execution of a step is a line in a file of the ability's own. */

import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { functionAbilities } from '../../src/chains/abilities/functions.ts';
import { createChains } from '../../src/chains/run/chains.ts';
import type { RunState } from '../../src/chains/run/state/run-state.ts';
import { openStore, type Where } from './breaker-transactions.ts';
import { chain } from './chains-plan.ts';

const role = JSON.parse(process.argv[2]!) as { readonly where: Where; readonly log: string };
const store = await openStore(role.where);
const count = async ({ run, step, waitMs }: Readonly<Record<string, unknown>>) => {
  appendFileSync(role.log, `${run} ${step}\n`);
  await sleep(Number(waitMs));
  return { step };
};
const chains = createChains({ abilities: [functionAbilities({ count })], store, log: 'silent', env: {} });

/** What the parent wants done, and with which run. */
interface Wanted {
  readonly what: 'run' | 'resume' | 'done' | 'redo';
  readonly id: string;
  readonly waitMs: number;
}

async function work({ what, id, waitMs }: Wanted): Promise<RunState> {
  if (what === 'run') return chains.run(chain, { run: id, waitMs }, { id });
  if (what === 'resume') return chains.resume(id);
  await chains.resolve(id, what, { by: 'the experiment' });
  return chains.resume(id);
}

process.on('message', async (wanted: Wanted) => {
  try {
    const { status, steps } = await work(wanted);
    process.send?.({ status, step: steps.find((step) => step.status === 'in-doubt')?.id });
  } catch (error) {
    process.send?.({ status: (error as { code?: string }).code ?? String(error) });
  }
});
process.on('disconnect', () => process.exit()); // Nobody is left to ask.
process.send?.('ready');
