/** Attacks on the memory of a store: its file is deleted, replaced or damaged while agents run. */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createSwitchgear } from '../../src/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { createTestHome } from '../cli/run/run-cli.ts';
import { bash, newSession } from '../hooks/hook-session.ts';
import { startRedis, testWithRedis } from '../redis-server.ts';

const long = { timeout: 120_000 };
const folder = mkdtempSync(join(tmpdir(), 'switchgear-forgets-'));
const home = createTestHome();
after(() => {
  rmSync(folder, { recursive: true, force: true });
  home.clear();
});

/** What `rm state.db*` deletes in a folder. */
function deleteStore(where: string): void {
  for (const name of readdirSync(where)) if (name.startsWith('state.db')) rmSync(join(where, name), { force: true });
}

test('attack 14: processes that come and go while the file is deleted do not overspend a budget', long, async () => {
  const place = mkdtempSync(join(folder, 'spend-'));
  const [path, ledger] = [join(place, 'state.db'), join(place, 'ledger')];
  writeFileSync(ledger, '');
  const file = fileURLToPath(new URL('./spending-child.ts', import.meta.url));
  const children = new Set<ChildProcess>();
  const start = (ms: number) => {
    const child = spawn(process.execPath, [file, path, ledger, '300', `${ms}`], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    children.add(child);
    child.once('exit', () => children.delete(child));
    return child;
  };
  for (let round = 0; round < 10; round++) {
    const child = start(3_000);
    await sleep(700);
    if (round % 3 === 2) child.kill('SIGKILL');
    if (round > 0 && existsSync(path)) deleteStore(place);
  }
  await Promise.all([...children].map((child) => once(child, 'exit')));
  const spent = readFileSync(ledger, 'utf8').length;
  assert.ok(spent > 0 && spent <= 300, `spent ${spent} of 300`);
});

test('attack 14: a deleted or replaced file starts with a grace period, an entry and a card', long, async () => {
  const place = mkdtempSync(join(folder, 'card-'));
  const path = join(place, 'state.db');
  const budgets = [{ scope: 'project', unit: 'calls', limit: 100 }] as const;
  const tryCall = () => {
    const store = sqliteStore({ path });
    const gear = createSwitchgear({ store, project: 'p', log: 'silent', policy: { budgets } });
    const call = gear.guard('call', () => 'ran');
    let result: unknown;
    void gear.task({ parent: null }, () => {
      result = call();
    });
    gear.dispose();
    store.close();
    const reopened = sqliteStore({ path });
    const found = { result, cards: reopened.cards().map(({ evidence }) => evidence[0]), journal: reopened.tail(0) };
    reopened.close();
    return found;
  };
  assert.deepEqual([tryCall().result, tryCall().cards], ['ran', []], 'a first file grants at once');
  copyFileSync(path, join(place, 'copy'));
  deleteStore(place);
  const deleted = tryCall();
  assert.notEqual(deleted.result, 'ran');
  assert.match(deleted.cards.join(), /the store lost data: the file .* was deleted or replaced/);
  assert.ok(deleted.journal.some(({ type }) => type === 'store-degraded'));
  await sleep(2_100);
  assert.equal(tryCall().result, 'ran');
  deleteStore(place);
  copyFileSync(join(place, 'copy'), path);
  const replaced = tryCall();
  assert.notEqual(replaced.result, 'ran');
  assert.match(replaced.cards.join(), /was deleted or replaced/);
});

test('attack 14: `run` and `status` say that the store was deleted or damaged, with a card', long, async () => {
  assert.equal((await home.run(['run', '--', 'true'])).err, '');
  deleteStore(home.folder);
  const run = await home.run(['run', '--', 'true']);
  assert.deepEqual([run.code, /^switchgear: the file .* was deleted or replaced/.test(run.err)], [0, true], run.err);
  const text = readFileSync(join(home.folder, 'state.db'));
  text.fill(0x5a, 100);
  deleteStore(home.folder);
  writeFileSync(join(home.folder, 'state.db'), text);
  const status = await home.run(['status']);
  assert.match(status.err, /^switchgear: the file was damaged and was moved to/);
  assert.match((await home.run(['inbox'])).out, /card-store-.*the store lost data: the file was damaged/);
});

test(
  'attack 14: a hook that meets a conversation in its middle opens a card once, and refuses nothing',
  long,
  async () => {
    const session = newSession();
    try {
      const transcript = join(session.folder, 'transcript.jsonl');
      const call = (id: string) => ({
        ...bash(id, `echo ${id}`).pre,
        transcript_path: transcript,
      });
      writeFileSync(transcript, '');
      assert.equal((await session.send(call('c1'))).output, undefined);
      assert.deepEqual(session.cards(), []);
      const lines = [
        {
          type: 'assistant',
          message: { id: 'm1', role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'Bash', input: {} }] },
        },
        {
          type: 'user',
          message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'c1' }] },
        },
      ].map((line) => JSON.stringify({ sessionId: 's-1', uuid: Math.random().toString(36), ...line }));
      writeFileSync(transcript, `${lines.join('\n')}\n`);
      // The whole folder of the store, with its marker.
      for (const name of readdirSync(session.folder))
        if (name.startsWith('state.db') || name.startsWith('.switchgear-')) rmSync(join(session.folder, name));
      assert.equal((await session.send(call('c2'))).output, undefined);
      assert.equal((await session.send(call('c3'))).output, undefined);
      const cards = session.cards();
      assert.deepEqual(
        cards.map(({ kind, state }) => [kind, state]),
        [['notice', 'open']],
      );
      assert.match(cards[0]?.evidence[0] ?? '', /is under way, and the store knows nothing of it/);
      assert.equal(session.journal().filter(({ type }) => type === 'card-changed').length, 1);
    } finally {
      session.clear();
    }
  },
);

testWithRedis('attack 14: an emptied Redis is a card, too', long, async () => {
  const server = await startRedis();
  try {
    const { redisStore } = await import('../../src/stores/redis/index.ts');
    const { createClient } = await import('redis');
    const store = await redisStore({ url: server.url, deadlineMs: 1_000 });
    const cell = store.cell('x', () => 0);
    await store.shared.commit({ changes: [{ cell, update: () => ({ state: 1 }) } as never] });
    const client = await createClient({ url: server.url }).connect();
    await client.flushAll();
    await client.close();
    for (let tries = 0; store.cards().length === 0 && tries < 200; tries++) await sleep(50);
    assert.match(store.cards()[0]?.evidence[0] ?? '', /the store lost data: Redis was emptied or replaced/);
    await store.shared.settled();
    store.close();
  } finally {
    await server.stop();
  }
});
