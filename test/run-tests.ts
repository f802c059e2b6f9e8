/**
 * `npm test`: makes the services ready that tests need, runs the tests, and prints on its last line how many passed,
 * failed and were skipped, and why. Further arguments are files and options of `node --test`.
 *
 * - `--no-install` installs nothing: tests whose service is missing are skipped.
 * - `--again` runs the files that failed once more, one at a time, also if files are given.
 * - `--without=PROGRAM` hides a program of the PATH, as if it were not installed.
 */

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { delimiter, join, relative } from 'node:path';
import { bundlePage } from '../tools/bundle-page.ts';
import { buildCommand } from './built-command.ts';
import type { Tally } from './count-reporter.ts';
import { root } from './harness/source.ts';
import { findProgram, isCi, makeReady } from './services.ts';
import { testEnvironment } from './test-environment.ts';

/** Many tests wait for processes and times: more files than cores run at once. */
const filesAtOnce = Math.max(4, availableParallelism());

/** A test that hangs fails after this time. */
const testMaxMs = 600_000;

/** More files than these have another cause than the machine. */
const retriedFilesMax = 4;

/** The command as the package has it, built once. */
let command: string | undefined;

const everyTest = ['test/*.test.ts', 'test/!(adapters)/**/*.test.ts'];

const folder = mkdtempSync(join(tmpdir(), 'switchgear-tests-'));
try {
  process.exitCode = await main(process.argv.slice(2));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function main(args: readonly string[]): Promise<number> {
  const hidden = args.flatMap((each) => (each.startsWith('--without=') ? [each.slice('--without='.length)] : []));
  for (const program of hidden) process.env.PATH = pathWithout(program, process.env.PATH ?? '');
  const mayInstall = hidden.length === 0 && !args.includes('--no-install');
  const services = await makeReady(console.log, mayInstall);
  const missing = services.flatMap((each) => each.missing ?? []);
  if (missing.length > 0 && isCi()) {
    console.log(`CI is set, so no test may be skipped: ${missing.join('; ')}`);
    return 1;
  }
  const rest = args.filter((each) => !['--no-install', '--again'].includes(each) && !each.startsWith('--without='));
  const first = await runNode(rest, filesAtOnce);
  const isRetried = args.includes('--again') || rest.every((each) => each.startsWith('-'));
  const options = rest.filter((each) => each.startsWith('-'));
  const { code, tally } = isRetried ? await runAgainAlone(first, options) : first;
  if (tally === undefined) return code || 1;
  console.log(lineOf(tally));
  if (code === 0 && tally.skipped > 0 && isCi()) {
    console.log('CI is set, so no test may be skipped');
    return 1;
  }
  return code;
}

interface Run {
  readonly code: number;
  readonly tally?: Tally;
}

/**
 * Runs the few files that failed beside others once more, one at a time: a machine that stands still for seconds breaks
 * tests of processes and deadlines. A test that passes then is named as unsteady, which is a defect to be mended.
 */
async function runAgainAlone(first: Run, options: readonly string[]): Promise<Run> {
  const files = Object.entries(first.tally?.failedFiles ?? {});
  if (first.code === 0 || first.tally === undefined || files.length === 0 || files.length > retriedFilesMax)
    return first;
  console.log(`\n${files.length} of the files failed beside others; once more, one at a time:`);
  const second = await runNode([...options, ...files.map(([file]) => file)], 1);
  if (second.code !== 0) return first;
  for (const [file, titles] of files) console.log(`unsteady: ${titles.join('; ')} (${relative(root, file)})`);
  const { passed, failed } = first.tally;
  return { code: 0, tally: { ...first.tally, passed: passed + failed, failed: 0 } };
}

/** Runs `node --test` as it prints by itself, with one more reporter that counts. */
async function runNode(args: readonly string[], concurrency: number): Promise<Run> {
  const reporter = args.find((each) => each.startsWith('--test-reporter=')) ?? '--test-reporter=spec';
  const options = args.filter((each) => each.startsWith('-') && each !== reporter);
  if (!options.some((each) => each.startsWith('--test-timeout='))) options.push(`--test-timeout=${testMaxMs}`);
  const files = args.filter((each) => !each.startsWith('-'));
  const counted = join(folder, 'counted.json');
  await bundlePage(join(root, 'dist', 'page')); // For servers that tests start from the source.
  command ??= buildCommand(join(folder, 'command'));
  const child = spawn(
    process.execPath,
    [
      '--test',
      `--test-concurrency=${concurrency}`,
      reporter,
      '--test-reporter-destination=stdout',
      `--test-reporter=${join(root, 'test', 'count-reporter.ts')}`,
      `--test-reporter-destination=${counted}`,
      ...options,
      ...(files.length > 0 ? files : everyTest),
    ],
    {
      cwd: root,
      env: {
        BUILT_COMMAND: command,
        NODE_COMPILE_CACHE: join(folder, 'compiled'),
        ...testEnvironment(process.env),
      },
      stdio: 'inherit',
    },
  );
  const code = await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve(status ?? 1));
  });
  try {
    return { code, tally: JSON.parse(readFileSync(counted, 'utf8')) as Tally };
  } catch {
    return { code }; // Node ended before it ran a test, and said why.
  }
}

function lineOf({ passed, failed, skipped, reasons }: Tally): string {
  const counts = `${passed} passed, ${failed} failed, ${skipped} skipped`;
  const [first, ...others] = Object.entries(reasons);
  if (first === undefined) return counts;
  if (others.length === 0) return `${counts}: ${first[0]}`;
  return `${counts}: ${[first, ...others].map(([reason, times]) => `${times} because ${reason}`).join('; ')}`;
}

/** The PATH with every folder that holds the program replaced by links to all else in it. */
function pathWithout(program: string, path: string): string {
  const folders = path.split(delimiter).filter((each) => each !== '');
  const replaced = folders.map((each, at) => {
    if (findProgram(program, each) === undefined) return each;
    const links = join(folder, `without-${program}-${at}`);
    mkdirSync(links);
    for (const name of readdirSync(each)) if (name !== program) symlinkSync(join(each, name), join(links, name));
    return links;
  });
  return replaced.join(delimiter);
}
