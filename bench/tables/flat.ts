/** Cost per event among many: it should not grow. */

import type { BenchRunner } from '../bench-runner.ts';
import { formatMark, formatPower, formatTable, formatTime, round } from '../report.ts';

const kinds: readonly (readonly [what: string, kind: string])[] = [
  ['call of a breaker, among N breakers', 'breakers'],
  ['guarded call in a task, among N tools used in the gear', 'tools'],
  ['guarded call in a task, among N tasks', 'tasks'],
  ['guarded call, journal of all, after N entries', 'journal'],
  ['start and end of a task, among N tasks', 'task-life'],
  ['start and end of a task, among N tools used in the gear', 'task-life-tools'],
  ['failing call, N calls in the window', 'window'],
];

/** Caches and the collector make a process of a gigabyte somewhat slower; what is not flat grows tenfold per column. */
const growthMax = 2.5;

const roomy = ['--max-old-space-size=12000'];

export function flatTables(runner: BenchRunner): string {
  const numbers = runner.quick ? [100, 10_000] : [100, 1_000, 10_000, 100_000, 1_000_000];
  const measure = (kind: string, count: number) => runner.once('flat', [kind, count], roomy);
  const rows = kinds.map(([what, kind]) => {
    const figures = numbers.map((count) => measure(kind, count));
    const times = figures.map(({ ns }) => ns!);
    const growth = times.at(-1)! / times[0]!;
    return [what, ...times.map(formatTime), `${round(growth)}x ${formatMark(growth, growthMax)}`];
  });
  const sweeps = numbers.map((count) => measure('sweep', count));
  const peer = numbers.map((count) => (count <= 100_000 ? formatTime(measure('window-opossum', count).ns!) : '-'));
  return [
    '## Flatness',
    `Time of one event when N others are there. Flat means: the last is at most ${growthMax} times the first.`,
    '',
    formatTable(
      ['', ...numbers.map(formatPower), 'growth'],
      [...rows, ['opossum: failing call, N calls in the window', ...peer, '']],
    ),
    '',
    'The sweep looks at every idle task once a second:',
    '',
    formatTable(
      ['idle tasks', ...numbers.map(formatPower)],
      [
        ['one sweep', ...sweeps.map(({ pauseMs }) => formatTime(pauseMs! * 1e6))],
        ['per task', ...sweeps.map(({ ns }) => formatTime(ns!))],
      ],
    ),
  ].join('\n');
}
