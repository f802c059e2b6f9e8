/**
 * Plays simulated worlds, one per seed: `npm run simulate -- [--seeds N] [--seed S]`.
 * `--faults` plants each known fault in turn and says after how many seeds it is found.
 */

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { faults, plant } from './simulation/faults.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '2000' },
    seed: { type: 'string', default: '1' },
    fault: { type: 'string' },
    faults: { type: 'boolean', default: false },
  },
});

if (values.faults) plantAllFaults();
else await playSeeds(Number(values.seed), Number(values.seeds), values.fault);

/** Every fault in a process of its own: a planted source cannot be taken back. */
function plantAllFaults(): void {
  let survived = 0;
  for (const { name } of faults) {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [fileURLToPath(import.meta.url), '--fault', name, '--seeds', '100'],
      { encoding: 'utf8' },
    );
    const found = /seed (\d+), step .*/.exec(stdout);
    if (status !== 1 || found === null) survived++;
    console.log(`${found === null ? `NOT FOUND ${stderr.slice(0, 500)}` : `found at ${found[0]}`}\n    ${name}`);
  }
  console.log(`${faults.length - survived} of ${faults.length} faults found within 100 seeds`);
  process.exitCode = survived === 0 ? 0 : 1;
}

async function playSeeds(first: number, count: number, faultName: string | undefined): Promise<void> {
  const fault = faults.find(({ name }) => name === faultName);
  if (faultName !== undefined && fault === undefined) throw new Error(`there is no fault '${faultName}'`);
  if (fault !== undefined) plant(fault);
  const { simulate } = await import('./simulation/world.ts');
  const reached = new Set<string>();
  const startedMs = performance.now();
  for (let seed = first; seed < first + count; seed++) {
    const run = await simulate(seed);
    for (const code of run.reached) reached.add(code);
    if (run.violation === undefined) continue;
    console.log(run.violation);
    process.exitCode = 1;
    return;
  }
  const secs = Math.round((performance.now() - startedMs) / 100) / 10;
  console.log(`${count} seeds, no violation, ${secs} s; reasons reached: ${[...reached].sort().join(', ')}`);
}
