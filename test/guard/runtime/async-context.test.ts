/** The frame a call runs in: seen across awaits, gone when it ends, and no burden on what the host keeps there. */

import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createSwitchgear } from '../../../src/guard/create-switchgear.ts';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

const gear = createSwitchgear({ env: {} });

test('the current call is visible only inside its function, before and after an await', async () => {
  const seen: unknown[] = [];
  const look = gear.guard('look', async (name: string) => {
    seen.push([name, gear.currentCall()?.name]);
    await turn();
    seen.push([name, gear.currentCall()?.name]);
  });
  const outer = gear.guard('outer', async () => {
    await look('inner');
    seen.push(['after', gear.currentCall()?.name]);
  });
  const going = outer();
  assert.equal(gear.currentCall(), undefined);
  await going;
  assert.equal(gear.currentCall(), undefined);
  const looked = [
    ['inner', 'look'],
    ['inner', 'look'],
  ];
  assert.deepEqual(seen, [...looked, ['after', 'outer']]);
});

test('an AsyncLocalStorage of the host has the same value inside a call, after a call and after a throw', async () => {
  const requests = new AsyncLocalStorage<string>();
  const read = gear.guard('read', async () => {
    await turn();
    return requests.getStore();
  });
  const breaks = gear.guard('breaks', () => {
    throw new Error(requests.getStore());
  });
  await Promise.all(
    ['first', 'second'].map((name) =>
      requests.run(name, async () => {
        assert.equal(await read(), name);
        assert.throws(() => breaks(), new RegExp(name));
        assert.equal(requests.getStore(), name);
        assert.equal(gear.currentCall(), undefined);
      }),
    ),
  );
});

test('calls that each start the next call do not keep earlier calls in memory', async () => {
  const { promise: kept, resolve } = Promise.withResolvers<object | undefined>();
  let first: WeakRef<object> | undefined;
  let left = 20;
  const poll = gear.guard('poll', async () => {
    first ??= new WeakRef(gear.currentCall()!);
    if (--left > 0) setImmediate(poll);
    else {
      for (let round = 0; round < 3; round++) {
        await turn();
        gc();
      }
      resolve(first.deref());
    }
  });
  await poll();
  assert.equal(await kept, undefined);
});

test('inside nested calls of two gears, each gear returns its own current call', () => {
  const other = createSwitchgear({ env: {} });
  const inner = other.guard('inner', () => [gear.currentCall()?.name, other.currentCall()?.name]);
  const outer = gear.guard('outer', () => inner());
  assert.deepEqual(outer(), ['outer', 'inner']);
});
