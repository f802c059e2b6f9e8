/**
 * Mutation testing of `src/core`: makes one small slip at a time and sees whether a test fails.
 * `npm run mutate -- [--file src/core/x.ts]… [--sample N per file] [--seed S] [--report path] [--list]`.
 * Ends with 1 where fewer than 90 % of the slips are noticed.
 */

import { spawn } from 'node:child_process';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { listFiles, readText, root } from './harness/source.ts';
import { type Mutant, mutantsOf } from './mutation/mutants.ts';
import { findRelatedTests } from './mutation/related-tests.ts';
import { random } from './simulation/random.ts';

const { values } = parseArgs({
  options: {
    file: { type: 'string', multiple: true },
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
    report: { type: 'string' },
    list: { type: 'boolean', default: false },
  },
});

const wanted = 0.9;
const atOnce = 2;
/** A run that takes this much longer than the sound one hangs. */
const patience = { factor: 6, floorMs: 10_000 };
const soundMaxMs = 120_000;
/** Which tests pass as things are. */
const known = new Map<string, boolean>();

// Bounds are chosen, not reasoned: one more or less is as good.
const files = values.file ?? listFiles('src/core').filter((path) => !/\.test\.ts$|\/limits\.ts$/.test(path));
const sample = values.sample === undefined ? Number.POSITIVE_INFINITY : Number(values.sample);
const seed = Number(values.seed);

/** The slip that is none: planted all the same, so that planting is tried, too. */
const nothing = { line: 1, at: 0, was: '', becomes: '' };

interface Row {
  readonly file: string;
  readonly mutants: number;
  readonly killed: number;
  readonly survivors: readonly Mutant[];
}

if (values.list) for (const mutant of files.flatMap(chooseMutants)) console.log(formatMutant(mutant));
else await main();

async function main(): Promise<void> {
  const startedMs = performance.now();
  const rows: Row[] = [];
  if (values.report !== undefined) writeFileSync(values.report, '');
  for (const file of files) {
    const row = await tryFile(file);
    if (row.mutants === 0) continue;
    rows.push(row);
    console.log(line(file, row.mutants, row.killed));
    if (values.report !== undefined)
      appendFileSync(values.report, row.survivors.map((one) => `${formatMutant(one)}\n`).join(''));
  }
  const mutants = rows.reduce((sum, row) => sum + row.mutants, 0);
  const killed = rows.reduce((sum, row) => sum + row.killed, 0);
  console.log(line('all', mutants, killed));
  const score = mutants === 0 ? 0 : killed / mutants;
  const secs = Math.round((performance.now() - startedMs) / 1000);
  const passed = score >= wanted;
  const leftOut = [...known].flatMap(([test, passes]) => (passes ? [] : [test]));
  const survived = mutants - killed;
  console.log(JSON.stringify({ passed, seed, mutants, killed, survived, score, wanted, leftOut, secs }));
  process.exitCode = passed ? 0 : 1;
}

async function tryFile(file: string): Promise<Row> {
  const mutants = chooseMutants(file);
  const { near, far } = findRelatedTests(file);
  const survivors = new Set(mutants);
  for (const stage of [near, far]) {
    if (survivors.size === 0) continue;
    const tests = await measureBaseline(stage, file);
    if (tests.length === 0) continue;
    const startedMs = performance.now();
    const sound = !(await detectsMutant(tests, { ...nothing, file }, soundMaxMs));
    if (!sound) throw new Error(`together, the tests of ${file} fail without a slip, too: ${tests.join(' ')}`);
    const limitMs = Math.max(patience.floorMs, (performance.now() - startedMs) * patience.factor);
    const waiting = [...survivors];
    const work = async (): Promise<void> => {
      for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
        if (await detectsMutant(tests, mutant, limitMs)) survivors.delete(mutant);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
  }
  return { file, mutants: mutants.length, killed: mutants.length - survivors.size, survivors: [...survivors] };
}

/** The tests that pass as things are, each tried once; one that fails says nothing about a slip. */
async function measureBaseline(tests: readonly string[], file: string): Promise<readonly string[]> {
  for (const test of tests) {
    if (known.has(test)) continue;
    const fails = await detectsMutant([test], { ...nothing, file }, soundMaxMs);
    known.set(test, !fails);
    if (fails) console.log(`left out, it fails without a slip: ${test}`);
  }
  return tests.filter((test) => known.get(test));
}

/** The mutants of a file, or a sample that the seed picks. */
function chooseMutants(file: string): readonly Mutant[] {
  const all = mutantsOf(file, readText(file));
  const chance = random(seed);
  const left = [...all];
  const picked = new Set<Mutant>();
  while (left.length > 0 && picked.size < sample) picked.add(left.splice(chance.whole(0, left.length - 1), 1)[0]!);
  return all.filter((mutant) => picked.has(mutant));
}

/** Whether a test fails, or hangs, with the slip in place. */
function detectsMutant(tests: readonly string[], mutant: Mutant, limitMs: number): Promise<boolean> {
  const job = JSON.stringify({ tests, mutant });
  const child = spawn(process.execPath, [join(root, 'test/mutation/child.ts'), job], {
    stdio: 'ignore',
    timeout: Math.ceil(limitMs),
    killSignal: 'SIGKILL',
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code) => resolve(code !== 0));
  });
}

function line(name: string, mutants: number, killed: number): string {
  const share = ((100 * killed) / mutants).toFixed(1);
  return `${name.padEnd(36)}${`${mutants}`.padStart(5)} mutants${`${killed}`.padStart(6)} killed${share.padStart(7)} %`;
}

function formatMutant({ file, line: at, was, becomes }: Mutant): string {
  const text = readText(file).split('\n')[at - 1]?.trim();
  return `${file}:${at}  ${was.replace(/\s+/g, ' ')} → ${becomes.replace(/\s+/g, ' ') || '(gone)'}    in  ${text}`;
}
