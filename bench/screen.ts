/**
 * Measures the time from a trip in one process to its event at a client of `switchgear serve`, beside a bare stream of
 * events, to its card on the page in Chromium, and to the event with many clients of which half never read; then what
 * the server costs while nothing happens. Server, clients and agent are processes of their own. Prints a table;
 * `--rounds N` and `--clients N`.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import { findProgram } from '../test/services.ts';

const { values } = parseArgs({ options: { rounds: { type: 'string' }, clients: { type: 'string' } } });
const rounds = Number(values.rounds ?? 300);
const clients = Number(values.clients ?? 200);
/** How long the server is watched while nothing happens. */
const idleMs = 10_000;

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

function start(kind: string, ...args: readonly string[]) {
  const file = join(import.meta.dirname, 'screen-child.ts');
  const child = spawn(process.execPath, [file, kind, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return { child, line: async () => (await lines.next()).value as string };
}

async function measure(
  child: ReturnType<typeof start>,
  next: () => Promise<bigint>,
  count = rounds,
  restMs = 0,
): Promise<readonly number[]> {
  const times: number[] = [];
  for (let round = 0; round < count; round++) {
    if (restMs > 0) await setTimeout(restMs);
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
const server = start('serve', path);
const [port = '', token = ''] = (await server.line()).split(' ');
const headers = { authorization: `Bearer ${token}`, 'x-switchgear': '1' };

/** Asks the server for its memory in MB and the milliseconds it has computed. */
async function readUsage(): Promise<{ readonly memory: number; readonly cpuMs: number }> {
  server.child.stdin.write('usage\n');
  const [memory = 0, cpuMs = 0] = (await server.line()).split(' ').map(Number);
  return { memory, cpuMs };
}

async function measureTrips(name: string): Promise<void> {
  const trip = start('trip', path);
  await trip.line();
  process.stdout.write(`${formatRow(name, await measure(trip, await connect(Number(port), headers)))}\n`);
}

/** Rounds on a page, and the rest between two: the page reads its list once more after a card. */
const pageRounds = Math.min(rounds, 60);
const pageRestMs = 400;

/** Reports every change of the number of cards on a page. */
const cardWatcher = `{
  const read = () => document.querySelectorAll('article').length;
  let shown = read();
  new MutationObserver(() => {
    const now = read();
    if (now !== shown) reportCards();
    shown = now;
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
}`;

/** Measures the time from a trip to its card on the page in Chromium, with the way from the page to this process. */
async function measurePage(): Promise<void> {
  const executablePath = findProgram('chromium');
  if (executablePath === undefined) {
    process.stdout.write('| to the card on the page: chromium is not installed | | | |\n');
    return;
  }
  const browser = await chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] });
  const page = await browser.newPage();
  let waiting: ((atNs: bigint) => void) | undefined;
  await page.exposeFunction('reportCards', () => {
    waiting?.(process.hrtime.bigint());
    waiting = undefined;
  });
  await page.goto(`http://127.0.0.1:${port}/#token=${token}`);
  await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor();
  await setTimeout(2_000);
  await page.evaluate(cardWatcher);
  const trip = start('trip', path);
  await trip.line();
  const next = () => new Promise<bigint>((resolve) => (waiting = resolve));
  const times = await measure(trip, next, pageRounds, pageRestMs);
  process.stdout.write(`${formatRow(`to the card on the page (${pageRounds} rounds)`, times)}\n`);
  await browser.close();
}

try {
  process.stdout.write(`load ${loadavg()[0]!.toFixed(1)}, ${rounds} rounds\n\n`);
  process.stdout.write('| from trip to event | p50 ms | p99 ms | max ms |\n| --- | ---: | ---: | ---: |\n');
  const echo = start('echo');
  const echoed = await connect(Number(await echo.line()), {});
  process.stdout.write(`${formatRow('a bare stream of events', await measure(echo, echoed))}\n`);
  await measureTrips('switchgear serve');
  await measurePage();
  const crowd = start('crowd', port, token, String(clients));
  await crowd.line();
  const before = await readUsage();
  await measureTrips(`with ${clients} more clients, half of which never read`);
  const after = await readUsage();
  crowd.child.stdin.end();
  await once(crowd.child, 'exit');
  const idleFrom = await readUsage();
  await setTimeout(idleMs);
  const idleShare = ((await readUsage()).cpuMs - idleFrom.cpuMs) / idleMs;
  process.stdout.write(
    `\nmemory of the server grew from ${before.memory.toFixed(0)} to ${after.memory.toFixed(0)} MB\n`,
  );
  process.stdout.write(
    `computing per round with all clients: ${((after.cpuMs - before.cpuMs) / rounds).toFixed(1)} ms\n`,
  );
  process.stdout.write(`idle with two clients: ${(idleShare * 100).toFixed(1)} % of a core\n`);
} finally {
  server.child.stdin.end();
  await once(server.child, 'exit');
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
