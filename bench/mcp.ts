/**
 * What `switchgear mcp` costs: the round trip of a call through a blind copy of bytes, and through the proxy with all
 * controls on a SQLite file; one call in flight and sixteen. And how long a server takes to answer its first message.
 * All in one run, in turns: `npm run bench:mcp`. A checkout runs its source, which starts more slowly than a package:
 * `npm run bench:mcp BIN` measures that of an installed one.
 */

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = mkdtempSync(join(tmpdir(), 'switchgear-mcp-bench-'));
const bin = process.argv[2] ?? fileURLToPath(new URL('../bin/switchgear.cjs', import.meta.url));

/** A server that answers every request with a short text. */
const server = `let rest = '';
process.stdin.on('data', (chunk) => {
  rest += chunk;
  let out = '';
  for (let end = rest.indexOf('\\n'); end !== -1; end = rest.indexOf('\\n')) {
    const { id } = JSON.parse(rest.slice(0, end));
    rest = rest.slice(end + 1);
    const result = { content: [{ type: 'text', text: 'answer ' + id }] };
    if (id !== undefined) out += JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n';
  }
  if (out !== '') process.stdout.write(out);
});`;

const blind = `const { spawn } = require('node:child_process');
const child = spawn(process.execPath, ['-e', process.argv[1]], { stdio: ['pipe', 'pipe', 'inherit'] });
process.stdin.pipe(child.stdin);
child.stdout.pipe(process.stdout);`;

const relays = {
  blind: ['-e', blind, server],
  proxy: [bin, 'mcp', '--store', `sqlite:${join(folder, 'state.db')}`, '--', process.execPath, '-e', server],
} as const;

interface Measured {
  readonly p50: number;
  readonly cpu: number;
}

async function measure(relay: keyof typeof relays, inFlight: number, calls: number): Promise<Measured> {
  const env = { PATH: process.env.PATH, HOME: folder };
  const child = spawn(process.execPath, [...relays[relay]], { cwd: folder, env, stdio: ['pipe', 'pipe', 'inherit'] });
  const waiting = new Map<number, () => void>();
  let rest = '';
  child.stdout.on('data', (chunk) => {
    rest += chunk;
    for (let end = rest.indexOf('\n'); end !== -1; end = rest.indexOf('\n')) {
      const { id, result } = JSON.parse(rest.slice(0, end)) as { id: number; result?: { isError?: boolean } };
      rest = rest.slice(end + 1);
      if (result?.isError) throw new Error(`a call was refused: ${JSON.stringify(result)}`);
      waiting.get(id)?.();
      waiting.delete(id);
    }
  });
  let ids = 0;
  const call = () =>
    new Promise<void>((resolve) => {
      const id = ++ids;
      waiting.set(id, resolve);
      const params = { name: 'tool', arguments: { n: id, text: 'x'.repeat(200) } };
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })}\n`);
    });
  for (let n = 0; n < 500; n++) await call();
  const before = readCpuMicros(child.pid!);
  const times: number[] = [];
  const work = async () => {
    for (let n = 0; n < calls / inFlight; n++) {
      const began = performance.now();
      await call();
      times.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, work));
  const cpu = (readCpuMicros(child.pid!) - before) / calls;
  child.stdin.end();
  await new Promise((resolve) => child.once('close', resolve));
  times.sort((one, other) => one - other);
  return { p50: 1000 * times[times.length >> 1]!, cpu };
}

/** The CPU time of a process, in ticks of 10 ms (Linux). */
function readCpuMicros(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

const median = (values: readonly number[]) => values.toSorted((one, other) => one - other)[values.length >> 1]!;

/** How long it takes from the start of a process to its first answer, in milliseconds. */
async function measureStart(args: readonly string[]): Promise<number> {
  const began = performance.now();
  const env = { PATH: process.env.PATH, HOME: folder };
  const child = spawn(process.execPath, [...args], { cwd: folder, env, stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: {} })}\n`);
  await new Promise((resolve) => child.stdout.once('data', resolve));
  const ms = performance.now() - began;
  child.stdin.end();
  await new Promise((resolve) => child.once('close', resolve));
  return ms;
}

const rounds = 5;
console.log('| in flight | blind p50 µs | proxy p50 µs | ratio | proxy CPU µs per call |');
console.log('| --- | --- | --- | --- | --- |');
for (const [inFlight, calls] of [
  [1, 4_000],
  [16, 16_000],
] as const) {
  const measured: Record<keyof typeof relays, Measured[]> = { blind: [], proxy: [] };
  for (let round = 0; round < rounds; round++) {
    for (const relay of ['blind', 'proxy'] as const) measured[relay].push(await measure(relay, inFlight, calls));
  }
  const [blindMs, proxyMs] = (['blind', 'proxy'] as const).map((each) => median(measured[each].map(({ p50 }) => p50)));
  const cpu = median(measured.proxy.map((each) => each.cpu));
  const cells = [inFlight, blindMs!.toFixed(0), proxyMs!.toFixed(0), (proxyMs! / blindMs!).toFixed(2), cpu.toFixed(0)];
  console.log(`| ${cells.join(' | ')} |`);
}
const starts = { 'the server alone': ['-e', server], ...relays };
const startRounds = 15;
const started = new Map<string, number[]>(Object.keys(starts).map((name) => [name, []]));
for (let round = 0; round < startRounds; round++)
  for (const [name, args] of Object.entries(starts)) started.get(name)!.push(await measureStart(args));
console.log('\n| start of | first answer after ms | fastest | slowest |\n| --- | --- | --- | --- |');
for (const [name, times] of started)
  console.log(
    `| ${[name, ...[median(times), Math.min(...times), Math.max(...times)].map((ms) => ms.toFixed(0))].join(' | ')} |`,
  );
rmSync(folder, { recursive: true, force: true });
