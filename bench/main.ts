/**
 * Measures what the safety layer costs. A full run writes bench/results.md, which is committed.
 * `--quick` looks once and briefly, `--only NAME` at one table; both print and write nothing.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type BenchRunner, openBenchRunner } from './bench-runner.ts';
import { formatOccasion } from './report.ts';
import { breakerTables } from './tables/breaker.ts';
import { countsTables } from './tables/counts.ts';
import { flatTables } from './tables/flat.ts';
import { guardTables } from './tables/guard.ts';
import { memoryTables } from './tables/memory.ts';

const tables: Readonly<Record<string, (runner: BenchRunner) => string>> = {
  breaker: breakerTables,
  counts: countsTables,
  guard: guardTables,
  memory: memoryTables,
  flat: flatTables,
};

const { values } = parseArgs({ options: { quick: { type: 'boolean' }, only: { type: 'string' } } });
const quick = values.quick ?? false;
const names = values.only === undefined ? Object.keys(tables) : [values.only];
for (const name of names) {
  if (!Object.hasOwn(tables, name)) {
    process.stderr.write(`--only must be one of ${Object.keys(tables).join(', ')}, got ${name}\n`);
    process.exit(2);
  }
}

const runner = openBenchRunner(quick);
try {
  const parts = [intro()];
  for (const name of names) {
    parts.push(tables[name]!(runner));
    process.stdout.write(`${parts.at(-1)}\n\n`);
  }
  if (!quick && values.only === undefined) {
    writeFileSync(join(import.meta.dirname, 'results.md'), `${parts.join('\n\n')}\n`);
  }
} finally {
  runner.close();
}

function intro(): string {
  return [
    '# Benchmarks',
    '',
    `${formatOccasion('npm run bench')};`,
    'opossum 10, cockatiel 4. The library is compiled as it is published. Each case runs in a process of its own,',
    'where slices of the bare and of the guarded call alternate; a ratio is taken inside its process, and the middle',
    `of ${quick ? 'one run' : 'five runs'} is shown. The guarded function is an async function that returns at once:`,
    'the hardest case for a wrapper, since a real tool call of a millisecond would hide all of it.',
  ].join('\n');
}
