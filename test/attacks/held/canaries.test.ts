/** Secrets in every place where they may come in: none of the views that people and programs have shows one. */

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { main } from '../../../src/cli/main.ts';
import { createSwitchgear, type Switchgear, type Task } from '../../../src/index.ts';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';
import { type Attempts, holdAll } from './attempts.ts';

const canary = 'canary-7f3a9c51-sk-live-DO-NOT-KEEP';

type Place = (gear: Switchgear, task: Task) => unknown;

const places: Attempts<Place> = [
  ['arguments', (gear) => gear.guard('a', (_text: string) => 'ok')(canary)],
  ['nested arguments', (gear) => gear.guard('b', (_value: object) => 'ok')({ headers: { authorization: [canary] } })],
  ['a result', (gear) => gear.guard('c', () => ({ token: canary }))()],
  [
    'an error',
    (gear) => {
      const fails = gear.guard('d', () => {
        throw Object.assign(new Error(`bad key ${canary}`), { cause: canary });
      });
      for (let at = 0; at < 6; at++)
        try {
          fails();
        } catch {
          /* The caller sees it. */
        }
    },
  ],
  [
    'the name of an error',
    (gear) => {
      const fails = gear.guard('e', () => {
        throw Object.assign(new Error('x'), { code: 1, name: `E ${canary}`.slice(0, 1) });
      });
      try {
        fails();
      } catch {
        /* The caller sees it. */
      }
    },
  ],
  ['what the model says', (_gear, task) => task.observe({ type: 'assistant', text: `the key is ${canary}` })],
  ['what the user says', (_gear, task) => task.observe({ type: 'user', text: `my password is ${canary}` })],
  [
    'an observed call',
    (_gear, task) => {
      task.observe({ type: 'tool_use', id: 'o', name: 'seen', input: { password: canary } });
      task.observe({ type: 'tool_result', id: 'o', output: `token=${canary}` });
    },
  ],
  [
    'a failed observed call',
    (_gear, task) => {
      task.observe({ type: 'tool_use', id: 'f', name: 'seen', input: { command: `curl -H ${canary}` } });
      task.observe({ type: 'tool_result', id: 'f', ok: false, output: `401 for ${canary}` });
    },
  ],
  [
    'a loop of calls',
    (gear) => {
      const look = gear.guard('g', (_text: string) => `nothing for ${canary}`);
      for (let at = 0; at < 12; at++) look(canary);
    },
  ],
  [
    'a loop of words',
    (_gear, task) => {
      for (let at = 0; at < 5; at++) task.observe({ type: 'assistant', text: `again and again the key is ${canary}` });
    },
  ],
  ['a refused call', (gear) => gear.guard('forbidden', (_text: string) => 'ok')(canary)],
  ['a call that asks', (gear) => gear.guard('asked', async (_value: object) => 'ok')({ amount: 900, iban: canary })],
  ['the request of a delegation', (gear) => gear.delegate('worker', () => 'done', { request: canary })],
];

/** Every view of a store: what the commands print, and the bytes of its files. */
async function viewsOf(folder: string): Promise<readonly (readonly [string, string])[]> {
  const env = { HOME: folder, SWITCHGEAR_STORE: `sqlite:${join(folder, 'state.db')}` };
  const commands = [
    ['status'],
    ['status', '--json'],
    ['tail', '-n', '500'],
    ['tail', '-n', '500', '--json'],
    ['inbox', 'list', '--all'],
    ['inbox', 'list', '--all', '--json'],
    ['chain', 'list', '--all'],
    ['inbox', 'standing'],
  ];
  const views: [string, string][] = [];
  for (const args of commands) {
    const lines: string[] = [];
    await main(args, { cwd: folder, env, out: (line) => lines.push(line), err: (line) => lines.push(line) });
    views.push([args.join(' '), lines.join('\n')]);
  }
  for (const name of readdirSync(folder)) views.push([`the file ${name}`, readFileSync(join(folder, name), 'latin1')]);
  return views;
}

test('held: a secret is in no view: journal, snapshot, log, status, tail, inbox, files', async (context) => {
  await holdAll(context, places, async (enter) => {
    const folder = mkdtempSync(join(tmpdir(), 'switchgear-attack-'));
    const lines: string[] = [];
    const gear = createSwitchgear({
      agent: 'A',
      project: 'p',
      env: {},
      log: (line) => lines.push(line),
      store: sqliteStore({ path: join(folder, 'state.db') }),
      policy: {
        journal: { level: 'all' },
        rules: [
          { condition: 'ability:forbidden', action: 'abort' },
          { target: 'tool:asked', condition: 'amount>500', action: 'confirm' },
        ],
      },
    });
    try {
      await gear.task({ id: 't' }, (task) => enter(gear, task) as Promise<unknown>);
      const own = [
        ['the journal', JSON.stringify(gear.journal())],
        ['the snapshot', JSON.stringify(gear.snapshot())],
        ['the log', lines.join('\n')],
      ] as const;
      gear.dispose();
      const views = [...own, ...(await viewsOf(folder))];
      assert.ok(views.length >= 9);
      for (const [view, text] of views) {
        assert.ok(!text.includes(canary) && !text.includes(canary.slice(0, 18)), `${view} shows it`);
      }
      assert.ok(own[0][1].length > 2, 'the journal is empty');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

test('held: a password in the address of a store is not printed', async (context) => {
  const addresses = [
    `redis://ops:${canary}@127.0.0.1:1/0`,
    `rediss://:${canary}@127.0.0.1:1`,
    `redis://127.0.0.1:1/0?password=${canary}`,
  ];
  await holdAll(
    context,
    addresses.map((address, at) => [`address ${at}`, address] as const),
    async (address) => {
      const folder = mkdtempSync(join(tmpdir(), 'switchgear-attack-'));
      try {
        const lines: string[] = [];
        const words = { out: (line: string) => lines.push(line), err: (line: string) => lines.push(line) };
        await main(['status'], { ...words, cwd: folder, env: { HOME: folder, SWITCHGEAR_STORE: address } });
        assert.ok(lines.length > 0);
        assert.ok(!lines.join('\n').includes(canary), lines.join('\n'));
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  );
});
