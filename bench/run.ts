/**
 * What `switchgear run` costs: 200 MB of events through it, against a program that only splits, parses and passes them
 * on; a gigabyte of text and the memory that takes; how long until the agent runs; what a silent run uses. Speed goes
 * by the processor time of whole processes, so that other work on the machine matters little: `npm run bench:run`.
 */

import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { publishedIn } from './published.ts';
import { formatOccasion, formatTable } from './report.ts';
import { fillWith, type Stream } from './streams.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchgear-run-bench-'));
const wantedBytes = 200_000_000;
const rounds = 3;
let stores = 0;
const starts = 20;

const streams: Readonly<Record<Stream, string>> = {
  words: 'texts in pieces, a call now and then',
  mix: 'recorded runs, with other ids and words',
  calls: 'nothing but calls, results of 6 kB',
};

interface Spent {
  readonly secs: number;
  readonly cpuSecs: number;
  readonly peakMb: number;
}

/** Writes what a process has used when it ends; children that are no Node programs are not measured. */
const meter = join(folder, 'meter.mjs');
writeFileSync(
  meter,
  `import { writeFileSync } from 'node:fs';
process.on('exit', () => {
  const { user, system } = process.cpuUsage();
  const peakMb = process.resourceUsage().maxRSS / 1024;
  writeFileSync(process.env.METER, JSON.stringify({ cpuSecs: (user + system) / 1e6, peakMb }));
});`,
);

/** The program that everything is compared with. */
const passer = join(folder, 'passer.mjs');
writeFileSync(
  passer,
  `import { spawn } from 'node:child_process';
const child = spawn('cat', [process.argv[2]], { stdio: ['inherit', 'pipe', 'inherit'] });
let rest = '';
child.stdout.setEncoding('utf8').on('data', (text) => {
  const lines = (rest + text).split('\\n');
  rest = lines.pop();
  for (const line of lines) JSON.parse(line);
  if (lines.length > 0 && !process.stdout.write(lines.join('\\n') + '\\n')) {
    child.stdout.pause();
    process.stdout.once('drain', () => child.stdout.resume());
  }
});`,
);

const bin = publishedIn(folder);
const claude = join(folder, 'claude');
writeFileSync(claude, '#!/bin/sh\nexec cat "$EVENTS"\n');
chmodSync(claude, 0o755);
try {
  await main();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function main(): Promise<void> {
  const limits = ['--max-calls', '100000000', '--max-spend', '1000000', '--max-duration', '2h'];
  const asked = ['claude', '-p', 'x', '--output-format', 'stream-json', '--verbose'];
  const nothing = { passer: measureProcess(['-e', '0'], ''), run: measureProcess([bin, 'run', '--', 'true'], '') };
  console.log(`${formatOccasion('npm run bench:run')}\n`);
  const rows: string[][] = [];
  for (const [kind, name] of Object.entries(streams)) {
    const events = join(folder, `${kind}.jsonl`);
    const lines = fillWith(kind as Stream, events, wantedBytes);
    const taken = Array.from({ length: rounds }, () => ({
      passer: measureProcess([passer, events], events),
      run: measureProcess([bin, 'run', '--quiet', ...limits, '--', ...asked], events),
    }));
    rmSync(events);
    // Each ratio is of two processes that ran one after the other. Time of the processor is without that of a start.
    const ratios = (of: (spent: Spent) => number) => taken.map((sample) => of(sample.passer) / of(sample.run));
    const net = taken.map(
      (sample) => (sample.passer.cpuSecs - nothing.passer.cpuSecs) / (sample.run.cpuSecs - nothing.run.cpuSecs),
    );
    const peak = (of: 'passer' | 'run') => String(Math.round(Math.max(...taken.map((sample) => sample[of].peakMb))));
    const least = Math.min(...taken.map(({ run }) => run.cpuSecs)).toFixed(2);
    rows.push([
      name,
      String(lines),
      `${least} s`,
      formatRatios(net),
      formatRatios(ratios(({ secs }) => secs)),
      peak('run'),
      peak('passer'),
    ]);
  }
  console.log(
    formatTable(['200 MB of', 'lines', 'processor', 'speed', 'by the clock', 'peak MiB', 'of the program'], rows),
  );
  const flood = measureProcess(
    [bin, 'run', '--raw', '--', 'sh', '-c', `yes "${'x'.repeat(999)}" | head -c 1000000000`],
    '',
  );
  console.log(`\n1 GB of text: ${flood.cpuSecs.toFixed(2)} s of processor, peak ${flood.peakMb.toFixed(0)} MiB`);
  startUp();
  await idle();
}

/** The middle of some ratios, and their range. */
function formatRatios(ratios: readonly number[]): string {
  const sorted = ratios.toSorted((left, right) => left - right);
  const [least, middle, most] = [sorted[0]!, sorted[sorted.length >> 1]!, sorted.at(-1)!].map((each) =>
    each.toFixed(2),
  );
  return `${middle}x (${least}-${most})`;
}

function measureProcess(args: readonly string[], events: string): Spent {
  const sink = openSync('/dev/null', 'w');
  const beganMs = performance.now();
  const { status, stderr } = spawnSync(process.execPath, ['--import', meter, ...args], {
    stdio: ['ignore', sink, 'pipe'],
    env: { ...environment(), EVENTS: events },
    cwd: folder,
    encoding: 'utf8',
  });
  const secs = (performance.now() - beganMs) / 1000;
  closeSync(sink);
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`);
  return { ...(JSON.parse(readFileSync(join(folder, 'used.json'), 'utf8')) as Omit<Spent, 'secs'>), secs };
}

/** How much later a command runs than it would by itself. */
function startUp(): void {
  const { PATH = '' } = process.env;
  const env = { ...environment(), PATH, NODE_COMPILE_CACHE: join(folder, 'cache') };
  const after = (program: string, args: readonly string[]) => {
    const beganMs = performance.timeOrigin + performance.now();
    const { stdout } = spawnSync(program, args, { cwd: folder, env, encoding: 'utf8' });
    return Number(stdout) / 1e6 - beganMs;
  };
  const date = ['date', '+%s%N'] as const;
  const once = () => ({
    later: after(process.execPath, [bin, 'run', '--', ...date]) - after(date[0], date.slice(1)),
    node: after(process.execPath, ['-e', 'process.stdout.write(String(Date.now() * 1e6))']),
  });
  once(); // The first one compiles what the others find in the cache.
  const times = Array.from({ length: starts }, once);
  const formatTimes = (of: (sample: (typeof times)[number]) => number) => {
    const sorted = times.map(of).toSorted((left, right) => left - right);
    return `${sorted[starts >> 1]!.toFixed(0)} ms (${sorted[0]!.toFixed(0)}-${sorted.at(-1)!.toFixed(0)})`;
  };
  console.log(`start-up: the command runs ${formatTimes(({ later }) => later)} later, the middle of ${starts}`);
  console.log(`  of which Node itself takes ${formatTimes(({ node }) => node)}`);
}

/** What a run uses while its agent is silent. */
async function idle(): Promise<void> {
  const child = spawn(process.execPath, [bin, 'run', '--', 'sleep', '30'], {
    cwd: folder,
    env: environment(),
    stdio: 'ignore',
  });
  const ticks = () => {
    const fields = readFileSync(`/proc/${child.pid}/stat`, 'latin1').split(') ')[1]!.split(' ');
    return Number(fields[11]) + Number(fields[12]);
  };
  await sleep(8_000);
  const before = ticks();
  await sleep(10_000);
  console.log(`a silent run: ${((ticks() - before) / 10).toFixed(1)} % of a processor over 10 s`);
  child.kill('SIGTERM');
}

function environment(): Record<string, string> {
  const { PATH = '' } = process.env;
  return {
    PATH: [folder, PATH].join(delimiter),
    HOME: folder,
    SWITCHGEAR_STORE: `sqlite:${join(folder, `state-${++stores}.db`)}`,
    METER: join(folder, 'used.json'),
  };
}
