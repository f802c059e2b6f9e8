/** Exact counts per successful call, over those of the bare call. */

import type { BenchRunner, Figures } from '../bench-runner.ts';
import { contenders } from '../measure/contenders.ts';
import { formatMark, formatTable } from '../report.ts';

/** Nothing may be collected while bytes are counted. */
const roomy = ['--min-semi-space-size=128', '--max-semi-space-size=128'];

const figures = ['promises', 'hops', 'timers', 'bytes'] as const;

export function countsTables(runner: BenchRunner): string {
  const bare = runner.once('counts', ['bare'], roomy);
  const handler = runner.once('counts', ['bare/handler'], roomy);
  const over = (name: string): Figures => {
    const counted = runner.once('counts', [name], roomy);
    const without = name === 'switchgear/two-step' ? handler : bare;
    return Object.fromEntries(figures.map((figure) => [figure, counted[figure]! - without[figure]!]));
  };
  const all = [...contenders(runner.quick), 'guard'].map((name) => [name, over(name)] as const);
  const own = all[0]![1];
  const exact = Number(own.promises === 1 && own.hops === 0 && own.timers === 0);
  const rows = all.map(([name, counted]) => [
    name === 'guard' ? 'switchgear, whole guard in a task' : name,
    ...figures.map((figure) => signed(counted[figure]!)),
  ]);
  return [
    '## Counts per successful call',
    `Over the bare call, which has ${bare.promises} promises (its own and the engine's for the await), ${bare.hops}`,
    `turn of the microtask queue, ${bare.timers} timers and ${bare.bytes} bytes. The same on any machine, bytes`,
    'nearly so.',
    'Two-step is counted over the same handler without it.',
    '',
    formatTable(['', ...figures], rows),
    '',
    `Breaker alone: exactly +1 promise, +0 hops, no timer: ${formatMark(1, exact)}`,
  ].join('\n');
}

function signed(count: number): string {
  return count < 0 ? String(count) : `+${count}`;
}
