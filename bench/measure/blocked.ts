/** How long event loops stand still while eight processes write one file, next to a process that does nothing. */

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Figures } from '../bench-runner.ts';
import { changingCell } from './breaker-decision.ts';
import { loadStores } from './library.ts';

const writers = 8;
const writeMs = 4_000;
/** Starting is not what is measured: processes that start together hold each other up. */
const settleMs = 1_500;

/** The longest stall of any of the writers and of the idle one in milliseconds, and how many changes were written. */
export async function blocked(): Promise<Figures> {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-bench-'));
  try {
    const path = join(folder, 'store.db');
    const jobs = [['stall'], ...Array.from({ length: writers }, () => ['write', path])];
    const [idle, ...busy] = await Promise.all(jobs.map(childFigures));
    const longestMs = Math.max(...busy.map(({ stallMs }) => stallMs!));
    const transactions = busy.reduce((sum, { transactions = 0 }) => sum + transactions, 0);
    return { longestMs, idleMs: idle!.stallMs!, perSecond: Math.round(transactions / (writeMs / 1000)) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function childFigures(args: readonly string[]): Promise<Figures> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...process.execArgv, process.argv[1]!, ...args]);
    let out = '';
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk;
    });
    child.stderr.pipe(process.stderr);
    child.on('close', (code) => {
      if (code === 0) resolve(JSON.parse(out) as Figures);
      else reject(new Error(`${args.join(' ')} ended with ${code}`));
    });
  });
}

/** Arguments: the file. A failure each millisecond, by both doors in turn. */
export async function write([path = '']: readonly string[]): Promise<Figures> {
  const { sqliteStore } = await loadStores();
  const store = sqliteStore({ path });
  const { cell, update } = await changingCell(store);
  let transactions = 0;
  const timer = setInterval(() => {
    transactions++;
    const transaction = { changes: [{ cell, update }], queueIfUnavailable: true };
    if (transactions % 2 === 0) store.shared.commitNow(transaction);
    else void store.shared.commit(transaction);
  }, 1);
  const figures = await stall();
  clearInterval(timer);
  await store.shared.settled();
  store.close();
  return { ...figures, transactions };
}

/** How long the event loop of this process stands still at most. */
export async function stall(): Promise<Figures> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  await new Promise((resolve) => setTimeout(resolve, settleMs));
  delay.enable();
  await new Promise((resolve) => setTimeout(resolve, writeMs));
  delay.disable();
  return { stallMs: delay.max / 1e6 };
}
