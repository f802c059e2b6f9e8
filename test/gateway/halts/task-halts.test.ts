/** Halted tasks that go on: within a higher limit, or because a person hands them back; on both stores. */

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Card } from '../../../src/core/card.ts';
import { bothStores, testOn, until } from '../../stores/both-stores.ts';
import { ask, messageOf, openGateway, sendJson } from '../harness.ts';
import { apis, repeatCall } from '../history.ts';

const { kinds, newPlace } = bothStores();
/** A call costs 1.8 cents. */
const answer = (_: unknown, response: Parameters<typeof sendJson>[0]) =>
  sendJson(response, messageOf('hi', 1_000, 1_000));

for (const [name, openStore] of Object.entries(kinds)) {
  const setUp = (context: TestContext) => {
    const place = newPlace();
    const open = async (maxSpendCents: number) => {
      const store = await openStore(place);
      const gateway = await openGateway(context, { answer, gear: { store }, limits: { maxSpendCents } });
      context.after(() => store.close());
      const listHalts = async () => {
        await store.shared.settled();
        store.shared.refresh();
        const cards = await store.shared.read('card/', 100);
        return cards.map(({ state }) => state as Card).filter(({ kind }) => kind === 'halt');
      };
      const call = async (task = 'a') => (await gateway.post(`/task/${task}/v1/messages`, ask)).status;
      const useUp = async () => {
        while ((await call()) === 200);
        await until(async () => (await listHalts()).some(({ state }) => state === 'open'));
        await store.shared.settled();
      };
      return { ...gateway, store, listHalts, call, useUp };
    };
    return open;
  };

  testOn(name)(
    `a gateway with a higher limit closes the card of the halt when the task goes on: ${name}`,
    async (context) => {
      const open = setUp(context);
      const first = await open(5);
      await first.useUp();
      await first.close();
      await first.store.shared.settled();
      // The same limit: the newer card takes the place of the older one.
      const same = await open(5);
      assert.equal(await same.call(), 402);
      await until(async () => (await same.listHalts()).filter(({ state }) => state === 'open').length === 1);
      assert.equal((await same.listHalts()).length, 2);
      await same.close();
      await same.store.shared.settled();
      const higher = await open(50);
      assert.equal(await higher.call(), 200);
      await until(async () => (await higher.listHalts()).every(({ state }) => state !== 'open'));
      const closed = (await higher.listHalts()).at(-1)!;
      assert.deepEqual([closed.answer, closed.by], ['dismiss', 'switchgear gateway']);
      assert.match(closed.note ?? '', /superseded/);
      assert.equal(higher.task('gw-a').halt, undefined);
    },
  );

  testOn(name)(`a card stays open while the gateway that refuses its task runs: ${name}`, async (context) => {
    const open = setUp(context);
    const low = await open(5);
    await low.useUp();
    const high = await open(50);
    for (let at = 0; at < 3; at++) assert.equal(await high.call(), 200);
    assert.equal(await low.call(), 402);
    assert.deepEqual(
      (await high.listHalts()).map(({ state }) => state),
      ['open'],
      'one card, and it is true',
    );
    await low.close();
    await low.store.shared.settled();
    await until(async () => (await high.listHalts())[0]?.state === 'answered');
    assert.equal(await high.call(), 200);
  });

  testOn(name)(`the card of a conversation that a loop ended offers no way back: ${name}`, async (context) => {
    const { post, listHalts } = await setUp(context)(500);
    const { path, body } = apis.anthropic;
    await until(async () => (await post(`/task/a${path}`, body('go', repeatCall(20)))).status === 402);
    assert.deepEqual((await listHalts())[0]?.actions, ['dismiss']);
  });

  testOn(name)(`a person hands a halted task back with a new budget, also past a restart: ${name}`, async (context) => {
    const open = setUp(context);
    const gateway = await open(5);
    await gateway.useUp();
    const [card] = await gateway.listHalts();
    // The inbox of another process.
    const inbox = await open(5);
    inbox.gear.cards.answer(card!.id, 'replan', 'ann');
    await inbox.store.shared.settled();
    await until(async () => (await gateway.call()) === 200);
    await gateway.useUp();
    const cards = await gateway.listHalts();
    assert.equal(cards.length, 2);
    await gateway.close();
    await gateway.store.shared.settled();
    // The answer to the first card is not for the second halt.
    const restarted = await open(5);
    assert.equal(await restarted.call(), 402);
    const last = (await restarted.listHalts()).find(({ state }) => state === 'open')!;
    restarted.gear.cards.answer(last.id, 'replan', 'ann');
    await restarted.close();
    await restarted.store.shared.settled();
    const again = await open(5);
    assert.equal(await again.call(), 200, 'an answer that no gateway saw holds after a restart');
  });

  testOn(name)(
    `the card of another gateway closes with it after the task was handed back: ${name}`,
    async (context) => {
      const open = setUp(context);
      const gateway = await open(5);
      await gateway.useUp();
      const [card] = await gateway.listHalts();
      const other = await open(5);
      assert.equal(await other.call(), 402);
      await until(async () => (await other.listHalts()).length === 2);
      await other.store.shared.settled();
      gateway.gear.cards.answer(card!.id, 'replan', 'ann');
      await until(async () => (await gateway.call()) === 200);
      assert.equal(await other.call(), 402, 'each gateway has a card of its own');
      await other.close();
      await other.store.shared.settled();
      await until(async () => (await gateway.listHalts()).every(({ state }) => state === 'answered'));
    },
  );

  for (const [what, expired] of [
    [
      'its spending, as after a day without requests',
      ['micros', 'tokens', 'modelCalls'].map((unit) => `gateway-task/gw-a/${unit}`),
    ],
    ['the mark of the hand-back, as after days of work', ['gateway-halt/gw-a']],
  ] as const) {
    testOn(name)(
      `a task that was handed back spends its new budget once if the store forgets ${what}: ${name}`,
      async (context) => {
        const open = setUp(context);
        const gateway = await open(5);
        await gateway.useUp();
        const [card] = await gateway.listHalts();
        gateway.gear.cards.answer(card!.id, 'replan', 'ann');
        assert.equal(await gateway.call(), 200);
        await gateway.close();
        for (const key of expired) gateway.store.drop(key);
        await gateway.store.shared.settled();
        // Two calls fit into a budget; the first one was forgotten, or it counts.
        const calls = [];
        for (const _ of [1, 2, 3]) {
          const next = await open(5);
          calls.push(await next.call());
          await next.close();
          await next.store.shared.settled();
        }
        assert.deepEqual(calls, expired.length > 1 ? [200, 200, 402] : [200, 402, 402]);
      },
    );
  }
}
