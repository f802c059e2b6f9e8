/** Budgets that processes share: never passed together, nearly all usable, and only what is in hand while alone. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { type Clock, createSwitchgear, isRefused, refusalOf, type Switchgear } from '../../../src/index.ts';
import { systemClock } from '../../../src/platform/system-clock.ts';
import { redisStore } from '../../../src/stores/redis/index.ts';
import { type SqliteStore, sqliteStore } from '../../../src/stores/sqlite/index.ts';
import { onBothStores } from '../../experiments/both-stores.ts';
import { pause, startChild } from '../../experiments/verdict.ts';
import { startRedis, testWithRedis } from '../../redis-server.ts';
import { bothStores, testOn } from '../../stores/both-stores.ts';
import type { Spending, Spent } from './spender-child.ts';

type Budget = Spending['budget'];

const { kinds, newPlace } = bothStores();
const limits = { maxToolCalls: 1_000_000, maxDenials: 1_000_000 };
const calls = (limit: number, more: Partial<Budget> = {}): Budget => ({
  scope: 'global',
  unit: 'calls',
  limit,
  ...more,
});

const gears: Switchgear[] = [];
const endGears = () => {
  for (const gear of gears.splice(0)) gear.dispose();
};
afterEach(endGears);

/** A gear that is gone after its test, however that ends. */
function gearOf(store: SqliteStore, budgets: readonly Budget[]): Switchgear {
  const policy = { budgets, loop: { enabled: false } };
  const gear = createSwitchgear({ store, policy, project: 'p', log: 'silent', env: {} });
  gears.push(gear);
  return gear;
}

/** Has a gear call an asynchronous tool one by one until it is refused; how often it ran, and the refusal. */
async function spendAll(gear: Switchgear, most = 1_000) {
  let ran = 0;
  const tool = gear.guard('work', async (_: number) => ++ran);
  const { value } = await gear.task({ limits }, async () => {
    for (let at = 0; at < most; at++) {
      const refusal = refusalOf(await tool(at));
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  });
  return { ran, refusal: value };
}

const stories: readonly Omit<Spending, 'where'>[] = [
  { budget: calls(3_000, { window_secs: 86_400 }) },
  { budget: { scope: 'global', unit: 'spend_cents', limit: 8_000 }, cents: { worst: 3, real: 2 } },
];

testWithRedis(
  '8 processes together never pass a limit, and use nearly all of it',
  { timeout: 120_000 },
  async (context) => {
    await onBothStores(async (name, where) => {
      const children = await Promise.all(
        Array.from({ length: 8 }, () => startChild('../guard/budgets/spender-child.ts', {})),
      );
      for (const story of stories) {
        const spent = await Promise.all(children.map((child) => child.ask<Spent>({ where, ...story })));
        const ran = spent.reduce((sum, each) => sum + each.calls, 0);
        const used = ran * (story.cents?.real ?? 1);
        const limit = Number(story.budget.limit);
        const transactions = spent.reduce((sum, each) => sum + each.transactions, 0);
        context.diagnostic(`${name} ${JSON.stringify(story.budget)}: ${used} of ${limit}, ${transactions} deals`);
        assert.ok(used <= limit, `${name}: ${used} of ${limit}`);
        assert.ok(used >= 0.98 * limit, `${name}: ${used} of ${limit} could be used`);
        assert.ok(transactions < ran / 2, `${name}: ${transactions} deals for ${ran} calls`);
        const code = story.cents === undefined ? 'tool_call_limit' : 'token_spend_limit';
        assert.deepEqual([...new Set(spent.flatMap(({ codes }) => codes))], [code]);
      }
      await Promise.all(children.map((child) => child.kill()));
    });
  },
);

for (const [name, make] of Object.entries(kinds)) {
  const test = testOn(name);
  test(`${name}: an amount spent by one gear is not available to another, also after the limit is raised`, async () => {
    const place = newPlace();
    const [one, two] = [gearOf(await make(place), [calls(30)]), gearOf(await make(place), [calls(30)])];
    assert.equal((await spendAll(one, 20)).ran, 20);
    await pause(30);
    const { ran, refusal } = await spendAll(two);
    assert.equal(ran, 10);
    assert.deepEqual(
      [refusal?.code, refusal?.kind, refusal?.counters, refusal?.explanation],
      ['tool_call_limit', 'halt', { scope: 'global', actual: 31, limit: 30 }, 'tool calls of all agents: 31 of 30'],
    );
    for (const gear of [one, two]) gear.reload({ budgets: [calls(45)], loop: { enabled: false } });
    await pause(30);
    assert.equal((await spendAll(two)).ran, 15);
  });

  test(`${name}: calls that start together reserve together`, async () => {
    const gear = gearOf(await make(newPlace()), [{ scope: 'session', unit: 'spend_cents', limit: 50 }]);
    const think = gear.guard('model', async (_: number) => pause(50).then(() => 'thought'), {
      kind: 'model',
      maxCost: { usd: 0.1 },
    });
    const answers = await gear.task({}, () => Promise.all(Array.from({ length: 9 }, (_, at) => think(at))));
    const thought = (answers.value ?? []).filter((answer) => answer === 'thought');
    assert.equal(thought.length, 5);
  });

  test(`${name}: a synchronous tool stays synchronous`, async () => {
    const gear = gearOf(await make(newPlace()), [calls(2)]);
    const add = gear.guard('add', (one: number, two: number) => one + two);
    const task = gear.startTask({ limits });
    const first = task.run(() => add(1, 2));
    if (name === 'in a file') assert.equal(first, 3);
    else {
      const refusal = refusalOf(first); // The request is out.
      assert.equal(refusal?.message, 'Call refused: more of the global budget is being fetched');
      assert.equal(refusal?.kind, 'deny');
      assert.ok(refusal?.retryAtMs);
      await pause(50);
      assert.equal(
        task.run(() => add(1, 2)),
        3,
      );
    }
    for (let tries = 0; tries < 100 && task.halt === undefined; tries++) {
      assert.equal(task.run(() => add(1, 2)) instanceof Promise, false);
      await pause(20);
    }
    assert.deepEqual(task.halt?.counters, { scope: 'global', actual: 3, limit: 2 });
  });

  test(`${name}: a disposed gear returns the unspent part of its reserved allowance`, async () => {
    const place = newPlace();
    const store = await make(place);
    const one = gearOf(store, [calls(1_000)]);
    assert.equal((await spendAll(one, 5)).ran, 5);
    const other = await make(place);
    one.reload({});
    await store.shared.settled();
    await pause(50);
    const key = 'budget/global/calls/ever';
    const stored = await other.shared.read(key, 10);
    assert.deepEqual(
      stored.map(({ state }) => state),
      [{ at: 0, sums: [5], limit: 1_000 }],
    );
    other.close();
  });
}

test('a budget window shared by processes slides with the clock of the store', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-budgets-'));
  context.after(() => {
    endGears(); // A file that is in use may bring another one into the folder while that is emptied.
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  let nowMs = 0;
  // Time is moved by hand; a call that has to wait for the lock really waits.
  const clock: Clock = { ...systemClock, nowMs: () => nowMs };
  const path = join(folder, 'store.db');
  const [one, two] = [0, 1].map(() => gearOf(sqliteStore({ path, clock }), [calls(600, { window_secs: 60 })])) as [
    Switchgear,
    Switchgear,
  ];
  assert.equal((await spendAll(one, 200)).ran, 200);
  nowMs += 20_000;
  const { ran, refusal } = await spendAll(two);
  assert.ok(ran >= 390 && ran <= 400, `${ran} of 400, less what the other has in hand`);
  assert.equal(refusal?.counters.window_secs, 60);
  nowMs += 40_000;
  assert.equal((await spendAll(two)).ran, 0, 'the oldest slice counts until all of it is over');
  nowMs += 5_000;
  assert.equal((await spendAll(one)).ran, 600 - ran);
});

testWithRedis(
  'while Redis is away only what is in hand is spent, and then calls are refused in words',
  async (context) => {
    const own = await startRedis();
    context.after(own.stop);
    const store = await redisStore({ url: own.url, graceMs: 0, deadlineMs: 100 });
    const gear = gearOf(store, [calls(1_000)]);
    assert.equal((await spendAll(gear, 3)).ran, 3);
    await pause(30);
    own.signal('SIGSTOP');
    const { ran, refusal } = await spendAll(gear);
    assert.ok(ran > 0 && ran < 40, `${ran} were in hand`);
    assert.deepEqual([refusal?.code, refusal?.kind], ['tool_call_limit', 'deny']);
    for (let look = 0; look < 200 && store.shared.health.state === 'shared'; look++) await pause(10);
    const away = await spendAll(gear);
    assert.equal(away.ran, 0);
    assert.equal(
      away.refusal?.message,
      'Call refused: the store of the global budget is away, and what this process had of it is used',
    );
    assert.ok(away.refusal?.retryAtMs);
    own.signal('SIGCONT');
    for (let look = 0; look < 400 && store.shared.health.state === 'degraded'; look++) await pause(10);
    const back = await spendAll(gear, 2_000);
    assert.equal(back.refusal?.kind, 'halt');
    const total = 3 + ran + back.ran;
    assert.ok(total <= 1_000 && total >= 980, `${total} of 1000`);
  },
);

testWithRedis('a flushed Redis is told again what was spent', async (context) => {
  const own = await startRedis();
  context.after(own.stop);
  const store = await redisStore({ url: own.url, graceMs: 300, deadlineMs: 1_000 });
  const gear = gearOf(store, [calls(100)]);
  await pause(300);
  assert.equal((await spendAll(gear, 60)).ran, 60);
  const { createClient } = await import('redis');
  const client = createClient({ url: own.url });
  await client.connect();
  await client.flushAll();
  await client.close();
  let ran = 0;
  for (let tries = 0; tries < 200; tries++) {
    const spent = await spendAll(gear);
    ran += spent.ran;
    if (spent.refusal?.kind === 'halt') break;
    await pause(20);
  }
  assert.ok(ran <= 40 && ran >= 38, `${ran} of the 40 that were left`);
});

test('two tools share one budget: after the first refusal all calls are refused alike', async () => {
  const gear = gearOf(await kinds['in a file'](newPlace()), [calls(1), { scope: 'agent', unit: 'tokens', limit: 9 }]);
  const [read, write] = [gear.guard('read', () => 1), gear.guard('write', () => 2)];
  await gear.task({}, () => {
    assert.equal(read(), 1);
    assert.ok(isRefused(write()));
    assert.deepEqual(refusalOf(write()), refusalOf(read()));
  });
});

test('usage reported later that exceeds the limit halts the task, and calls of other tasks are refused', async () => {
  const place = newPlace();
  const tokens = { scope: 'global', unit: 'tokens', limit: 100 } as const;
  const gear = gearOf(await kinds['in a file'](place), [tokens]);
  const other = gearOf(await kinds['in a file'](place), [tokens]);
  const { value } = await gear.task({}, (task) => task.observe({ type: 'usage', inputTokens: 101, outputTokens: 0 }));
  assert.deepEqual(value?.counters, { scope: 'global', actual: 101, limit: 100 });
  const refusal = refusalOf(other.guard('work', () => 1)());
  assert.deepEqual([refusal?.kind, refusal?.explanation], ['deny', 'tokens of all agents: 101 of 100']);
});

testWithRedis('8 processes of which 2 are killed never pass a limit', { timeout: 120_000 }, async () => {
  await onBothStores(async (name, where, folder) => {
    const ledgers = Array.from({ length: 8 }, (_, at) => join(folder, `${name}-ledger-${at}`));
    const children = await Promise.all(ledgers.map(() => startChild('../guard/budgets/spender-child.ts', {})));
    const ran = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    const runtime = children.map((child, at) =>
      child.ask<Spent>({ where, budget: calls(4_000), ledger: ledgers[at]! }).catch(() => undefined),
    );
    for (const at of [0, 1]) {
      while (ran(ledgers[at]!) === 0) await pause(1);
      await children[at]!.kill();
    }
    await Promise.all(runtime);
    await Promise.all(children.slice(2).map((child) => child.kill()));
    const total = ledgers.reduce((sum, path) => sum + ran(path), 0);
    assert.ok(total <= 4_000 && total >= 0.95 * 4_000, `${name}: ${total} of 4000`);
  });
});
