/** Stores without room: what is new counts in its process, people are told, and the store hears of it later. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { createClient } from 'redis';
import { ordersCell } from '../../src/coordination/operator-orders.ts';
import type { BreakerState } from '../../src/core/controls/breaker/state.ts';
import { localProbeAfterMs } from '../../src/core/limits.ts';
import { createSwitchgear, refusalOf, type Switchgear } from '../../src/index.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { redisStore } from '../../src/stores/redis/index.ts';
import { type SqliteStore, sqliteStore } from '../../src/stores/sqlite/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';
import { askCard } from '../../src/testing/transaction-fixtures.ts';
import { storePlace, testOn, until } from './both-stores.ts';

const { folder, server } = storePlace();

/** Lets what is out come back, however the clock of the store stands. */
const aMoment = () => new Promise((resolve) => setTimeout(resolve, 30));

const one = () => ({ state: { n: 1 } });
const breaker = { recoveryTimeoutSecs: 60, successThreshold: 1 };

/** A tool that nobody called before, which fails until it is healed. */
function failing(gear: Switchgear) {
  let fails = true;
  let ran = 0;
  const run = () => {
    ran++;
    if (fails) throw new Error('down');
    return 'well';
  };
  const heal = () => {
    fails = false;
  };
  return { tool: gear.guard('new', run, { breaker }), heal, ran: () => ran };
}

interface Place {
  readonly store: SqliteStore;
  /** Takes away what fills it. */
  clear(): Promise<void>;
}

let places = 0;
const kinds: Readonly<Record<string, (clock: Clock) => Promise<Place>>> = {
  async 'in a file'(clock) {
    const path = join(folder, `${++places}.db`);
    return {
      store: sqliteStore({ path, clock, keysMax: 2 }),
      async clear() {
        const db = new DatabaseSync(path);
        // As a sweep does: the row with the highest version stays, or the file would look like an old copy.
        const others = 'version < (SELECT max(version) FROM cells)';
        db.exec(`PRAGMA busy_timeout = 2000; DELETE FROM cells WHERE key LIKE 'filling/%' AND ${others}`);
        db.close();
      },
    };
  },
  async 'in Redis'(clock) {
    const prefix = `full${++places}`;
    return {
      store: await redisStore({ url: server().url, prefix, clock, keysMax: 1, graceMs: 0, deadlineMs: 1_000 }),
      async clear() {
        const client = await createClient({ url: server().url }).connect();
        await client.zRem(`{${prefix}}:index`, 'c:filling/1');
        client.destroy();
      },
    };
  },
};

/** A store without room, and a gear on it. */
async function fullStore(make: (clock: Clock) => Promise<Place>) {
  const clock = simulatedClock();
  const { store, clear } = await make(clock);
  let cells = 0;
  // A file counts its cells once a second.
  await until(async () => {
    const cell = store.cell(`filling/${++cells}`, () => ({ n: 0 }));
    const result = await store.shared.commit({ changes: [{ cell, update: one }] });
    return result.status === 'rejected' && result.by === 'full';
  });
  const gear = createSwitchgear({ store, project: 'p', session: 'talk', log: 'silent', env: {} });
  const heard: string[] = [];
  gear.onEntry(({ type }) => heard.push(type));
  const said = (type: string) => heard.filter((one) => one === type).length;
  return { clock, store, clear, gear, said };
}

for (const [name, make] of Object.entries(kinds)) {
  const test = testOn(name);
  test(`${name}: a breaker that does not fit into the store works with local counts`, async () => {
    const { clock, store, clear, gear, said } = await fullStore(make);
    const { tool, heal, ran } = failing(gear);
    for (let call = 0; call < 8; call++) {
      try {
        tool();
      } catch {}
      await aMoment();
    }
    assert.equal(ran(), 5);
    assert.equal(refusalOf(tool())?.code, 'circuit_open');
    assert.equal(gear.breaker('new').state, 'OPEN');
    assert.equal(said('store-degraded'), 1);
    assert.equal(store.shared.health.state, 'degraded');
    assert.match(store.shared.health.reason, /^the store is full: .* counts in this process alone; raise keysMax, or /);

    heal();
    clock.advance(60_001);
    assert.equal(refusalOf(tool())?.code, 'circuit_open'); // Nobody could grant a probe: it asks for a while.
    await aMoment();
    clock.advance(localProbeAfterMs);
    assert.equal(refusalOf(tool())?.code, 'circuit_open');
    await aMoment();
    assert.equal(tool(), 'well');
    assert.equal(gear.breaker('new').state, 'CLOSED');
    assert.equal(ran(), 6);

    await clear();
    await until(() => store.shared.health.state === 'shared');
    await store.shared.settled();
    const [stored] = await store.shared.read('breaker/', 10);
    const state = stored?.state as BreakerState | undefined;
    assert.deepEqual([state?.phase, state?.trips], ['closed', 1]);
    assert.equal(gear.breaker('new').state, 'CLOSED');
    assert.equal(said('store-recovered'), 1);
    const turns = (await store.shared.entries(0, 1_000)).filter(({ type }) => /^breaker-(?!tuned)/.test(type));
    assert.deepEqual(
      turns.map(({ type }) => type),
      ['breaker-opened', 'breaker-half-opened', 'breaker-closed'],
    );
    assert.equal(said('breaker-opened'), 1);
    gear.dispose();
  });

  test(`${name}: failures of a worker that does not fit into the store count locally`, async () => {
    const { store, gear, said } = await fullStore(make);
    const send = async () => {
      const result = await gear.task({}, () => gear.delegate('chef', () => 'I cannot cook.'));
      await aMoment();
      return result.status === 'halted' ? result.halt.code : refusalOf(result.value)?.code;
    };
    assert.equal(await send(), undefined);
    await new Promise((resolve) => setTimeout(resolve, 2_500)); // It is tried again each second, and told once.
    const told = (await store.shared.entries(0, 1_000)).filter(({ type }) => type === 'delegation-returned');
    assert.equal(told.length, name === 'in Redis' ? 1 : 0); // A file writes it with the cell.
    await send();
    assert.equal(await send(), 'delegation_limit');
    assert.equal(said('store-degraded'), 1);
    gear.dispose();
  });

  test(`${name}: a full store still accepts cards and orders`, async () => {
    const { store, gear } = await fullStore(make);
    store.putCard(askCard);
    await store.shared.settled();
    assert.equal((await store.shared.read('card/', 10)).length, 1);
    const pause = { target: null, atMs: 1, reason: 'enough' };
    const update = () => ({ state: { halts: [], trips: [], pauses: [pause] } });
    assert.equal((await store.shared.commit({ changes: [{ cell: ordersCell(store), update }] })).status, 'committed');
    assert.equal(store.shared.health.state, 'shared');
    gear.dispose();
  });
}

/** A disk so small that it can be filled; undefined where this user may not have one. */
function smallDisk(): string | undefined {
  const at = mkdtempSync(join(folder, 'disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', at], { stdio: 'ignore' });
    return at;
  } catch {
    return undefined;
  }
}

test('opening a file on a full disk fails with one sentence', (t) => {
  const disk = smallDisk();
  if (disk === undefined) return t.skip('this user may not mount a small disk');
  try {
    const path = join(disk, 'store.db');
    sqliteStore({ path }).close();
    const { bavail, bsize } = statfsSync(disk);
    writeFileSync(join(disk, 'ballast'), Buffer.alloc(bavail * bsize));
    assert.throws(() => sqliteStore({ path }), { code: 'store_full', message: /cannot be written: the disk is full$/ });
  } finally {
    execFileSync('umount', [disk]);
  }
});

test('on a full disk breakers use local counts, which are written to the file later', async (t) => {
  const disk = smallDisk();
  if (disk === undefined) return t.skip('this user may not mount a small disk');
  const clock = simulatedClock();
  const store = sqliteStore({ path: join(disk, 'store.db'), clock });
  const gear = createSwitchgear({ store, project: 'p', log: 'silent', env: {} });
  try {
    const heard: string[] = [];
    gear.onEntry(({ type }) => heard.push(type));
    const ballast = join(disk, 'ballast');
    writeFileSync(ballast, '');
    const { bavail, bsize } = statfsSync(disk);
    writeFileSync(ballast, Buffer.alloc(bavail * bsize));
    const { tool, heal, ran } = failing(gear);
    for (let call = 0; call < 40; call++) {
      try {
        tool();
      } catch {}
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(ran(), 5);
    assert.equal(gear.breaker('new').state, 'OPEN');
    assert.equal(heard.filter((type) => type === 'store-degraded').length, 1);
    assert.match(store.shared.health.reason, /cannot be written: the disk is full$/);
    heal();
    clock.advance(60_001);
    assert.equal(refusalOf(tool())?.code, 'circuit_open');
    await new Promise((resolve) => setTimeout(resolve, 400)); // A disk that is full is asked four times a second.
    clock.advance(localProbeAfterMs);
    await until(() => tool() === 'well');
    assert.equal(ran(), 6);
    truncateSync(ballast, 0);
    await until(() => store.shared.health.state === 'shared');
    const [stored] = await store.shared.read('breaker/', 10);
    assert.equal((stored?.state as { phase: string } | undefined)?.phase, 'closed');
  } finally {
    gear.dispose();
    execFileSync('umount', [disk]);
  }
});
