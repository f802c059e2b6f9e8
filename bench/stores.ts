/**
 * Measures what shared stores cost, next to the bare thing below them. A full run writes bench/stores-results.md, which
 * is committed; `--quick` looks once and briefly, and writes nothing.
 */

import { writeFileSync } from 'node:fs';
import { arch, availableParallelism, platform } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { redisTable, sqliteTable, weightTable } from './tables/stores.ts';
import { openWorkshop } from './workshop.ts';

const { values } = parseArgs({ options: { quick: { type: 'boolean' } } });
const quick = values.quick ?? false;
const workshop = openWorkshop(quick);
try {
  const parts = [intro()];
  for (const table of [sqliteTable, redisTable, weightTable]) {
    parts.push(table(workshop));
    process.stdout.write(`${parts.at(-1)}\n\n`);
  }
  if (!quick) writeFileSync(join(import.meta.dirname, 'stores-results.md'), `${parts.join('\n\n')}\n`);
} finally {
  workshop.close();
}

function intro(): string {
  const date = new Date().toISOString().slice(0, 10);
  const machine = `${availableParallelism()} cores, ${platform()} ${arch()}, Node ${process.versions.node}`;
  return [
    '# What shared stores cost',
    '',
    `Measured on ${date} with \`npm run bench:stores\`: ${machine},`,
    'a Redis on the same machine. The library is compiled as it is published. Slices of the bare operation and of ours',
    'alternate in one process, a ratio is taken inside it, and the middle of',
    `${quick ? 'one run' : 'five runs'} is shown with its range. The state is that of a breaker with default settings.`,
  ].join('\n');
}
