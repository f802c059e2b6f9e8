/**
 * Model calls through `switchgear gateway` with a key, metering, budgets, loop check, breakers and a SQLite file,
 * beside a bare `node:http` pass-through, one that only reads what passes, and Portkey, which is installed in a
 * temporary folder: JSON answers and streams of 100 chunks on 32 connections, and the time of a call on one connection.
 * All in one run, in turns: `npm run bench:gateway [BIN]`. With `taskset` the process under test has one core, and the
 * provider and the clients have another.
 */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const connections = 32;
const rounds = Number(process.env.ROUNDS ?? 9);
/** Rounds of calls before the first one that counts, so that all code is compiled. */
const warmUp = 2;
const folder = mkdtempSync(join(tmpdir(), 'switchgear-gateway-bench-'));
const bin = process.argv[2] ?? fileURLToPath(new URL('../bin/switchgear.cjs', import.meta.url));
const childFile = fileURLToPath(new URL('./gateway-child.ts', import.meta.url));
const canPin = availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0;
if (canPin) spawnSync('taskset', ['-p', '-c', '1', String(process.pid)]);

interface Started {
  readonly child: ChildProcess;
  readonly port: number;
}

interface Target extends Started {
  readonly headers: readonly string[];
  readonly key?: string;
}

/** Starts a process that prints its port, alone or in an address. */
async function start(core: 0 | 1, args: readonly string[], env: Record<string, string> = {}): Promise<Started> {
  const [command, ...rest] = [...(canPin ? ['taskset', '-c', String(core)] : []), process.execPath, ...args];
  const child = spawn(command!, rest, {
    ...{ cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] },
    env: { PATH: process.env.PATH, HOME: folder, ...env },
  });
  let text = '';
  for await (const part of child.stdout!) {
    text += part;
    const port = /(?:^|127\.0\.0\.1:|localhost:)(\d{4,5})\b/m.exec(text)?.[1];
    if (port !== undefined) return { child, port: Number(port) };
  }
  throw new Error(`${args.join(' ')} ended: ${text}`);
}

const messages = [
  { role: 'system', content: 'You are a helpful assistant. '.repeat(20) },
  { role: 'user', content: 'Summarise the report of last week in three sentences, please.' },
];
const tools = [{ type: 'function', function: { name: 'search', parameters: { type: 'object', properties: {} } } }];

function makeRequest({ port, headers, key = 'sk-bench' }: Target, isStream: boolean): Buffer {
  const stream = isStream ? { stream: true, stream_options: { include_usage: true } } : {};
  const body = JSON.stringify({ model: 'gpt-4o', max_tokens: 1_000, ...stream, messages, tools });
  const head = [
    'POST /v1/chat/completions HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...headers,
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}

interface Loaded {
  /** Milliseconds for all requests, and for each one. */
  readonly ms: number;
  readonly each: readonly number[];
}

/** Sends requests on some connections until enough were answered. */
function load(port: number, request: Buffer, count: number, width = connections): Promise<Loaded> {
  return new Promise((resolve, reject) => {
    let sent = 0;
    const each: number[] = [];
    const began = performance.now();
    for (let at = 0; at < width; at++) {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true });
      let held = '';
      let sentMs = 0;
      const send = () => {
        sentMs = performance.now();
        if (sent++ < count) socket.write(request);
        else socket.end();
      };
      socket.setEncoding('latin1');
      socket.on('data', (part: string) => {
        held += part;
        if (!isComplete(held)) return;
        if (!held.startsWith('HTTP/1.1 200') || !held.includes('"usage"'))
          return void reject(new Error(held.slice(0, 400)));
        held = '';
        each.push(performance.now() - sentMs);
        if (each.length === count) resolve({ ms: performance.now() - began, each });
        send();
      });
      socket.on('error', reject);
      send();
    }
  });
}

/** Whether an answer has come as a whole; there is one request at a time on each connection. */
function isComplete(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return false;
  const length = /^content-length: (\d+)/im.exec(text.slice(0, end))?.[1];
  return length === undefined ? text.endsWith('0\r\n\r\n') : text.length >= end + 4 + Number(length);
}

/** CPU time of a process so far, in microseconds. */
function readCpuMicros({ child }: Started): number {
  const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

const mock = await start(1, [childFile, 'mock']);
const upstream = `http://127.0.0.1:${mock.port}`;
const store = `sqlite:${join(folder, 'state.db')}`;
const limits = ['--max-spend', '100000', '--max-tokens', '999999999'];
const portkeyHeaders = ['x-portkey-provider: openai', `x-portkey-custom-host: ${upstream}/v1`];
const keyArgs = [bin, 'gateway', 'key', 'add', 'bench', '--budget', '$90000/day', '--store', store];
const key = spawnSync(process.execPath, keyArgs, { cwd: folder, env: { PATH: process.env.PATH, HOME: folder } });
const targets: Record<string, Target> = {
  bare: { ...(await start(0, [childFile, 'bare', String(mock.port)])), headers: [] },
  reading: { ...(await start(0, [childFile, 'reading', String(mock.port)])), headers: [] },
  switchgear: {
    ...(await start(0, [bin, 'gateway', '--port', '0', '--upstream', upstream, '--store', store, ...limits])),
    headers: [],
    key: key.stdout.toString().trim(),
  },
};
if (process.env.PORTKEY !== 'no') {
  const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefix', folder];
  // With newer versions of these two, Portkey answers every stream with 500.
  const overrides = { '@hono/node-server': '1.13.8', hono: '4.9.7' };
  const dependencies = { '@portkey-ai/gateway': '1.15.2' };
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies, overrides }));
  if (spawnSync('npm', ['install', ...flags], { stdio: 'inherit' }).status !== 0) process.exit(1);
  const script = join(folder, 'node_modules/@portkey-ai/gateway/build/start-server.js');
  const port = 20_000 + (process.pid % 20_000);
  const started = await start(0, [script, `--port=${port}`, '--headless'], { NODE_ENV: 'production' });
  targets.portkey = { ...started, port, headers: portkeyHeaders };
}

const rank = (values: readonly number[], part: number) =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length * part)]!;
const median = (values: readonly number[]) => rank(values, 0.5);

try {
  const names = Object.keys(targets);
  console.log('| 32 connections | target | per second (median, range) | times bare | CPU µs each |');
  console.log('| --- | --- | --- | --- | --- |');
  for (const [label, isStream, count] of [
    ['JSON', false, 12_800],
    ['streams of 100 chunks', true, 2_560],
  ] as const) {
    const rates = new Map<string, number[]>(names.map((name) => [name, []]));
    const cpu = new Map<string, number[]>(names.map((name) => [name, []]));
    for (let round = -1; round < rounds; round++) {
      for (const name of names) {
        const target = targets[name]!;
        const calls = (name === 'portkey' ? count / 4 : count) * (round === -1 ? warmUp : 1);
        const before = readCpuMicros(target);
        const { ms } = await load(target.port, makeRequest(target, isStream), calls);
        if (round === -1) continue;
        rates.get(name)!.push((1000 * calls) / ms);
        cpu.get(name)!.push((readCpuMicros(target) - before) / calls);
      }
    }
    const bare = rates.get('bare')!;
    for (const name of names) {
      const own = rates.get(name)!;
      const ratio = median(own.map((rate, at) => rate / bare[at]!));
      const range = `${Math.min(...own).toFixed(0)}-${Math.max(...own).toFixed(0)}`;
      const cells = [label, name, `${median(own).toFixed(0)} (${range})`, ratio.toFixed(2)];
      console.log(`| ${cells.join(' | ')} | ${median(cpu.get(name)!).toFixed(0)} |`);
    }
  }
  console.log('\n| 1 connection | target | ms of a call: p50, p99 |');
  console.log('| --- | --- | --- |');
  const direct = { ...mock, headers: [] };
  for (const [label, isStream, count] of [
    ['JSON', false, 300],
    ['streams of 100 chunks', true, 150],
  ] as const) {
    const times = new Map<string, number[]>(['direct', ...names].map((name) => [name, []]));
    for (let round = 0; round < rounds; round++) {
      for (const [name, each] of times) {
        const target = name === 'direct' ? direct : targets[name]!;
        each.push(...(await load(target.port, makeRequest(target, isStream), count, 1)).each);
      }
    }
    for (const [name, each] of times)
      console.log(`| ${label} | ${name} | ${median(each).toFixed(2)}, ${rank(each, 0.99).toFixed(2)} |`);
  }
} finally {
  for (const { child } of [mock, ...Object.values(targets)]) child.kill('SIGTERM');
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
