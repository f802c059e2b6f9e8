/** What lives on: memory, timers, idle time, and the end of the process. */

import type { BenchRunner } from '../bench-runner.ts';
import { formatMark, formatTable, formatTargetTable, formatTime, round } from '../report.ts';

const stock = [
  ['switchgear breaker', 'breaker'],
  ["a gear's breaker, with its lane", 'gear-breaker'],
  ['idle task', 'task'],
  ['cockatiel, count window', 'cockatiel'],
  ['opossum, defaults', 'opossum'],
] as const;

const leftovers = ['open breaker', 'hung call with a timeout', 'hung tool in a task', 'idle task'] as const;

/** Below this a difference is the engine's own bookkeeping, not something kept per instance. */
const leftBytesMax = 8;
const exitMaxMs = 50;

export function memoryTables(runner: BenchRunner): string {
  const count = runner.quick ? 20_000 : 100_000;
  const sizes = stock.map(([name, kind]) => ({ name, kind, ...runner.once('heap', [kind, count]) }) as Sizes);
  const bytes = (kind: string) => sizes.find((size) => size.kind === kind)!;
  const rows = sizes.map(({ name, kind, bytes: each, leftAfterEnd, leftAfterClose, makeNs }) => [
    name,
    String(Math.round(each)),
    kind === 'gear-breaker' ? '(ends with its gear)' : String(Math.round(leftAfterEnd)),
    String(Math.round(leftAfterClose)),
    formatTime(makeNs),
  ]);
  const worst = Math.max(...['breaker', 'gear-breaker', 'task'].map((kind) => bytes(kind).leftAfterClose));
  return [
    '## Memory',
    `Bytes per instance with ${count.toLocaleString('en-US')} alive; what is left per instance after each was ended,`,
    'and after what they shared (the gear with its journal) was disposed of.',
    '',
    formatTable(['', 'bytes', 'left after its end', 'left after disposal', 'to make one'], rows),
    '',
    formatTargetTable([
      { what: 'bytes per live breaker', measured: bytes('breaker').bytes, target: 600, unit: '' },
      { what: 'bytes per live breaker of a gear', measured: bytes('gear-breaker').bytes, target: 600, unit: '' },
      { what: 'MB of 100,000 idle tasks', measured: bytes('task').bytes / 10, target: 120, unit: '' },
      { what: 'bytes left per instance after disposal, at most', measured: worst, target: leftBytesMax, unit: '' },
    ]),
    '',
    ...idleLines(runner),
    '',
    ...exitLines(runner),
  ].join('\n');
}

interface Sizes {
  readonly name: string;
  readonly kind: string;
  readonly bytes: number;
  readonly leftAfterEnd: number;
  readonly leftAfterClose: number;
  readonly makeNs: number;
}

function idleLines(runner: BenchRunner): readonly string[] {
  const timers = runner.once('timers');
  const duration = runner.quick ? 1_000 : 5_000;
  const share = (...kinds: readonly string[]) => runner.once('idle', [10_000, duration, ...kinds]).percent!;
  const rows = [
    ['an empty process', share()],
    ['10,000 breakers', share('breaker')],
    ['10,000 breakers of a gear', share('gear-breaker')],
    ['10,000 breakers and 10,000 idle tasks', share('breaker', 'task')],
    ['10,000 opossum breakers', share('opossum')],
  ] as const;
  return [
    '### Idle',
    formatTable(
      ['nobody calls them', 'share of one core'],
      rows.map(([name, percent]) => [name, `${round(percent)} %`]),
    ),
    '',
    formatTable(
      ['timers per breaker', 'made', 'target', ''],
      (['made', 'success', 'failure', 'timeout'] as const).map((when) => [
        {
          made: 'when it is made',
          success: 'by a success',
          failure: 'by a failure',
          timeout: 'by a call with a timeout',
        }[when],
        round(timers[when]!),
        '0',
        formatMark(timers[when]!, 0.01),
      ]),
    ),
  ];
}

function exitLines(runner: BenchRunner): readonly string[] {
  const empty = runner.lifeMs('exit', ['nothing']);
  const rows = leftovers.map((kind) => {
    const later = runner.lifeMs('exit', [kind]) - empty;
    return [kind, `${round(later)} ms`, `<= ${exitMaxMs} ms`, formatMark(later, exitMaxMs)];
  });
  return ['### End of the process', formatTable(['left behind', 'ends later by', 'target', ''], rows)];
}
