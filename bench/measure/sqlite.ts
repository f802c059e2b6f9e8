/** Deals in a file, next to a bare read-modify-write of `node:sqlite` in the same process. */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { BreakerState } from '../../src/core/controls/breaker/state.ts';
import type { Figures } from '../bench-runner.ts';
import { breakerKey, changingCell, decisionOn } from './breaker-decision.ts';
import { loadCore, loadStores } from './library.ts';
import { timeSides } from './slices.ts';

/** Nanoseconds of a bare change, of a deal by the synchronous door, and of a closed breaker's decision. */
export async function sqliteSpeed(): Promise<Figures> {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-bench-'));
  const { sqliteStore } = await loadStores();
  const path = join(folder, 'store.db');
  const store = sqliteStore({ path });
  try {
    const { cell, update } = await changingCell(store);
    const decide = await decisionOn(store);
    let away = 0;
    let transactions = 0;
    const commitChange = () => {
      transactions++;
      for (;;) {
        const result = store.shared.commitNow({ changes: [{ cell, update }] });
        if (result.status === 'committed') return result;
        away++; // The log is being copied: whoever must have it asks again.
      }
    };
    const [bareNs = 0, transactionNs = 0, decideNs = 0] = await timeSides([
      { call: await bareChange(join(folder, 'bare.db')), shape: 'sync' },
      { call: commitChange, shape: 'sync' },
      { call: () => decide() || undefined, shape: 'sync' },
    ]);
    tripElsewhere(path);
    const seen = decide() ? 0 : 1;
    return {
      bareNs,
      transactionNs,
      decideNs,
      speed: bareNs / transactionNs,
      faster: bareNs / decideNs,
      awayShare: away / transactions,
      seen,
    };
  } finally {
    store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What anybody would write: begin, read, parse, change, write, commit; in WAL mode, with the same state. */
async function bareChange(path: string): Promise<() => unknown> {
  const { defaultBreaker, initialBreaker } = await loadCore();
  const db = new DatabaseSync(path);
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
  db.exec('CREATE TABLE cells (key TEXT PRIMARY KEY, state TEXT NOT NULL) WITHOUT ROWID');
  db.prepare('INSERT INTO cells VALUES (?, ?)').run(breakerKey, JSON.stringify(initialBreaker(defaultBreaker)));
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const read = db.prepare('SELECT state FROM cells WHERE key = ?');
  const write = db.prepare('UPDATE cells SET state = ? WHERE key = ?');
  return () => {
    begin.run();
    const state = JSON.parse(String(read.get(breakerKey)?.state)) as BreakerState;
    state.run++;
    write.run(JSON.stringify(state), breakerKey);
    return commit.run();
  };
}

/** Another process opens the breaker, and ends. */
function tripElsewhere(path: string): void {
  const args = [...process.execArgv, process.argv[1]!, 'trip', path];
  const done = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (done.status !== 0) throw new Error(`the other process could not trip: ${done.stderr}`);
}

/** Arguments: the file. Opens the breaker in it. */
export async function trip([path = '']: readonly string[]): Promise<Figures> {
  const { sqliteStore } = await loadStores();
  const { defaultBreaker, initialBreaker, openBreaker } = await loadCore();
  const store = sqliteStore({ path, verify: false, waitMs: 2_000 });
  const cell = store.cell(breakerKey, () => initialBreaker(defaultBreaker));
  const update = (state: BreakerState) => {
    openBreaker(state, defaultBreaker, store.clock.nowMs(), 'elsewhere');
    return { state };
  };
  const { status } = store.shared.commitNow({ changes: [{ cell, update }] });
  store.close();
  return { tripped: status === 'committed' ? 1 : 0 };
}
