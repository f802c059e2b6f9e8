/**
 * Measures what written rules cost: by how many there are, and by how much has happened before. A full run writes
 * bench/rules-results.md, which is committed; `--quick` looks briefly and writes nothing.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Action } from '../src/core/action.ts';
import { rulesControl } from '../src/core/controls/rules/control.ts';
import { matchStep } from '../src/core/controls/rules/evaluate.ts';
import { parseRule, type Rule } from '../src/core/controls/rules/rule.ts';
import { checkPolicy } from '../src/policy/check/check-policy.ts';
import { median } from './bench-runner.ts';
import { formatOccasion, formatTable, formatTargetTable, formatTime, round, type TargetFigure } from './report.ts';

const { values } = parseArgs({ options: { quick: { type: 'boolean' } } });
const { ruleSettings: settings } = checkPolicy({}).settings;
const action: Action = {
  id: 1,
  kind: 'step',
  name: 'trading.execute',
  agent: 'ann',
  session: 's',
  task: 't',
  fingerprint: 0,
  worstMicros: 0,
  worstTokens: 0,
  patienceMs: 0,
};
const step = { chain: 'c', ability: action.name, outputs: { amount: '750', status: 'all is well' }, agent: 'ann' };
const kinds: readonly ((at: number) => string)[] = [
  (at) => `amount>${1_000 + at}|abort`,
  (at) => `ability:mail.send${at}*|confirm`,
  (at) => `output:status|contains:error ${at}|abort`,
  (at) => `frequency>${9_000 - (at % 1_000)}/1h|throttle`,
];

/** Rules of all four conditions in turn, none of which fires. */
function makeRules(count: number): readonly Rule[] {
  return Array.from({ length: count }, (_, at) => {
    const { rule, error } = parseRule(kinds[at % kinds.length]!(at), { target: at % 2 === 0 ? '*' : 'chain:c' });
    if (rule === undefined) throw new Error(error);
    return rule;
  });
}

/** One step as a gear judges it: what fires on its values, then the verdict. */
function measureJudging(count: number): () => unknown {
  const rules = makeRules(count);
  const control = rulesControl(rules, settings);
  const state = control.initial(0);
  return () =>
    control.judge(
      state,
      { type: 'action-proposed', atMs: 0, action: { ...action, hits: matchStep(rules, step, settings) } },
      'self',
    );
}

/** One admitted run of a chain under one frequency rule that remembers so many runs already, none of them too many. */
function measureAdmitting(history: number): () => unknown {
  const { rule } = parseRule(`frequency>${history}/1d|throttle`, { target: 'chain:c' });
  const control = rulesControl(rule ? [rule] : [], settings);
  const state = control.initial(0);
  const run = { ...action, name: 'chain:c' };
  const everyMs = Math.ceil(86_400_000 / history);
  let atMs = 0;
  const admit = () => {
    atMs += everyMs;
    const verdict = control.judge(state, { type: 'action-proposed', atMs, action: run }, 'self');
    if (verdict.kind !== 'allow') throw new Error('a run was one too many');
    control.apply(state, { type: 'action-decided', atMs, action: run, verdict }, 'self');
    return verdict;
  };
  for (let at = 0; at < history; at++) admit();
  return admit;
}

/** CPU nanoseconds of a call, the middle of slices that alternate: other work on the machine counts little. */
function timed(calls: readonly (() => unknown)[]): readonly number[] {
  const slices = values.quick ? 5 : 15;
  const tracks = calls.map((call) => {
    let many = 1;
    while (slice(call, many) * many < 2e7) many *= 2; // Some 20 ms, and warm.
    return { call, many, times: [] as number[] };
  });
  for (let round = 0; round < slices; round++)
    for (const { call, many, times } of tracks) times.push(slice(call, many));
  return tracks.map(({ times }) => median(times));
}

function slice(call: () => unknown, many: number): number {
  const before = process.cpuUsage();
  for (let i = 0; i < many; i++) if (call() === undefined) throw new Error('nothing came back');
  const { user, system } = process.cpuUsage(before);
  return ((user + system) * 1_000) / many;
}

const counts = [10, 100, 1_000, 10_000];
const histories = [1, 100, 9_999];
const byRules = timed(counts.map(measureJudging));
const byHistory = timed(histories.map(measureAdmitting));

const at = (figures: readonly number[], index: number) => figures[index] ?? Number.NaN;
const targets: readonly TargetFigure[] = [
  { what: '1,000 rules against one step', measured: at(byRules, 2) / 1_000, target: 200, unit: ' µs' },
  {
    what: 'ten times the rules (1,000 to 10,000)',
    measured: at(byRules, 3) / at(byRules, 2),
    target: 15,
    unit: ' times',
  },
  {
    what: 'a full history against a short one',
    measured: at(byHistory, 2) / at(byHistory, 0),
    target: 2,
    unit: ' times',
  },
];

const page = [
  '# What written rules cost',
  `${formatOccasion('npm run bench:rules')}.\nCPU time, the middle of slices that alternate in one process.`,
  formatTargetTable(targets),
  '## By the number of rules',
  'Thresholds, abilities, outputs and frequencies in turn, none of which fires: each is looked at for every step.',
  formatTable(
    ['rules', 'one step', 'per rule'],
    counts.map((count, index) => [
      round(count),
      formatTime(at(byRules, index)),
      formatTime(at(byRules, index) / count),
    ]),
  ),
  '## By history',
  'One frequency rule: judging and admitting one run more, by the runs that are remembered.',
  formatTable(
    ['runs before', 'one run'],
    histories.map((history, index) => [round(history), formatTime(at(byHistory, index))]),
  ),
].join('\n\n');
process.stdout.write(`${page}\n`);
if (!values.quick) writeFileSync(join(import.meta.dirname, 'rules-results.md'), `${page}\n`);
