/** A SQLite file that is deleted, scribbled on or put back: three processes never spend more than the budget. */

import assert from 'node:assert/strict';
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Attempts, byForm, holdAll, isWhole } from './attempts.ts';
import { pause, type Spenders, startSpenders } from './spenders.ts';

const budget = 400;

interface Target {
  readonly path: string;
  readonly spenders: Spenders;
}

function scribble(path: string, fromByte: number): void {
  if (!existsSync(path) || statSync(path).size <= fromByte) return;
  const file = openSync(path, 'r+');
  try {
    const length = Math.min(20_000, statSync(path).size - fromByte);
    writeSync(file, Buffer.alloc(length, 0xa5), 0, length, fromByte);
  } finally {
    closeSync(file);
  }
}

/** Copies the file and its log as they were at the first attack, and puts the copies back at every later one. */
function putBack({ path }: Target): void {
  for (const end of ['', '-wal']) {
    const copy = `${path}${end}.copy`;
    if (existsSync(copy)) copyFileSync(copy, `${path}${end}`);
    else if (existsSync(path + end)) copyFileSync(path + end, copy);
  }
}

const attacks: Attempts<(target: Target) => unknown> = [
  [
    'the file deleted',
    ({ path }) => {
      for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
    },
  ],
  ['scribbled on', ({ path }) => scribble(path, 4_096)],
  ['the header scribbled on', ({ path }) => scribble(path, 0)],
  ['the log scribbled on', ({ path }) => scribble(`${path}-wal`, 64)],
  ['truncated', ({ path }) => existsSync(path) && truncateSync(path, 5_000)],
  ['emptied', ({ path }) => existsSync(path) && truncateSync(path, 0)],
  ['the log deleted', ({ path }) => rmSync(`${path}-wal`, { force: true })],
  ['the shared memory deleted', ({ path }) => rmSync(`${path}-shm`, { force: true })],
  ['an old copy put back', putBack],
  ['another file in its place', ({ path }) => writeFileSync(path, 'this is not a database')],
  [
    'kill -9 and a new process',
    async ({ spenders }) => {
      const victim = spenders.children.findLast(({ signalCode, exitCode }) => signalCode === null && exitCode === null);
      victim?.kill('SIGKILL');
      await spenders.add();
    },
  ],
];

async function attackFile(context: TestContext, chosen: (typeof attacks)[number]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-attack-'));
  const path = join(folder, 'state.db');
  const spenders = await startSpenders(folder, { path, limit: budget });
  try {
    await holdAll(context, [chosen], async (attack) => {
      for (let round = 0; round < byForm(4, 2); round++) {
        await attack({ path, spenders });
        await pause(byForm(500, 300));
      }
      await pause(byForm(2_500, 0));
      const spent = await spenders.end();
      assert.ok(spent > 0 && spent <= budget, `${spent} of ${budget} were spent`);
    });
    for (const name of readdirSync(folder).filter((each) => each.startsWith('state.db'))) {
      const mode = statSync(join(folder, name)).mode & 0o077;
      if (!name.endsWith('.copy')) assert.equal(mode, 0, `${name} can be read by others`);
    }
  } finally {
    await spenders.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

for (const chosen of isWhole ? attacks : attacks.slice(-1)) {
  test(`held: three processes never spend more than the budget together: ${chosen[0]}`, (context) =>
    attackFile(context, chosen));
}
