/** Compiles the library as it is published, and runs every measurement in a process of its own. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const child = join(here, 'measure-child.ts');
const childMaxMs = 600_000;

/** What one measurement found, by name. */
export type Figures = Readonly<Record<string, number>>;

export interface BenchRunner {
  readonly quick: boolean;
  /** One measurement, once. */
  once(name: string, args?: readonly (string | number)[], flags?: readonly string[]): Figures;
  /** One measurement several times: the middle of each figure, and its range. */
  often(name: string, args?: readonly (string | number)[], flags?: readonly string[]): Repeated;
  /** How long a process takes from its start to its end, in milliseconds: the middle of several. */
  lifeMs(name: string, args: readonly string[]): number;
  close(): void;
}

export interface Repeated {
  readonly middle: Figures;
  readonly least: Figures;
  readonly most: Figures;
}

export function openBenchRunner(quick: boolean): BenchRunner {
  const dist = mkdtempSync(join(tmpdir(), 'switchgear-bench-'));
  compile(dist);
  const runs = quick ? 1 : 5;
  const env = { ...process.env, SWITCHGEAR_BENCH_DIST: dist, SWITCHGEAR_BENCH_MS: quick ? '80' : '400' };

  function start(name: string, args: readonly (string | number)[], flags: readonly string[]): string {
    const repetitions = ['--expose-gc', '--no-warnings', ...flags, child, name, ...args.map(String)];
    const done = spawnSync(process.execPath, repetitions, { env, encoding: 'utf8', timeout: childMaxMs });
    if (done.status !== 0) throw new Error(`${name} ${args.join(' ')} failed: ${done.error ?? done.stderr}`);
    return done.stdout;
  }

  function once(name: string, args: readonly (string | number)[] = [], flags: readonly string[] = []): Figures {
    process.stderr.write(`${name} ${args.join(' ')}\n`);
    return JSON.parse(start(name, args, flags)) as Figures;
  }

  return {
    quick,
    once,
    often(name, args = [], flags = []) {
      const repetitions = Array.from({ length: runs }, () => once(name, args, flags));
      return {
        middle: combineFigures(repetitions, median),
        least: combineFigures(repetitions, (xs) => Math.min(...xs)),
        most: combineFigures(repetitions, (xs) => Math.max(...xs)),
      };
    },
    lifeMs(name, args) {
      const lives = Array.from({ length: Math.max(runs, 3) }, () => {
        const startedMs = performance.now();
        start(name, args, []);
        return performance.now() - startedMs;
      });
      return median(lives);
    },
    close: () => rmSync(dist, { recursive: true, force: true }),
  };
}

function compile(dist: string): void {
  const root = dirname(here);
  const bin = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const args = [bin, '-p', join(root, 'tsconfig.build.json'), '--outDir', dist];
  const done = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (!existsSync(join(dist, 'index.js')))
    throw new Error(`the library does not compile:\n${done.stdout}${done.stderr}`);
  if (done.status !== 0) process.stderr.write(`compiled in spite of errors:\n${done.stdout}`);
  writeFileSync(join(dist, 'package.json'), '{ "type": "module" }\n');
}

function combineFigures(repetitions: readonly Figures[], pick: (values: readonly number[]) => number): Figures {
  const names = Object.keys(repetitions[0] ?? {});
  return Object.fromEntries(
    names.map((name) => [name, pick(repetitions.map((figures) => figures[name] ?? Number.NaN))]),
  );
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}
