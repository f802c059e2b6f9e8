/** A file and Redis next to what lies below them, and what many breakers and tasks weigh in each store. */

import type { BenchRunner, Repeated } from '../bench-runner.ts';
import { formatTable, formatTime, round } from '../report.ts';

const head = ['', 'measured', 'goal', ''];

export function sqliteTable(runner: BenchRunner): string {
  const all = runner.often('sqlite');
  const { bareNs, transactionNs, decideNs, awayShare } = all.middle;
  const seen = all.least.seen!;
  const { longestMs, idleMs, perSecond } = runner.once('blocked');
  return [
    '## A file',
    'Below: a read-modify-write with `node:sqlite` in `BEGIN IMMEDIATE`, in WAL mode, which copies its log by itself:',
    `${formatTime(bareNs!)}.`,
    `A transaction by commitNow takes ${formatTime(transactionNs!)},`,
    `a decision on a closed breaker ${formatTime(decideNs!)}.`,
    `While a thread copied the log, ${round(awayShare! * 100)} % of the deals had to ask again.`,
    `Eight processes write one cell of one file, by both doors in turn, ${round(perSecond!)} times a second in all;`,
    'a process that does nothing runs beside them, so that stalls of the machine are not taken for ours.',
    '',
    formatTable(head, [
      row('a deal that changes one cell, speed against the bare one', all, 'speed', 0.7, 'least'),
      row('a closed breaker that stays closed, times faster than the bare change', all, 'faster', 5, 'least'),
      [
        `a trip of another process is seen by the very next decision`,
        seen ? 'always' : 'no',
        'always',
        tick(seen === 1),
      ],
      [
        'the longest stall of an event loop while eight processes write; of one that does nothing',
        `${round(longestMs!)} ms; ${round(idleMs!)} ms`,
        '<= 25 ms, or twice the idle one',
        tick(longestMs! <= Math.max(25, 2 * idleMs!)),
      ],
    ]),
  ].join('\n');
}

export function redisTable(runner: BenchRunner): string {
  const all = runner.often('redis');
  const { getNs, transactionNs, decideNs } = all.middle;
  return [
    '## Redis',
    `Below: one GET of the same state with the same client, awaited: ${formatTime(getNs!)}.`,
    `A transaction takes ${formatTime(transactionNs!)},`,
    `a decision on a closed breaker ${formatTime(decideNs!)}.`,
    '',
    formatTable(head, [
      row('a deal that changes one cell, against one GET', all, 'ratio', 1.6, 'most'),
      row('commands sent for a closed breaker that stays closed', all, 'commands', 0, 'most', ''),
    ]),
  ].join('\n');
}

const things = {
  breaker: 'a breaker after one good call',
  'failed-breaker': 'a breaker after one failure',
  task: 'an idle task',
} as const;

export function weightTable(runner: BenchRunner): string {
  const count = runner.quick ? 10_000 : 100_000;
  const rows = Object.entries(things).map(([what, words]) => [
    words,
    ...['memory', 'sqlite', 'redis'].map((kind) => {
      const { heapBytes, storedBytes } = runner.once('store-heap', [kind, what, count]);
      return kind === 'memory' ? round(heapBytes!) : `${round(heapBytes!)} + ${round(Math.max(0, storedBytes!))}`;
    }),
  ]);
  return [
    '## Weight',
    `Bytes for each of ${count.toLocaleString('en-US')}: in the process, + in the file or in Redis.`,
    '',
    formatTable(['', 'memory', 'a file', 'Redis'], rows),
  ].join('\n');
}

function row(
  what: string,
  { middle, least, most }: Repeated,
  name: string,
  goal: number,
  bound: 'least' | 'most',
  unit = 'x',
): readonly string[] {
  const measured = middle[name]!;
  const range = least[name] === most[name] ? '' : ` (${round(least[name]!)}-${round(most[name]!)})`;
  const isMet = bound === 'least' ? measured >= goal : measured <= goal;
  return [what, `${round(measured)}${unit}${range}`, `${bound === 'least' ? '>=' : '<='} ${goal}${unit}`, tick(isMet)];
}

function tick(isMet: boolean): string {
  return isMet ? '✓' : '✗';
}
