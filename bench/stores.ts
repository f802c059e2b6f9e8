/**
 * Measures what shared stores cost, next to the bare thing below them. A full run writes bench/stores-results.md, which
 * is committed; `--quick` looks once and briefly, and writes nothing.
 */

import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { requireService } from '../test/services.ts';
import { openBenchRunner } from './bench-runner.ts';
import { formatOccasion } from './report.ts';
import { redisTable, sqliteTable, weightTable } from './tables/stores.ts';

const { values } = parseArgs({ options: { quick: { type: 'boolean' } } });
const quick = values.quick ?? false;
requireService('redis');
const runner = openBenchRunner(quick);
try {
  const before = load();
  const parts = [intro()];
  for (const table of [sqliteTable, redisTable, weightTable]) {
    parts.push(table(runner));
    process.stdout.write(`${parts.at(-1)}\n\n`);
  }
  parts.push(
    `The load of the machine was ${before} when this began and ${load()} at its end; idle it would be under 1.`,
  );
  if (!quick) writeFileSync(join(import.meta.dirname, 'stores-results.md'), `${parts.join('\n\n')}\n`);
} finally {
  runner.close();
}

/** How many processes wanted a processor in the last minute, on average. */
function load(): string {
  return loadavg()[0]!.toFixed(1);
}

function intro(): string {
  return [
    '# What shared stores cost',
    '',
    `${formatOccasion('npm run bench:stores')},`,
    'a Redis on the same machine. The library is compiled as it is published. Slices of the bare operation and of ours',
    'alternate in one process, a ratio is taken inside it, and the middle of',
    `${quick ? 'one run' : 'five runs'} is shown with its range. The state is that of a breaker with default settings.`,
  ].join('\n');
}
