/** Answers of the inbox: raised limits, notes, equal questions, several cards at once, snoozes; on both stores. */

import assert from 'node:assert/strict';
import { cardApprover } from '../../../src/approvers/index.ts';
import { createChains } from '../../../src/chains/run/chains.ts';
import type { Card } from '../../../src/core/card.ts';
import { createSwitchgear } from '../../../src/index.ts';
import { wakeSnoozedCards } from '../../../src/operator/inbox/snooze.ts';
import { chainOf, counting } from '../../chains/run/run-setup.ts';
import { serve } from '../../server/server-setup.ts';
import { bothStores, testOn, until } from '../../stores/both-stores.ts';

const { kinds, newPlace } = bothStores();

const ask: Card = {
  ...{ id: 'ask-1', kind: 'ask', task: 't', code: 'rule_declined', counters: {}, evidence: ['pay?'], digest: 'd' },
  ...{ actions: ['approve', 'decline'], state: 'open', agent: 'bot', openedWallMs: 2 },
};

for (const [name, open] of Object.entries(kinds)) {
  const test = testOn(name);

  test(`${name}: the history says since when an alert is over, and that a question was not approved`, async () => {
    const store = await open(newPlace());
    const server = await serve(store);
    const over = { ...ask, kind: 'notice', state: 'expired', code: 'notice', actions: ['dismiss'] } as const;
    store.putCard({ ...over, id: 'card-alert-1', evidence: ['x tripped', 'Over since 2026-03-01 09:12:44 UTC'] });
    store.putCard({ ...ask, state: 'expired' });
    await store.shared.settled();
    const sentenceOf = async (id: string) => (await server.send('GET', `/api/cards/${id}`)).json.card.effect.sentence;
    assert.equal(await sentenceOf('card-alert-1'), 'Over since 2026-03-01 09:12:44 UTC.');
    assert.equal(await sentenceOf('ask-1'), 'Nobody answered in time: it was not approved.');
    await server.close();
    store.close();
  });

  test(`${name}: a retry raises the limit as far as its card allows, and the effect is read back`, async () => {
    const place = newPlace();
    const [store, own] = [await open(place), await open(place)];
    const server = await serve(store);
    const policy = { task: { max_tool_calls: 4 } };
    const gear = createSwitchgear({ agent: 'bot', store: own, policy, log: 'silent', env: {} });
    const read = gear.guard('read', (page: number) => `page ${page}`);
    await gear.task(() => [1, 2, 3, 4, 5].map((page) => read(page)));
    await own.shared.settled();
    await until(async () => (await server.send('GET', '/api/cards?kind=halt')).json.total === 1);
    const [halted] = (await server.send('GET', '/api/cards?kind=halt')).json.cards;
    assert.deepEqual(halted.details.raise, { setting: 'task.max_tool_calls', suggested: 8, min: 6, max: 8 });
    const path = `/api/cards/${halted.id}/answer`;
    for (const limit of [5, 9, 16, 32])
      assert.equal((await server.send('POST', path, { answer: 'retry', limit })).status, 400, `${limit}`);
    assert.equal((await server.send('POST', path, { answer: 'pause', limit: 7 })).status, 400);
    const answered = await server.send('POST', path, { answer: 'retry', limit: 7, note: 'go on' });
    assert.deepEqual([answered.status, answered.json.card.raisedTo], [200, 7]);
    assert.match(
      answered.json.effect.sentence,
      /ann raised task.max_tool_calls to 7: it has not been started again yet/,
    );
    const { answer, task, raisedTo } = (await gear.cards.waitForAnswer(halted.id))!;
    assert.deepEqual([answer, raisedTo], ['retry_raised', 7]);
    const again = gear.retryOptions(task)!;
    assert.equal(again.limits?.maxToolCalls, 7);
    let finish = () => {};
    const running = gear.task(
      again,
      () =>
        new Promise<void>((resolve) => {
          finish = resolve;
        }),
    );
    await until(async () => {
      const { effect } = (await server.send('GET', `/api/cards/${halted.id}`)).json.card;
      return /^ann raised task.max_tool_calls to 7: now [45] of 7\.$/.test(effect.sentence) && effect.isInForce;
    });
    finish();
    await running;
    gear.dispose();
    await server.close();
    for (const each of [store, own]) each.close();
  });

  test(`${name}: equal questions are released together; the note of a decline reaches the agent`, async () => {
    const place = newPlace();
    const [store, own] = [await open(place), await open(place)];
    const server = await serve(store);
    const policy = { rules: ['ability:pay|confirm|really pay?'] };
    const gear = createSwitchgear({
      store: own,
      approver: cardApprover({ store: own }),
      policy,
      log: 'silent',
      env: {},
    });
    const paid: number[] = [];
    const pay = gear.guard('pay', async (amount: number) => {
      paid.push(amount);
      return 'paid';
    });
    const list = async () => (await server.send('GET', '/api/cards?kind=ask')).json.cards;
    await gear.task(async () => {
      const calls = [5, 5, 5, 9].map((amount) => pay(amount));
      await until(
        async () => (await list()).reduce((sum: number, { count }: { count: number }) => sum + count, 0) === 4,
      );
      const [first, second] = (await list()).toSorted(
        (a: { count: number }, b: { count: number }) => b.count - a.count,
      );
      assert.deepEqual([first.count, second.count], [3, 1]);
      const { json } = await server.send('POST', `/api/cards/${first.id}/answer`, { answer: 'approve', equals: 1 });
      assert.equal(json.effect.released, 1);
      assert.match(json.effect.sentence, /1 equal question was released with it\.$/);
      await until(() => paid.length === 2);
      const [third] = (await list()).filter(({ digest }: Card) => digest === first.digest);
      assert.equal(third.count, 1);
      await server.send('POST', `/api/cards/${third.id}/answer`, { answer: 'approve' });
      const declined = { answer: 'decline', note: 'too much, pay 8' };
      assert.equal((await server.send('POST', `/api/cards/${second.id}/answer`, declined)).status, 200);
      const results = await Promise.all(calls);
      assert.deepEqual(results.slice(0, 3), ['paid', 'paid', 'paid']);
      assert.match(JSON.stringify(results[3]), /really pay\?; ann says: too much, pay 8/);
    });
    assert.deepEqual(paid, [5, 5, 5]);
    const closed = (await server.send('GET', '/api/cards?state=closed')).json.cards;
    assert.ok(
      closed.every((card: Card & { effect: { sentence: string } }) => card.answeredWallMs && card.effect.sentence),
    );
    gear.dispose();
    await server.close();
    for (const each of [store, own]) each.close();
  });

  test(`${name}: the same call of several tasks is one card; an answer to all of them says so first`, async () => {
    const place = newPlace();
    const [store, own] = [await open(place), await open(place)];
    const server = await serve(store);
    const policy = { rules: ['ability:mail|confirm|to customers'] };
    const options = { store: own, approver: cardApprover({ store: own }), policy, log: 'silent', env: {} } as const;
    const gears = [createSwitchgear(options), createSwitchgear(options)] as const;
    const sent: string[] = [];
    const ask = (gear: (typeof gears)[0], task: string, to: string) =>
      gear.task({ id: task }, () => gear.guard('mail', async (address: string) => void sent.push(address))(to));
    const calls = [
      ...['a', 'b', 'c'].map((task) => ask(gears[0], task, 'x@example.com')),
      ask(gears[0], 'd', 'y@example.com'),
      ask(gears[1], 'e', 'x@example.com'),
    ];
    const list = async () => (await server.send('GET', '/api/cards?kind=ask')).json.cards;
    const sum = (cards: { count: number }[]) => cards.reduce((before, { count }) => before + count, 0);
    await until(async () => sum(await list()) === 5);
    const cards = await list();
    const first = cards.find(({ count }: { count: number }) => count > 1);
    assert.deepEqual([cards.length, first.count, first.equalTasks.length], [3, 3, 2], 'other arguments, other program');
    const alone = await server.send('POST', `/api/cards/${first.id}/answer`, { answer: 'approve' });
    assert.equal(alone.json.effect.released, 0, 'other tasks are decided only where a person saw them');
    const second = (await list()).find(({ count }: { count: number }) => count > 1);
    assert.equal(second.count, 2);
    const both = await server.send('POST', `/api/cards/${second.id}/answer`, { answer: 'approve', equals: 1 });
    assert.match(both.json.effect.sentence, /1 equal question was released with it\.$/);
    await until(() => sent.length === 3);
    for (const { id } of await list()) await server.send('POST', `/api/cards/${id}/answer`, { answer: 'decline' });
    await Promise.all(calls);
    assert.deepEqual(sent, ['x@example.com', 'x@example.com', 'x@example.com']);
    for (const gear of gears) gear.dispose();
    await server.close();
    for (const each of [store, own]) each.close();
  });

  test(`${name}: the note of a declined chain step is in the reason of its run`, async () => {
    const store = await open(newPlace());
    const server = await serve(store);
    const chains = createChains({ abilities: [counting()], store, log: 'silent', env: {} });
    const run = await chains.run(chainOf(['pay'], ['ability:pay|confirm|really pay?']), {}, { id: 'r', wait: false });
    const answer = { answer: 'decline', note: 'not today' };
    const { json } = await server.send('POST', `/api/cards/${run.card}/answer`, answer);
    assert.equal(json.effect.sentence, 'ann declined it: “not today”.');
    const over = await chains.resume('r', { wait: false });
    assert.equal(over.status, 'aborted');
    assert.match(JSON.stringify(over), /ann says: not today/);
    await server.close();
    store.close();
  });

  test(`${name}: several cards are decided at once, with a result for each`, async () => {
    const store = await open(newPlace());
    const server = await serve(store);
    for (const id of ['a', 'b', 'c']) store.putCard({ ...ask, id, digest: id });
    await store.shared.settled();
    await server.send('POST', '/api/cards/b/answer', { answer: 'decline' });
    const body = { ids: ['a', 'b', 'c', 'none'], answer: 'approve' };
    const { results } = (await server.send('POST', '/api/cards/answer', body)).json;
    assert.deepEqual(
      results.map(({ id, effect, error }: { id: string; effect?: { status: string }; error?: { code: string } }) => [
        id,
        effect?.status ?? error?.code,
      ]),
      [
        ['a', 'answered'],
        ['b', 'not_answered'],
        ['c', 'answered'],
        ['none', 'not_found'],
      ],
    );
    assert.equal((await server.send('POST', '/api/cards/answer', { ids: [], answer: 'approve' })).status, 400);
    const many = { ids: Array.from({ length: 101 }, (_, at) => `${at}`), answer: 'approve' };
    assert.equal((await server.send('POST', '/api/cards/answer', many)).status, 400);
    await server.close();
    store.close();
  });

  test(`${name}: a snoozed card is hidden, decides nothing, and comes back with one entry`, async () => {
    const place = newPlace();
    const [store, other] = [await open(place), await open(place)];
    const server = await serve(store);
    store.putCard(ask);
    await store.shared.settled();
    const snoozed = await server.send('POST', '/api/cards/ask-1/snooze', { secs: 1 });
    assert.deepEqual([snoozed.status, snoozed.json.card.state, snoozed.json.card.isOpen], [200, 'open', true]);
    assert.equal((await server.send('GET', '/api/cards')).json.total, 0);
    assert.equal((await server.send('GET', '/api/cards?state=snoozed')).json.cards[0].id, 'ask-1');
    await until(async () => {
      await Promise.all([wakeSnoozedCards(store), wakeSnoozedCards(other)]);
      return (await server.send('GET', '/api/cards')).json.total === 1;
    });
    await until(async () => {
      const changes = (await store.shared.entries(1, 100)).filter(({ type }) => type === 'card-changed');
      return changes.length === 2;
    });
    const [card] = (await server.send('GET', '/api/cards')).json.cards;
    assert.equal(card.snoozedUntilMs, undefined);
    assert.equal((await server.send('POST', '/api/cards/ask-1/answer', { answer: 'approve' })).status, 200);
    assert.equal((await server.send('POST', '/api/cards/ask-1/snooze', { secs: 1 })).status, 409);
    assert.equal((await server.send('POST', '/api/cards/ask-1/snooze', { secs: 0 })).status, 400);
    // A question is not hidden until it has expired.
    const atMs = store.clock.nowMs();
    for (const [id, leftMs, hiddenMs] of [
      ['short', 60_000, 30_000],
      ['long', 3_600_000, 3_300_000],
    ] as const) {
      store.putCard({ ...ask, id, expiresAtMs: atMs + leftMs });
      const { json } = await server.send('POST', `/api/cards/${id}/snooze`, { secs: 86_400 });
      assert.ok(json.card.snoozedUntilMs >= atMs + hiddenMs, `${json.card.snoozedUntilMs - atMs}`);
      assert.ok(json.card.snoozedUntilMs <= atMs + (leftMs + hiddenMs) / 2, `${json.card.snoozedUntilMs - atMs}`);
    }
    await server.close();
    for (const each of [store, other]) each.close();
  });

  test(`${name}: a raised limit decides no equal card whose bounds it passes`, async () => {
    const store = await open(newPlace());
    const server = await serve(store);
    for (const [id, max] of [
      ['halt-a', 16],
      ['halt-b', 8],
    ] as const) {
      const raise = { setting: 'task.max_tool_calls', suggested: 4, min: 3, max };
      const counters = { actual: 2, limit: 2 };
      store.putCard({ ...ask, id, kind: 'halt', task: id, counters, raise, actions: ['retry_raised', 'dismiss'] });
    }
    await store.shared.settled();
    const answer = { answer: 'retry', limit: 16, equals: 1 };
    const { json } = await server.send('POST', '/api/cards/halt-a/answer', answer);
    assert.deepEqual([json.card.raisedTo, json.effect.released], [16, 0]);
    assert.equal((await server.send('GET', '/api/cards/halt-b')).json.card.state, 'open');
    await server.close();
    store.close();
  });
}
