/** A Redis that forgets, hangs, fills up or is written to by others, and three processes that share a budget on it. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { createClient } from 'redis';
import { type RedisServer, startRedis, testWithRedis } from '../../redis-server.ts';
import { type Attempts, byForm, holdAll, isWhole } from './attempts.ts';
import { pause, startSpenders } from './spenders.ts';

type Send = (...words: readonly string[]) => Promise<unknown>;
type Attack = (send: Send, server: RedisServer) => Promise<unknown>;

const budget = 400;

/** The keys of the prefix that match; a cell of a budget, a counter. */
const keysOf = async (send: Send, pattern: string) => (await send('KEYS', `{attacked}:${pattern}`)) as string[];

/** Does something to every key of a pattern. */
const toEach =
  (pattern: string, change: (send: Send, key: string) => Promise<unknown>): Attack =>
  async (send) => {
    for (const key of await keysOf(send, pattern)) await change(send, key);
  };

const attacks: Attempts<Attack> = [
  ['FLUSHALL', (send) => send('FLUSHALL')],
  ['SCRIPT FLUSH', (send) => send('SCRIPT', 'FLUSH')],
  ['CLIENT KILL', (send) => send('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')],
  ['CLIENT KILL of subscribers', (send) => send('CLIENT', 'KILL', 'TYPE', 'pubsub')],
  ['DEBUG SLEEP', (send) => send('DEBUG', 'SLEEP', '0.4')],
  ['CLIENT PAUSE', (send) => send('CLIENT', 'PAUSE', '300', 'ALL')],
  [
    'a frozen server',
    async (_, server) => {
      spawnSync('kill', ['-STOP', `${server.pid}`]);
      await pause(300);
      spawnSync('kill', ['-CONT', `${server.pid}`]);
    },
  ],
  [
    'cells of another type',
    toEach('c:*', async (send, key) => {
      await send('DEL', key);
      await send('LPUSH', key, 'not', 'a', 'hash');
    }),
  ],
  ['junk in cells', toEach('c:budget*', (send, key) => send('HSET', key, 's', '{"sums":"junk"}', 'v', '999999999'))],
  ['a cell that says nothing was spent', toEach('c:budget*', (send, key) => send('HSET', key, 's', '{}'))],
  ['deleted cells', toEach('c:*', (send, key) => send('DEL', key))],
  ['junk in counters', toEach('s:*', (send, key) => send('SET', key, 'junk'))],
  ['the store record deleted', toEach('store', (send, key) => send('DEL', key))],
  ['junk in the store record', toEach('store', (send, key) => send('HSET', key, 'version', 'junk', 'bornMs', '-1'))],
  ['the index deleted', toEach('index', (send, key) => send('DEL', key))],
  [
    'out of memory',
    async (send) => {
      await send('CONFIG', 'SET', 'maxmemory', '1');
      await pause(300);
      await send('CONFIG', 'SET', 'maxmemory', '0');
    },
  ],
  [
    'forged messages',
    async (send) => {
      for (const text of ['', '{}', 'junk', '["x",1,2]', '\0'.repeat(10_000), '9'.repeat(100_000)]) {
        await send('PUBLISH', '{attacked}:hints', text);
      }
    },
  ],
];

/** Attacks a server that three processes use, one attack after another. */
async function attackServer(context: TestContext, chosen: Attempts<Attack>): Promise<void> {
  const server = await startRedis(['--enable-debug-command', 'yes']);
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-attack-'));
  const client = await createClient({ url: server.url })
    .on('error', () => {})
    .connect();
  const send: Send = (...words) => client.sendCommand([...words]);
  const spenders = await startSpenders(folder, { url: server.url, limit: budget });
  try {
    await holdAll(context, chosen, async (attack) => {
      for (let round = 0; round < byForm(5, 2); round++) {
        await attack(send, server);
        await pause(byForm(500, 300));
      }
      await pause(byForm(2_500, 0)); // A store that forgot gets its grace.
      const spent = spenders.spent();
      assert.ok(spent <= budget, `${spent} of ${budget} were spent`);
    });
    const spent = await spenders.end();
    assert.ok(spent > 0 && spent <= budget, `${spent} of ${budget} were spent`);
  } finally {
    await spenders.end();
    client.destroy();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

for (const chosen of isWhole ? attacks.map((each) => [each]) : [attacks.slice(0, 3)]) {
  const names = chosen.map(([name]) => name).join(', ');
  testWithRedis(`held: three processes never spend more than the budget together: ${names}`, (context) =>
    attackServer(context, chosen),
  );
}
