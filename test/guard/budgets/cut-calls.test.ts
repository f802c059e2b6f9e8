/** Calls that are cut while their work goes on: their reservation stays charged until their usage is known. */

import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { createSwitchgear, isRefused, type Store, type Switchgear } from '../../../src/index.ts';
import { onBothStores } from '../../experiments/both-stores.ts';
import { openStore } from '../../experiments/breaker-transactions.ts';
import { pause, startChild } from '../../experiments/verdict.ts';
import { testWithRedis } from '../../redis-server.ts';
import { bothStores, testOn } from '../../stores/both-stores.ts';
import { type CutCall, cutCall, type End, policy } from './cut-call-child.ts';

const { kinds, newPlace } = bothStores();
const gears: Switchgear[] = [];
afterEach(() => {
  for (const gear of gears.splice(0)) gear.dispose();
});

function gearOn(store: Store | undefined, agent = 'main'): Switchgear {
  const gear = createSwitchgear({ ...(store && { store }), agent, policy, project: 'p', log: 'silent', env: {} });
  gears.push(gear);
  return gear;
}

/** Whether a new call can reserve an amount of the 100 cents. */
async function canReserve(gear: Switchgear, cents: number): Promise<boolean> {
  const probe = gear.guard('probe', async () => 'ran', { kind: 'model', maxCost: { usd: cents / 100 } });
  return !isRefused(await probe());
}

const endings: readonly (readonly [title: string, end: End])[] = [
  ['has not ended', 'never'],
  ['fails', 'fails'],
  ['returns no usage', 'no usage'],
  ['returns usage that cannot be read', 'unreadable'],
  ['returns its usage', 'usage'],
];

for (const [place, make] of Object.entries({ 'in memory': undefined, ...kinds })) {
  const testHere = place === 'in memory' ? test : testOn(place);
  for (const by of ['its timeout', 'the halt of its task', 'its timeout, outside a task'] as const) {
    for (const [title, end] of endings) {
      const isKnown = end === 'usage';
      const cost = isKnown ? 'its usage' : 'what was reserved';
      testHere(`${place}: a call that is cut by ${by} and then ${title} costs ${cost}`, async () => {
        const gear = gearOn(await make?.(newPlace()));
        await cutCall(gear, by, end);
        assert.equal(await canReserve(gear, 30), isKnown);
        if (isKnown) assert.equal(await canReserve(gear, 85), true);
      });
    }
  }
}

testWithRedis('a cut call stays charged for other processes, also after its process has ended', async () => {
  await onBothStores(async (name, where) => {
    const child = () => startChild('../guard/budgets/cut-call-child.ts', {});
    for (const by of ['its timeout', 'the halt of its task'] as const) {
      for (const [title, end] of endings) {
        const agent = `${by}, ${end}`;
        const spender = await child();
        const role: CutCall = { where, agent, by, end };
        assert.equal(await spender.ask<string>(role), 'cut');
        const beside = gearOn(await openStore(where), agent);
        assert.equal(await canReserve(beside, 30), end === 'usage', `${name}: ${by}, ${title}, beside it`);
        await spender.kill();
        const after = gearOn(await openStore(where), agent);
        assert.equal(await canReserve(after, 30), end === 'usage', `${name}: ${by}, ${title}, after it`);
      }
    }
  });
});

testWithRedis(
  'a late ending never frees an amount that another process could take before its cost is booked',
  async () => {
    await onBothStores(async (name, where) => {
      const store = await openStore(where);
      const gear = gearOn(store);
      const sums: number[] = [];
      const { commitNow, commit } = store.shared;
      const read = async () => {
        for (const { state } of await store.shared.read('budget/', 10))
          sums.push((state as { sums: number[] }).sums[0]!);
      };
      Object.assign(store.shared, {
        commitNow: (transaction: never) => {
          const result = commitNow(transaction);
          void read();
          return result;
        },
        commit: async (transaction: never) => {
          const result = await commit(transaction);
          await read();
          return result;
        },
      });
      await cutCall(gear, 'its timeout', 'dear usage');
      await pause(50);
      assert.ok(sums.length > 0, name);
      const booked = sums.slice(sums.findIndex((sum) => sum >= 800_000));
      assert.ok(
        booked.every((sum) => sum >= 800_000),
        `${name}: ${booked.join(' ')}`,
      );
      assert.ok(sums.at(-1)! >= 900_000, `${name}: ${sums.at(-1)}`);
    });
  },
);
