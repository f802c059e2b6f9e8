/** Files that Switchgear writes belong to this user alone, and links and folders of others are not followed. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createSwitchgear } from '../../../src/index.ts';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';
import { bin } from '../../harness/switchgear-bin.ts';
import { bash } from '../../hooks/hook-session.ts';
import { type Attempts, holdAll } from './attempts.ts';

function inFolder<T>(work: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-attack-'));
  try {
    return work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Every file and folder below, with the rights of others. */
function openTo(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => (statSync(path).mode & 0o077) !== 0);
}

function use(path: string): void {
  const gear = createSwitchgear({ store: sqliteStore({ path }), env: {}, log: 'silent', project: 'p' });
  const fails = gear.guard('t', () => {
    throw new Error('x');
  });
  for (let at = 0; at < 5; at++) assert.throws(fails);
  assert.deepEqual(openTo(join(path, '..')), [], 'while it is open');
  gear.dispose();
}

const masks: Attempts<number> = [
  ['no mask at all', 0o000],
  ['the usual mask', 0o022],
  ['a strict mask', 0o077],
];

test('held: the store, its log and its folder are for this user alone, whatever the mask is', async (context) => {
  await holdAll(context, masks, (mask) =>
    inFolder((folder) => {
      const before = process.umask(mask);
      try {
        use(join(folder, 'new', 'deep', 'state.db'));
        assert.deepEqual(openTo(join(folder, 'new')), []);
      } finally {
        process.umask(before);
      }
    }),
  );
});

test('held: what the command writes is for this user alone', async (context) => {
  const commands: Attempts<readonly string[]> = [
    ['status', ['status']],
    ['a hook', ['hook', 'claude-code']],
    ['run', ['run', '--quiet', '--', 'true']],
  ];
  await holdAll(context, commands, (args) =>
    inFolder((folder) => {
      const env = { HOME: folder, XDG_STATE_HOME: join(folder, 'state'), PATH: process.env.PATH };
      const call = { session_id: 's', ...bash('c', 'ls').pre };
      const words = ['-c', 'umask 000; exec "$0" "$@"', process.execPath, bin, ...args];
      const { status, stderr } = spawnSync('sh', words, {
        cwd: folder,
        env,
        input: JSON.stringify(call),
        encoding: 'utf8',
      });
      assert.equal(status, 0, stderr);
      if (existsSync(join(folder, 'state'))) assert.deepEqual(openTo(join(folder, 'state')), []);
    }),
  );
});

test('held: a store that cannot be one is refused in words, and nothing else is written', async (context) => {
  const places: Attempts<(folder: string) => string> = [
    ['a folder', (folder) => folder],
    [
      'a link to nowhere',
      (folder) => {
        symlinkSync(join(folder, 'no', 'such'), join(folder, 'link.db'));
        return join(folder, 'link.db');
      },
    ],
    ['a device', () => '/dev/full'],
    [
      'a text file',
      (folder) => {
        writeFileSync(join(folder, 'notes.txt'), 'These are my notes, and no database at all.');
        return join(folder, 'notes.txt');
      },
    ],
    [
      'a folder that is a file',
      (folder) => {
        writeFileSync(join(folder, 'file'), 'x');
        return join(folder, 'file', 'state.db');
      },
    ],
  ];
  await holdAll(context, places, (place) =>
    inFolder((folder) => {
      mkdirSync(join(folder, 'other'));
      const path = place(folder);
      const before = path.endsWith('.txt') ? readFileSync(path, 'utf8') : undefined;
      try {
        const store = sqliteStore({ path });
        store.close();
      } catch (error) {
        assert.ok(error instanceof Error && error.name === 'SwitchgearError', String(error));
      }
      if (before !== undefined) {
        const kept = readdirSync(folder).map(
          (name) => statSync(join(folder, name)).isFile() && readFileSync(join(folder, name), 'utf8'),
        );
        assert.ok(kept.includes(before), 'the text of another file is gone');
      }
      assert.deepEqual(readdirSync(join(folder, 'other')), []);
    }),
  );
});
