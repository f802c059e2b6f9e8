/** Keys on a file and on Redis: what two gateways agree on, and what a key that is removed may still do. */

import assert from 'node:assert/strict';
import { removeKey } from '../../../src/gateway/keys/key-records.ts';
import { bothStores, testOn, until } from '../../stores/both-stores.ts';
import { ask } from '../harness.ts';
import { openKeyed } from './keyed-gateway.ts';

const { kinds, newPlace } = bothStores();

for (const [kind, open] of Object.entries(kinds)) {
  const testHere = testOn(kind);
  const openAt = (place: string) => () => open(place);

  testHere(`${kind}: two gateways never pass more than the requests a minute of a key`, async (context) => {
    const first = await openKeyed(context, { requestsPerMinute: 6 }, {}, openAt(newPlace()));
    const second = await first.open();
    const headers = { 'x-api-key': first.key };
    const all = await Promise.all(
      Array.from({ length: 24 }, (_, at) => (at % 2 === 0 ? first : second).post('/v1/messages', ask, headers)),
    );
    const count = (status: number) => all.filter((each) => each.status === status).length;
    assert.deepEqual([count(200), count(429)], [6, 18]);
    assert.equal(first.received.length + second.received.length, 6);
  });

  testHere(`${kind}: two gateways never pass more than the tokens a minute of a key`, async (context) => {
    const first = await openKeyed(context, { tokensPerMinute: 5_000 }, {}, openAt(newPlace()));
    const second = await first.open();
    const headers = { 'x-api-key': first.key };
    const all = await Promise.all(
      Array.from({ length: 12 }, (_, at) => (at % 2 === 0 ? first : second).post('/v1/messages', ask, headers)),
    );
    const passed = first.received.length + second.received.length;
    assert.equal(all.filter(({ status }) => status === 200).length, passed);
    // Each asks for a little more than 1,000 tokens.
    assert.equal(passed, 4);
  });

  testHere(
    `${kind}: a key that is removed is refused by both gateways, and one that is added passes`,
    async (context) => {
      const first = await openKeyed(context, {}, {}, openAt(newPlace()));
      const second = await first.open();
      const other = await first.addKey('bob');
      const send = async (gateway: typeof second, key: string) =>
        (await gateway.post('/v1/messages', ask, { 'x-api-key': key })).status;
      for (const gateway of [first, second]) {
        await until(async () => (await send(gateway, other)) === 200);
        assert.equal(await send(gateway, first.key), 200);
      }
      await removeKey(first.store, 'ann');
      for (const gateway of [first, second]) {
        await until(async () => (await send(gateway, first.key)) === 401);
        assert.deepEqual([await send(gateway, first.key), await send(gateway, other)], [401, 200]);
        assert.equal(await send(gateway, 'sk-own'), 401);
      }
      await removeKey(first.store, 'bob');
      await until(async () => (await send(second, 'sk-own')) === 200);
      assert.equal(await send(second, other), 401);
    },
  );
}
