/**
 * What `switchgear run` costs: 200 MB of events through it, against a program that only splits, parses and passes them
 * on; a gigabyte of text and the memory that takes; how long until the agent runs; what a silent run uses. Ratios are
 * of the processor time of whole processes, so that other work on the machine matters little: `node bench/run.ts`.
 */

import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  cpSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'switchgear-run-bench-'));
const wantedBytes = 200_000_000;
const rounds = 2;
let stores = 0;
const starts = 15;

interface Spent {
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

const bin = build();
const claude = join(folder, 'claude');
writeFileSync(claude, '#!/bin/sh\nexec cat "$EVENTS"\n');
chmodSync(claude, 0o755);
try {
  await main();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function main(): Promise<void> {
  const limits = ['--max-calls', '1000000', '--max-spend', '1000000', '--max-duration', '2h'];
  const asked = ['claude', '-p', 'x', '--output-format', 'stream-json', '--verbose'];
  const nothing = { node: measured(['-e', '0'], ''), run: measured([bin, 'run', '--', 'true'], '') };
  for (const kind of ['words', 'calls'] as const) {
    const events = join(folder, `${kind}.jsonl`);
    writeFileSync(events, linesOf(kind));
    const ways = {
      'a program that only passes on': [passer, events],
      'run, read and booked': [bin, 'run', '--quiet', ...limits, '--', ...asked],
      'run --raw, the same as text': [bin, 'run', '--raw', ...limits, '--', 'cat', events],
    };
    console.log(`200 MB of ${kind}, the best of ${rounds} rounds; ratios without what starting takes`);
    let base = 0;
    for (const [name, args] of Object.entries(ways)) {
      const all = Array.from({ length: rounds }, () => measured(args, events));
      const best = all.toSorted((one, other) => one.cpuSecs - other.cpuSecs)[0]!;
      const net = best.cpuSecs - (name.startsWith('run') ? nothing.run : nothing.node).cpuSecs;
      base ||= net;
      const ratio = (base / net).toFixed(2);
      console.log(
        `  ${name.padEnd(30)} ${best.cpuSecs.toFixed(2)} s of processor  ${ratio}x  peak ${best.peakMb.toFixed(0)} MB`,
      );
    }
    rmSync(events);
  }
  const flood = measured([bin, 'run', '--raw', '--', 'sh', '-c', `yes "${'x'.repeat(999)}" | head -c 1000000000`], '');
  console.log(`1 GB of text: ${flood.cpuSecs.toFixed(2)} s of processor, peak ${flood.peakMb.toFixed(0)} MB`);
  startUp();
  await idle();
}

function measured(args: readonly string[], events: string): Spent {
  const sink = openSync('/dev/null', 'w');
  const { status, stderr } = spawnSync(process.execPath, ['--import', meter, ...args], {
    stdio: ['ignore', sink, 'pipe'],
    env: { ...environment(), EVENTS: events },
    cwd: folder,
    encoding: 'utf8',
  });
  closeSync(sink);
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`);
  return JSON.parse(readFileSync(join(folder, 'used.json'), 'utf8')) as Spent;
}

/** How much later a command runs than it would by itself. */
function startUp(): void {
  const { PATH = '' } = process.env;
  const after = (program: string, args: readonly string[]) => {
    const beganMs = Date.now();
    const { stdout } = spawnSync(program, args, { cwd: folder, env: { ...environment(), PATH }, encoding: 'utf8' });
    return Number(stdout) / 1e6 - beganMs;
  };
  const date = ['date', '+%s%N'] as const;
  const times = Array.from({ length: starts }, () => ({
    with: after(process.execPath, [bin, 'run', '--', ...date]),
    without: after(date[0], date.slice(1)),
    node: after(process.execPath, ['-e', 'process.stdout.write(String(Date.now() * 1e6))']),
  }));
  const middle = (of: (one: (typeof times)[number]) => number) => times.map(of).toSorted((a, b) => a - b)[starts >> 1]!;
  const later = middle((one) => one.with - one.without).toFixed(0);
  console.log(`start-up: the command runs ${later} ms later (the middle of ${starts})`);
  console.log(`  of which Node itself takes ${middle((one) => one.node).toFixed(0)} ms`);
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

/** The package as users have it: built, outside of the checkout. */
function build(): string {
  const tsc = join(root, 'node_modules', '.bin', 'tsc');
  spawnSync(tsc, ['-p', join(root, 'tsconfig.build.json'), '--outDir', join(folder, 'dist')], { stdio: 'inherit' });
  for (const name of ['bin', 'package.json']) cpSync(join(root, name), join(folder, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  return join(folder, 'bin', 'switchgear.cjs');
}

/**
 * What Claude Code prints. `words`: for every call some hundred pieces of a text, as with partial messages. `calls`:
 * nothing but calls, each with a result some pages long.
 */
function linesOf(kind: 'words' | 'calls'): string {
  const page = 'a line of a file that an agent reads, with some words in it\n'.repeat(100);
  const model = 'claude-sonnet-4-5';
  const of = { session_id: 's', parent_tool_use_id: null };
  const lines = [JSON.stringify({ type: 'system', subtype: 'init', session_id: 's', model })];
  let bytes = 0;
  const add = (event: object) => {
    const line = JSON.stringify(event);
    lines.push(line);
    bytes += line.length + 1;
  };
  for (let n = 0; bytes < wantedBytes; n++) {
    const pieces = kind === 'words' ? 300 : 0;
    for (let at = 0; at < pieces; at++) {
      const delta = { type: 'text_delta', text: `and then some more words about page ${n}, ` };
      add({
        type: 'stream_event',
        event: { type: 'content_block_delta', index: 0, delta },
        ...of,
        uuid: `u-${n}-${at}`,
      });
    }
    const id = `call-${n}`;
    const use = { type: 'tool_use', id, name: 'Read', input: { file_path: `page-${n}.md` } };
    const usage = { input_tokens: 10, output_tokens: 2 };
    add({ type: 'assistant', message: { id: `m-${n}`, model, role: 'assistant', content: [use], usage }, ...of });
    const result = { type: 'tool_result', tool_use_id: id, content: `${n * 7919} ${page}` };
    add({ type: 'user', message: { role: 'user', content: [result] }, ...of });
  }
  return `${lines.join('\n')}\n`;
}
