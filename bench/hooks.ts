/**
 * How long a hook takes, from the start of its process to its end, on a real file: one after the other, and six at once
 * in one session. A Node that does nothing stands beside it, so that a busy machine is seen: `npm run bench:hooks`.
 */

import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { publishedIn } from './published.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchgear-hook-bench-'));
const alone = 100;
const batches = 12;
const atOnce = 6;

const env = {
  PATH: process.env.PATH,
  SWITCHGEAR_STORE: `sqlite:${join(folder, 'state.db')}`,
  NODE_COMPILE_CACHE: join(folder, 'cache'),
};

function run(args: readonly string[], input: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const child = spawn(process.execPath, [...args], { cwd: folder, env, stdio: ['pipe', 'pipe', 'inherit'] });
    let out = '';
    child.stdout.on('data', (data) => {
      out += data;
    });
    child.on('close', (code) => {
      if (code === 0 && out === '') resolve(performance.now() - began);
      else reject(new Error(`exit code ${code}: ${out}`));
    });
    child.stdin.on('error', () => {}); // A Node that does nothing may be gone before it has read.
    child.stdin.end(input);
  });
}

function event(session: string, number: number, name: 'PreToolUse' | 'PostToolUse'): string {
  const call = { tool_name: 'Read', tool_input: { file_path: `/f${number}` }, tool_use_id: `c${number}` };
  const more = name === 'PostToolUse' ? { tool_response: `text ${number}` } : {};
  return JSON.stringify({ session_id: session, cwd: folder, hook_event_name: name, ...call, ...more });
}

/** The processor time of whole processes: other work on the machine matters little to it. */
function cpu(args: readonly string[], input: string): number {
  const meter = join(folder, 'meter.cjs');
  const used = join(folder, 'used');
  const code = "process.on('exit', () => { const { user, system } = process.cpuUsage();";
  writeFileSync(meter, `${code} require('node:fs').writeFileSync(${JSON.stringify(used)}, String(user + system)); });`);
  spawnSync(process.execPath, ['--require', meter, ...args], { cwd: folder, env, input });
  return Number(readFileSync(used, 'utf8')) / 1000;
}

function median(times: readonly number[]): number {
  return times.toSorted((left, right) => left - right)[Math.floor(times.length / 2)]!;
}

function printTimes(title: string, times: readonly number[]): void {
  const sorted = times.toSorted((left, right) => left - right);
  const at = (share: number) => `${Math.round(sorted[Math.floor((sorted.length - 1) * share)]!)} ms`;
  console.log(`${title.padEnd(34)} p50 ${at(0.5).padStart(7)}   p95 ${at(0.95).padStart(7)}   of ${times.length}`);
}

try {
  const hook = [publishedIn(folder), 'hook', 'claude-code'];
  await run(
    hook,
    JSON.stringify({ session_id: 'warm', cwd: folder, hook_event_name: 'UserPromptSubmit', prompt: 'Go.' }),
  );
  await run(hook, event('warm', 0, 'PreToolUse'));
  const node: number[] = [];
  const before: number[] = [];
  const after: number[] = [];
  for (let number = 0; number < alone; number++) {
    const session = `s${number % 3}`;
    node.push(await run(['-e', '0'], ''));
    before.push(await run(hook, event(session, number, 'PreToolUse')));
    after.push(await run(hook, event(session, number, 'PostToolUse')));
  }
  const together: number[] = [];
  const idle: number[] = [];
  for (let batch = 0; batch < batches; batch++) {
    const numbers = Array.from({ length: atOnce }, (_, at) => at);
    together.push(...(await Promise.all(numbers.map((at) => run(hook, event(`b${batch}`, at, 'PreToolUse'))))));
    idle.push(...(await Promise.all(numbers.map(() => run(['-e', '0'], '')))));
  }
  const rounds = Array.from({ length: 20 }, (_, at) => at);
  printTimes(
    'processor time: node -e 0',
    rounds.map(() => cpu(['-e', '0'], '')),
  );
  printTimes(
    'processor time: a hook',
    rounds.map((at) => cpu(hook, event('c', at, 'PreToolUse'))),
  );
  printTimes('node -e 0', node);
  printTimes('a hook before a call', before);
  printTimes('a hook after a call', after);
  printTimes(`node -e 0, ${atOnce} at once`, idle);
  printTimes(`${atOnce} hooks at once in a session`, together);
  const times = median(before) / median(node);
  console.log(`a hook takes ${times.toFixed(1)} times as long as a Node that does nothing`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
