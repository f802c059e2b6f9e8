/** Three processes that spend one budget while their store is attacked; what they spent together. */

import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { waitFor } from './attempts.ts';
import type { Spending } from './spender-child.ts';

const child = fileURLToPath(new URL('./spender-child.ts', import.meta.url));

/** What one process compiled, the next need not. */
const compiled = join(import.meta.dirname, '../../../node_modules/.cache/attacks');

export interface Spenders {
  readonly spent: () => number;
  /** Starts one more process. */
  add(): Promise<ChildProcess>;
  readonly children: readonly ChildProcess[];
  /** Kills all, and says what they spent; fails where one of them broke down. */
  end(): Promise<number>;
}

/** Starts three processes, and waits until each has spent something. */
export async function startSpenders(folder: string, where: Omit<Spending, 'ledger'>): Promise<Spenders> {
  const children: ChildProcess[] = [];
  const ledgers: string[] = [];
  const spentIn = (ledger: string) => statSync(ledger, { throwIfNoEntry: false })?.size ?? 0;
  const spent = () => ledgers.reduce((sum, ledger) => sum + spentIn(ledger), 0);
  const add = async () => {
    const ledger = join(folder, `ledger-${ledgers.length}`);
    ledgers.push(ledger);
    const started = fork(child, [JSON.stringify({ ...where, ledger } satisfies Spending)], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { NODE_COMPILE_CACHE: compiled, ...process.env },
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
    children.push(started);
    await once(started, 'message');
    return started;
  };
  await Promise.all([add(), add(), add()]);
  await waitFor('every process spends', () => ledgers.every((ledger) => spentIn(ledger) > 0));
  return {
    spent,
    add,
    children,
    async end() {
      const living = children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
      await Promise.all(
        living.map((each) => {
          const gone = once(each, 'exit');
          each.kill('SIGCONT');
          each.kill('SIGKILL');
          return gone;
        }),
      );
      for (const ledger of ledgers) {
        const error = `${ledger}.error`;
        assert.ok(!existsSync(error), existsSync(error) ? readFileSync(error, 'utf8').slice(0, 500) : '');
      }
      return spent();
    },
  };
}

/** A pause while the processes work on. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
