/**
 * Shows recorded runs to our policies and to the rules of others, side by side:
 *   npm run bench:detectors -- FILE.jsonl.gz [--by kind|source|model] [--json] [--frontier FILE.svg] [--cost]
 */

import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { measureCost } from './detectors/cost.ts';
import type { Detector } from './detectors/detector.ts';
import { computeFrontier, formatPlot, frontierSteps } from './detectors/frontier.ts';
import { peers } from './detectors/peers.ts';
import { createPolicyDetector } from './detectors/policy-detector.ts';
import { type Run, readRuns } from './detectors/runs.ts';
import { type Score, scoreAll } from './detectors/score.ts';
import { formatScores } from './detectors/table.ts';

const usage =
  'usage: npm run bench:detectors -- FILE.jsonl.gz [--by kind|source|model] [--json] [--frontier FILE.svg] [--cost]';
const groups = ['kind', 'source', 'model'] as const;

function exitWith(line: string): never {
  process.stderr.write(`${line}\n`);
  process.exit(2);
}

function readArguments() {
  try {
    const options = {
      by: { type: 'string' },
      json: { type: 'boolean' },
      frontier: { type: 'string' },
      cost: { type: 'boolean' },
    } as const;
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    if (positionals.length !== 1) exitWith(usage);
    const by = groups.find((name) => name === values.by);
    if (values.by !== undefined && by === undefined) exitWith(`--by must be kind, source or model, got "${values.by}"`);
    return { file: positionals[0]!, by, json: values.json ?? false, frontier: values.frontier, cost: values.cost };
  } catch (error) {
    exitWith(`${(error as Error).message}\n${usage}`);
  }
}

/** A bar on a terminal; elsewhere nothing. */
function createProgressBar(label: string, total?: number): (done: number) => void {
  if (!process.stderr.isTTY) return () => {};
  const width = 30;
  return (done) => {
    if (total === undefined) process.stderr.write(`\r${label} ${done}\x1b[K`);
    else if (done === total || done % 50 === 0) {
      const filled = Math.round((width * done) / total);
      process.stderr.write(`\r${label} [${'█'.repeat(filled)}${'·'.repeat(width - filled)}] ${done} of ${total}\x1b[K`);
    }
    if (done === total) process.stderr.write('\r\x1b[K');
  };
}

const { file, by, json, frontier, cost } = readArguments();
let runs: readonly Run[];
try {
  runs = await readRuns(file, createProgressBar('reading'));
} catch (error) {
  exitWith(error instanceof Error ? error.message : String(error));
}
if (cost) {
  process.stdout.write(`${await measureCost(runs)}\n`);
  process.exit();
}
const detectors: readonly Detector[] = [
  createPolicyDetector('default', {}),
  createPolicyDetector('cautious', { preset: 'cautious' }),
  createPolicyDetector('strict', { preset: 'strict' }),
  ...peers,
];
const scores: readonly Score[] = scoreAll(
  runs,
  detectors,
  by && ((run) => run[by]),
  createProgressBar('watching', runs.length),
);
if (json) process.stdout.write(`${JSON.stringify({ runs: runs.length, detectors: scores }, null, 1)}\n`);
else process.stdout.write(`${formatScores(runs.length, scores)}\n`);
if (frontier !== undefined) {
  const lines = computeFrontier(runs, createProgressBar('frontier', frontierSteps));
  writeFileSync(frontier, formatPlot(lines, scoreAll(runs, detectors, undefined)));
  process.stderr.write(`${frontier} written\n`);
}
