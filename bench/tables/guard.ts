/** The whole default guard on an async tool inside a task. */

import type { BenchRunner } from '../bench-runner.ts';
import { formatMark, formatTable, round } from '../report.ts';

export function guardTables(runner: BenchRunner): string {
  const rows = (['empty', 'filled'] as const).map((kind) => {
    const { middle, least, most } = runner.often('guard', [kind]);
    const target = kind === 'empty' ? 1.5 : 12;
    const added = middle.addedNs! / 1e3;
    const sizes = `${middle.argumentBytes} bytes of arguments, ${middle.resultBytes} of result`;
    return [
      kind === 'empty' ? 'no arguments, no result' : sizes,
      `${round(added)} µs (${round(least.addedNs! / 1e3)}-${round(most.addedNs! / 1e3)})`,
      `<= ${target} µs ${formatMark(added, target)}`,
      `${round(middle.opossumNs! / 1e3)} µs ${formatMark(added, middle.opossumNs! / 1e3)}`,
    ];
  });
  return [
    '## Whole guard',
    'Every control on, inside a task; only the number of calls a task may make is raised. Next to it one failing call',
    'through opossum in its leanest form, in the same process.',
    '',
    formatTable(['', 'added by the guard', 'target', "cheaper than opossum's failure"], rows),
  ].join('\n');
}
