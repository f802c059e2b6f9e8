/** The breaker alone, against the bare call and the peers: time per call. */

import type { BenchRunner, Repeated } from '../bench-runner.ts';
import { contenders } from '../measure/contenders.ts';
import type { Scenario } from '../measure/speed.ts';
import { formatTable, formatTargetTable, formatTime, round, type TargetFigure } from '../report.ts';

const targets: readonly (readonly [what: string, name: string, scenario: Scenario, target: number])[] = [
  ['async success (goal 1.75)', 'switchgear', 'success', 1.9],
  ['async success, slow calls judged', 'switchgear/slow', 'success', 2.6],
  ['async success, with a timeout', 'switchgear/timeout', 'success', 3],
  ['two-step admit and settle, to the same handler without', 'switchgear/two-step', 'success', 1.15],
  ['failure, to a bare failure', 'switchgear', 'failure', 1.15],
  ['refusal as a value, to a bare success', 'switchgear', 'refused-value', 0.1],
  ['refusal as a rejected promise, to a bare success', 'switchgear', 'refused', 4],
];

const scenarios: readonly Scenario[] = ['success', 'in-flight', 'failure', 'refused'];

export function breakerTables(runner: BenchRunner): string {
  const known = new Map<string, Repeated>();
  const measure = (name: string, scenario: Scenario): Repeated => {
    const key = `${name} ${scenario}`;
    const figures = known.get(key) ?? runner.often('speed', [name, scenario]);
    known.set(key, figures);
    return figures;
  };
  const held: readonly TargetFigure[] = targets.map(([what, name, scenario, target]) => {
    const { middle, least, most } = measure(name, scenario);
    return { what, measured: middle.ratio!, target, unit: 'x', range: [least.ratio!, most.ratio!] };
  });
  const cell = (name: string, scenario: Scenario) => {
    const { ns, ratio } = measure(name, scenario).middle;
    return `${formatTime(ns!)}, ${round(ratio!)}x`;
  };
  const bare = measure('switchgear', 'success').middle.bareNs!;
  const bareFailure = measure('switchgear', 'failure').middle.bareNs!;
  const rows = [
    ['bare `await fn()`', `${formatTime(bare)}, 1x`, '1x', `${formatTime(bareFailure)}, 1x`, '-'],
    ...contenders(runner.quick).map((name) => [name, ...scenarios.map((scenario) => cell(name, scenario))]),
  ];
  return [
    '## Breaker alone',
    'Ratios to the bare call in the same process; brackets give their range. Window of calls, permits, generations,',
    'calls in flight and a listener are on.',
    '',
    formatTargetTable(held),
    '',
    '### Next to the peers',
    'A refusal is compared with one bare success. A failure in opossum is measured with about 2,000 calls in its',
    'window; it grows with them (see Flatness).',
    '',
    formatTable(['', 'success', '256 in flight', 'failure', 'refused (awaited)'], rows),
  ].join('\n');
}
