/** A disk that lies: cut, zeroed and flipped files lead to an earlier state or to a file set aside, and no error. */

import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { type Form, inFolder, type Report, report, seeded, type Verdict, verdictOf } from './verdict.ts';

const commits = 300;

export async function damage(form: Form): Promise<Verdict> {
  const told = report(form);
  const random = seeded(form.seed);
  await inFolder(async (folder) => {
    for (const part of ['log', 'file'] as const) {
      const source = join(folder, part);
      mkdirSync(source);
      make(source, part);
      const total = form.short ? 40 : part === 'log' ? 1_000 : 1_000;
      for (let at = 0; at < total; at++) await mutate(source, part, folder, random, told);
    }
  });
  return verdictOf('damage', form, told);
}

/** A store with a history: commit n makes the cell, the sum and the journal say n. */
function make(folder: string, part: 'log' | 'file'): void {
  const live = join(folder, 'live.db');
  const store = sqliteStore({ path: live });
  const cell = store.cell('history', () => ({ n: 0 }));
  for (let n = 1; n <= commits; n++) {
    store.shared.commitNow({
      changes: [{ cell, update: () => ({ state: { n } }) }],
      adds: [{ key: 'history', amount: 1 }],
      entries: [{ body: { type: 'task-missing', name: `${n}` }, place: {}, atMs: n }],
    });
  }
  // Closing copies the log into the file; to have a log, it is copied before.
  if (part === 'file') store.close();
  copyFileSync(live, join(folder, 'store.db'));
  if (part === 'log') copyFileSync(`${live}-wal`, join(folder, 'store.db-wal'));
  store.close();
}

async function mutate(
  source: string,
  part: 'log' | 'file',
  folder: string,
  random: (below: number) => number,
  told: Report,
): Promise<void> {
  const work = join(folder, 'work');
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work);
  const path = join(work, 'store.db');
  copyFileSync(join(source, 'store.db'), path);
  if (part === 'log') copyFileSync(join(source, 'store.db-wal'), `${path}-wal`);
  const target = part === 'log' ? `${path}-wal` : path;
  const how = spoil(target, random);
  try {
    const store = sqliteStore({ path });
    const aside = readdirSync(work).some((name) => name.includes('.damaged-'));
    const n = store.cell('history', () => ({ n: 0 })).state.n;
    const counter = store.shared.counter('history');
    const entries = await store.shared.entries(0, 10_000);
    const isPrefix = counter === n && entries.length === n && entries.every(({ seq }, at) => seq === at + 1);
    told.fault(!isPrefix, `${part}, ${how}: the cell says ${n}, the sum ${counter}, the journal ${entries.length}`);
    told.fault(aside && n !== 0, `${part}, ${how}: a file was set aside and its state lives on`);
    told.fault(!aside && part === 'file' && n !== commits, `${part}, ${how}: a state was lost and nobody was told`);
    const outcome = aside ? 'set aside' : n === commits ? 'whole' : 'earlier state';
    told.figures[`${part}: ${outcome}`] = Number(told.figures[`${part}: ${outcome}`] ?? 0) + 1;
    store.close();
    told.fault(aside && !existsSync(path), `${part}, ${how}: no new file`);
  } catch (error) {
    told.fault(true, `${part}, ${how}: ${String(error)}`);
  }
}

/** Changes a file as disks do; says how. */
function spoil(path: string, random: (below: number) => number): string {
  const bytes = readFileSync(path);
  const kind = random(3);
  if (kind === 0) {
    const length = random(bytes.length);
    writeFileSync(path, bytes.subarray(0, length));
    return `cut to ${length} of ${bytes.length}`;
  }
  if (kind === 1) {
    const page = random(Math.ceil(bytes.length / 4096));
    bytes.fill(0, page * 4096, (page + 1) * 4096);
    writeFileSync(path, bytes);
    return `page ${page} zeroed`;
  }
  const flips = 1 + random(8);
  const where: number[] = [];
  for (let flip = 0; flip < flips; flip++) {
    const at = random(bytes.length);
    bytes[at]! ^= 1 << random(8);
    where.push(at);
  }
  writeFileSync(path, bytes);
  return `bits flipped at ${where.join(', ')}`;
}
