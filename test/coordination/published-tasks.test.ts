/** Tasks that other processes see while they run, and what becomes of those whose process is gone. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Card } from '../../src/core/card.ts';
import { leaseMs, publishedWritesMax } from '../../src/core/limits.ts';
import { assembleSwitchgear } from '../../src/guard/internal.ts';
import { createSwitchgear } from '../../src/index.ts';
import { listTasks } from '../../src/operator/tasks.ts';
import { livePrefix } from '../../src/ports/published-tasks.ts';
import { redisStore } from '../../src/stores/redis/index.ts';
import { type SqliteStore, sqliteStore } from '../../src/stores/sqlite/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';
import { onBothStores } from '../experiments/both-stores.ts';
import { openStore } from '../experiments/breaker-transactions.ts';
import { pause, startChild } from '../experiments/verdict.ts';
import { startRedis, testWithRedis } from '../redis-server.ts';

/** A gear on a file whose time a test moves, and a second look at the same file. */
function watched(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-live-'));
  const path = join(folder, 'store.db');
  const clock = simulatedClock();
  const store = sqliteStore({ path, clock });
  const gear = createSwitchgear({ agent: 'a', session: 's', store, log: 'silent', env: {} });
  const other = sqliteStore({ path, clock });
  context.after(() => {
    gear.dispose();
    other.close();
    rmSync(folder, { recursive: true, force: true });
  });
  /** What is stored of tasks, whoever looks. */
  const stored = async () => {
    await pause(0); // Whoever tells does so once everybody has heard of it.
    await store.shared.settled();
    return (await other.shared.read(livePrefix, 1_000)).map(({ state }) => state as Record<string, unknown>);
  };
  return { gear, clock, store, other, stored };
}

test('a task is published within a second, updated on a change, and removed at its end', async (context) => {
  const { gear, clock, other, stored } = watched(context);
  const tool = gear.guard('work', (at: number) => at);
  const task = gear.startTask({ id: 'x', limits: { maxToolCalls: 9 } });
  task.run(() => tool(1));
  assert.deepEqual(await stored(), []);
  clock.advance(1_000);
  const [first] = await stored();
  assert.deepEqual(
    [first?.id, first?.agent, first?.session, first?.state, first?.calls, first?.startedAtMs],
    ['x', 'a', 's', 'running', 1, 0],
  );
  assert.ok(JSON.stringify(first).length < 4_096);
  task.run(() => tool(2));
  assert.equal((await stored())[0]?.calls, 1, 'at most once a second');
  clock.advance(1_000);
  assert.equal((await stored())[0]?.calls, 2);
  const [seen] = await listTasks(other);
  const { durationMs, maxDurationSecs, idleMs, maxIdleSecs, ...counts } = seen?.used ?? {};
  assert.deepEqual(counts, { toolCalls: 2, maxToolCalls: 9, spendCents: 0, maxSpendCents: 5_000, tokens: 0 });
  assert.deepEqual([durationMs, maxDurationSecs, idleMs, maxIdleSecs], [2_000, 1_800, 1_000, 300]);
  const { version } = (await other.shared.read(livePrefix, 1))[0]!;
  clock.advance(4_000);
  await stored();
  assert.equal((await other.shared.read(livePrefix, 1))[0]?.version, version, 'what did not change is not written');
  task.end();
  assert.deepEqual(await stored(), []);
  assert.deepEqual(await listTasks(other), []);
});

test('a halt and a pause are written at once, and so is the end of a pause', async (context) => {
  const { gear, stored } = watched(context);
  const task = gear.startTask({ id: 'x' });
  const state = async () => (await stored())[0]?.state;
  task.pause();
  assert.equal(await state(), 'paused');
  task.resume();
  assert.equal(await state(), 'running');
  gear.halt('x', 'enough');
  assert.equal(await state(), 'halted');
  assert.deepEqual((await stored())[0]?.halt, { code: 'operator_halt', message: 'enough' });
});

test('a task that ends within a second is never published', async (context) => {
  const { gear, clock, stored } = watched(context);
  await gear.task({ id: 'x' }, () => 1);
  clock.advance(5_000);
  assert.deepEqual(await stored(), []);
});

test('if very many tasks change, each is published in turn', async (context) => {
  const { gear, clock, stored } = watched(context);
  for (let at = 0; at < 2 * publishedWritesMax; at++) gear.startTask({ id: `t${at}`, parent: null });
  clock.advance(1_000);
  assert.equal((await stored()).length, publishedWritesMax);
  clock.advance(1_000);
  assert.equal((await stored()).length, 2 * publishedWritesMax);
});

test('a task is lost when the lease of its process ends, and runs again if the process returns', async (context) => {
  const { gear, clock, store, other } = watched(context);
  const task = gear.startTask({ id: 'x' });
  clock.advance(1_000);
  await store.shared.settled();
  const later = (ms: number): SqliteStore => ({ ...other, clock: { ...clock, nowMs: () => clock.nowMs() + ms } });
  const states = async (ms: number) => (await listTasks(later(ms))).map(({ state }) => state);
  assert.deepEqual(await states(leaseMs - 1), ['running']);
  assert.deepEqual(await states(leaseMs), ['lost']);
  assert.deepEqual(await states(leaseMs), ['lost']);
  assert.deepEqual(
    other.cards().map(({ task: id, kind }) => [id, kind]),
    [['x', 'notice']],
  );
  task.run(gear.guard('work', () => 1));
  clock.advance(1_000);
  await store.shared.settled();
  assert.deepEqual(await states(0), ['running']);
});

testWithRedis(
  'after kill -9 a task is found lost, once: one entry and one card, whoever looks',
  {
    timeout: 60_000,
  },
  async () => {
    await onBothStores(async (name, where) => {
      const child = await startChild('../coordination/running-child.ts', {});
      await child.ask(where);
      const looks = [await openStore(where), await openStore(where)];
      const [look] = looks as [SqliteStore];
      for (let tries = 0; tries < 300 && (await look.shared.read(livePrefix, 9)).length < 2; tries++) await pause(10);
      const rows = (tasks: Awaited<ReturnType<typeof listTasks>>) =>
        tasks.map(({ id, state }) => `${id} ${state}`).sort();
      assert.deepEqual(rows(await listTasks(look)), ['research running', 'worker running'], name);
      await child.kill();
      assert.deepEqual(rows(await listTasks(look)), ['research running', 'worker running'], name);
      // The time of a store cannot be moved, that of whoever looks can.
      const later = looks.map((store) => ({
        ...store,
        clock: { ...store.clock, nowMs: () => store.clock.nowMs() + leaseMs },
      }));
      for (const tasks of await Promise.all([...later, ...later].map((store) => listTasks(store)))) {
        assert.deepEqual(rows(tasks), ['research lost', 'worker lost'], name);
      }
      await pause(50);
      const entries = await look.shared.entries(1, 1_000);
      const lost = entries.flatMap((entry) =>
        entry.type === 'task-ended' && entry.how === 'lost' ? [entry.task] : [],
      );
      assert.deepEqual(lost.sort(), ['research', 'worker'], name);
      const cards = (await look.shared.read('card/', 9)).map(({ state }) => state as { evidence: readonly string[] });
      assert.deepEqual(
        cards.map(({ evidence }) => evidence),
        [['Researcher: its process is gone, nothing was heard of it for 15 s; it had used 3 of 50 tool calls']],
        name,
      );
      for (const store of looks) store.close();
    });
  },
);

test('the tasks of a gateway that is gone have one card', async (context) => {
  const { clock, store, other, stored } = watched(context);
  const gateway = assembleSwitchgear({ agent: 'gateway-client', store, log: 'silent', env: {} }, { layer: 'gateway' });
  context.after(() => gateway.dispose());
  for (const id of ['gw-a', 'gw-b', 'gw-c']) gateway.startTask({ id, parent: null });
  clock.advance(1_000);
  assert.equal((await stored()).length, 3);
  const later = { ...other, clock: { ...other.clock, nowMs: () => clock.nowMs() + leaseMs } };
  for (let look = 0; look < 2; look++) {
    const listed = await listTasks(later);
    assert.deepEqual(
      listed.map(({ id, state }) => `${id} ${state}`),
      ['gw-a lost', 'gw-b lost', 'gw-c lost'],
    );
  }
  const cards = (await other.shared.read('card/', 9)).map(({ state }) => state as Card);
  assert.deepEqual(
    cards.map(({ kind, evidence, actions }) => [kind, ...evidence, ...actions]),
    [
      [
        'notice',
        'a gateway is gone: nothing was heard of its process for 15 s; its tasks go on in the next one',
        'dismiss',
      ],
    ],
  );
});

testWithRedis(
  'a task that ended while Redis was away is gone once it is back',
  { timeout: 60_000 },
  async (context) => {
    const own = await startRedis();
    const store = await redisStore({ url: own.url, graceMs: 0, deadlineMs: 100 });
    const gear = createSwitchgear({ store, log: 'silent', env: {} });
    context.after(async () => {
      gear.dispose();
      await own.stop();
    });
    const task = gear.startTask({ id: 'x' });
    gear.startTask({ id: 'y', parent: null });
    const ids = async () => (await store.shared.read(livePrefix, 9)).map(({ state }) => (state as { id: string }).id);
    for (let tries = 0; tries < 300 && (await ids()).length < 2; tries++) await pause(10);
    assert.deepEqual((await ids()).sort(), ['x', 'y']);
    own.signal('SIGSTOP');
    for (let tries = 0; tries < 300 && store.shared.health.state === 'shared'; tries++) await pause(10);
    task.end();
    own.signal('SIGCONT');
    for (let tries = 0; tries < 300 && store.shared.health.state === 'degraded'; tries++) await pause(10);
    for (let tries = 0; tries < 300 && (await ids()).length > 1; tries++) await pause(10);
    assert.deepEqual(await ids(), ['y']);
  },
);

testWithRedis(
  'a gear that is disposed of right after its task leaves nothing on Redis',
  {
    timeout: 60_000,
  },
  async (context) => {
    const own = await startRedis();
    const options = { url: own.url, graceMs: 0, deadlineMs: 1_000 };
    const [store, other] = [await redisStore(options), await redisStore(options)];
    context.after(async () => {
      other.close();
      await own.stop();
    });
    const gear = createSwitchgear({ store, log: 'silent', env: {} });
    const task = gear.startTask({ id: 'x' });
    const left = async () => (await other.shared.read(livePrefix, 9)).length;
    for (let tries = 0; tries < 300 && (await left()) === 0; tries++) await pause(10);
    assert.equal(await left(), 1);
    task.end();
    gear.dispose();
    for (let tries = 0; tries < 100 && (await left()) > 0; tries++) await pause(10);
    assert.equal(await left(), 0);
    const entries = await other.shared.entries(1, 100);
    assert.deepEqual(
      entries.map(({ type }) => type),
      ['task-started', 'task-ended'],
    );
  },
);

test('the end of a call and later signs of life are published', async (context) => {
  const { gear, clock, other, stored } = watched(context);
  const release = Promise.withResolvers<void>();
  const slow = gear.guard('slow', () => release.promise);
  const task = gear.startTask({ id: 'x' });
  const call = task.run(() => slow());
  clock.advance(1_000);
  await stored();
  const idle = async () => (await listTasks(other))[0]?.used?.idleMs;
  clock.advance(20_000);
  assert.equal(await idle(), 0, 'a running call excuses silence');
  release.resolve();
  await call;
  clock.advance(1_000);
  await stored();
  assert.equal(await idle(), 1_000);
  clock.advance(10_000);
  assert.equal(await idle(), 11_000);
  task.observe({ type: 'heartbeat' });
  clock.advance(1_000);
  await stored();
  assert.equal(await idle(), 1_000);
  task.end();
});
