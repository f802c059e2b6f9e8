/**
 * Measures the time from a trip in one process to its event at a client of `switchgear serve`, beside a bare stream of
 * events, and the same with many clients of which half never read. Prints a table; `--rounds N` and `--clients N`.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { defaultBreaker } from '../src/core/controls/breaker/defaults.ts';
import { startServer } from '../src/server/start-server.ts';
import { sqliteStore } from '../src/stores/sqlite/index.ts';

const { values } = parseArgs({ options: { rounds: { type: 'string' }, clients: { type: 'string' } } });
const rounds = Number(values.rounds ?? 300);
const clients = Number(values.clients ?? 200);

/** Connects to a stream; the first halt after each call of `next` resolves it with its arrival. */
async function connect(port: number, headers: Readonly<Record<string, string>>): Promise<() => Promise<bigint>> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get({ host: '127.0.0.1', port, path: '/api/events', headers, agent: false }, resolve).on('error', reject);
  });
  const waiting: ((atNs: bigint) => void)[] = [];
  response.on('data', (part: Buffer) => {
    if (!/"kind":"halt".*"state":"open"/.test(part.toString())) return;
    waiting.shift()?.(process.hrtime.bigint());
  });
  return () => new Promise((resolve) => waiting.push(resolve));
}

function start(kind: string, path = '') {
  const file = join(import.meta.dirname, 'screen-child.ts');
  const child = spawn(process.execPath, [file, kind, path], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return { child, line: async () => (await lines.next()).value as string };
}

async function measure(child: ReturnType<typeof start>, next: () => Promise<bigint>): Promise<readonly number[]> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const arrived = next();
    child.child.stdin.write('go\n');
    const atNs = BigInt(await child.line());
    times.push(Number((await arrived) - atNs) / 1e6);
  }
  child.child.stdin.end();
  await once(child.child, 'exit');
  return times.toSorted((a, b) => a - b);
}

function formatRow(name: string, times: readonly number[]): string {
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(share * times.length))]!.toFixed(1);
  return `| ${name} | ${at(0.5)} | ${at(0.99)} | ${at(1)} |`;
}

const folder = mkdtempSync(join(tmpdir(), 'switchgear-bench-'));
const path = join(folder, 'store.db');
const store = sqliteStore({ path });
const server = await startServer(store, {
  ...{ host: '127.0.0.1', port: 0, allowedHosts: [], startRole: 'operator', user: 'bench', storeName: 'bench' },
  findTripSettings: async () => defaultBreaker,
});
const headers = { authorization: `Bearer ${server.token}`, 'x-switchgear': '1' };
try {
  process.stdout.write(`load ${loadavg()[0]!.toFixed(1)}, ${rounds} rounds\n\n`);
  process.stdout.write('| from trip to event | p50 ms | p99 ms | max ms |\n| --- | ---: | ---: | ---: |\n');
  const echo = start('echo');
  const echoed = await connect(Number(await echo.line()), {});
  process.stdout.write(`${formatRow('a bare stream of events', await measure(echo, echoed))}\n`);
  const trip = start('trip', path);
  await trip.line();
  process.stdout.write(`${formatRow('switchgear serve', await measure(trip, await connect(server.port, headers)))}\n`);
  for (let at = 0; at < clients; at++) {
    const request = get({ host: '127.0.0.1', port: server.port, path: '/api/events', headers, agent: false });
    request.on('error', () => undefined);
    request.on('response', (response) => (at % 2 === 0 ? response.resume() : response.pause()));
  }
  const crowd = start('trip', path);
  await crowd.line();
  const before = process.memoryUsage().rss;
  const times = await measure(crowd, await connect(server.port, headers));
  const grown = (process.memoryUsage().rss - before) / 1e6;
  process.stdout.write(`${formatRow(`with ${clients} more clients, half of which never read`, times)}\n`);
  process.stdout.write(`\nmemory of server and clients grew by ${grown.toFixed(0)} MB\n`);
} finally {
  await server.close();
  store.close();
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
