/** Runs that change hands: processes that freeze, are cancelled from elsewhere, or lose their store. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { AbilityCall } from '../../../src/chains/abilities/ability.ts';
import { answerStoredCard } from '../../../src/chains/run/approval/stored-card.ts';
import { type ChainsOptions, createChains } from '../../../src/chains/run/chains.ts';
import type { RunEvent } from '../../../src/chains/run/state/run-event.ts';
import { type Orders, ordersCell } from '../../../src/coordination/operator-orders.ts';
import type { Change, Store } from '../../../src/ports/store.ts';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';
import { promisesSettled, simulatedClock } from '../../../src/testing/simulated-clock.ts';
import { stayAlive } from '../../stay-alive.ts';
import { bothStores, testOn } from '../../stores/both-stores.ts';
import { chainOf, counting, person, step } from './run-setup.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchgear-runs-'));
const opened: Store[] = [];
after(() => {
  for (const store of opened) store.close();
  rmSync(folder, { recursive: true, force: true });
});
let files = 0;

const quiet = { log: 'silent', env: {} } as const;

/** A process of its own, with a clock of its own: one that stands still is a process that froze. */
function side(path: string, does: Parameters<typeof counting>[0] = {}, more: Partial<ChainsOptions> = {}) {
  const clock = simulatedClock();
  const store = sqliteStore({ path, clock });
  opened.push(store);
  const abilities = counting(does);
  const chains = createChains({ abilities: [abilities], store, ...quiet, ...more });
  return { clock, store, abilities, chains };
}

function newFile(): string {
  return join(folder, `${++files}.db`);
}

/** An ability that ends when the test says so. */
function held() {
  let settle: (value: unknown) => void = () => {};
  let begun: () => void = () => {};
  const began = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const work = (_: AbilityCall) => {
    begun();
    return new Promise((resolve) => {
      settle = resolve;
    });
  };
  return { work, began, end: (value: unknown = 'held') => settle(value) };
}

test('a run whose owner is alive cannot be resumed by another process', async () => {
  const path = newFile();
  const hold = held();
  const one = side(path, { pay: hold.work });
  const two = side(path);
  const running = one.chains.run(chainOf(['pay']), {}, { id: 'r' });
  await hold.began;
  two.clock.advance(14_999);
  await assert.rejects(two.chains.resume('r'), { code: 'run_busy', message: /try again in 1 s/ });
  hold.end();
  assert.equal((await running).status, 'done');
  await assert.rejects(two.chains.resume('r'), { code: 'run_over' });
});

test('the owner renews its lease during a long step', async () => {
  const path = newFile();
  const hold = held();
  const one = side(path, { pay: hold.work });
  const two = side(path);
  const chain = chainOf([step('pay', { timeoutSecs: 100 })]);
  const running = one.chains.run(chain, {}, { id: 'r' });
  await hold.began;
  for (let turn = 0; turn < 20; turn++) {
    await one.clock.elapse(1_000);
    two.clock.advance(1_000);
    await promisesSettled();
  }
  await assert.rejects(two.chains.resume('r'), { code: 'run_busy' });
  hold.end();
  assert.equal((await running).status, 'done');
});

test('the step of a frozen owner is in doubt; its late result settles the step without a repeat', async () => {
  const path = newFile();
  const hold = held();
  const one = side(path, { pay: hold.work });
  const two = side(path);
  const running = one.chains.run(chainOf(['first', 'pay', 'tell']), {}, { id: 'r' });
  await hold.began;
  two.clock.advance(15_000);
  const doubtful = await two.chains.resume('r');
  assert.equal(doubtful.status, 'in-doubt');
  assert.deepEqual(
    doubtful.steps.map(({ status }) => status),
    ['done', 'in-doubt', 'pending'],
  );
  assert.deepEqual(two.abilities.ran, []);
  assert.equal((await two.chains.resume('r')).status, 'in-doubt', 'it stays so until somebody says more');
  hold.end('paid');
  await running;
  assert.deepEqual(one.abilities.ran, ['first', 'pay'], 'who lost the run does not go on');
  const done = await two.chains.resume('r');
  assert.equal(done.status, 'done');
  assert.deepEqual(two.abilities.ran, ['tell']);
  assert.deepEqual(await two.chains.outputs('r'), { first: 'first', pay: 'paid', tell: 'tell' });
});

test('an idempotent step runs again, and the late result of the frozen owner is ignored', async () => {
  const path = newFile();
  const hold = held();
  const one = side(path, { pay: hold.work });
  const two = side(path, { pay: () => 'second' });
  const running = one.chains.run(chainOf([step('pay', { idempotent: true })]), {}, { id: 'r' });
  await hold.began;
  two.clock.advance(15_000);
  const run = await two.chains.resume('r');
  assert.equal(run.status, 'done');
  assert.equal(run.steps[0]?.attempts, 2);
  hold.end('first');
  assert.equal((await running).status, 'done');
  assert.deepEqual(await two.chains.outputs('r'), { pay: 'second' });
});

for (const how of ['done', 'redo'] as const) {
  test(`a step in doubt that is settled as ${how} has its run finish`, async () => {
    const path = newFile();
    const hold = held();
    const one = side(path, { pay: hold.work });
    const two = side(path, { tell: ({ args }) => args });
    void one.chains.run(chainOf(['pay', step('tell', { args: { paid: '{{pay}}' } })]), {}, { id: 'r' });
    await hold.began;
    two.clock.advance(15_000);
    await two.chains.resume('r');
    const settled = await two.chains.resolve('r', how, { by: 'bob', ...(how === 'done' && { output: 'by hand' }) });
    assert.equal(settled.status, 'running');
    const run = await two.chains.resume('r');
    assert.equal(run.status, 'done');
    assert.deepEqual(two.abilities.ran, how === 'done' ? ['tell'] : ['pay', 'tell']);
    const { tell } = await two.chains.outputs('r');
    assert.deepEqual(tell, { paid: how === 'done' ? 'by hand' : 'pay' });
    await assert.rejects(two.chains.resolve('r', 'done', { by: 'bob' }), { code: 'not_in_doubt' });
    const told = (await two.store.shared.entries(1, 1_000)).find(({ type }) => type === 'run-resolved');
    assert.deepEqual(told && 'by' in told && [told.by, 'how' in told && told.how], ['bob', how]);
  });
}

test('after an owner froze, the same card is asked again, and only the new owner continues', async () => {
  const path = newFile();
  const chain = chainOf(['first', 'pay'], ['ability:pay|confirm|really?']);
  const [ann, bob] = [person(), person()];
  const one = side(path, {}, { approver: ann });
  const two = side(path, {}, { approver: bob });
  const running = one.chains.run(chain, {}, { id: 'r' });
  await until(() => ann.cards.length === 1);
  two.clock.advance(15_000);
  const resumed = two.chains.resume('r');
  await until(() => bob.cards.length === 1);
  assert.equal(bob.cards[0]?.id, ann.cards[0]?.id);
  assert.equal(bob.cards[0]?.expiresAtMs, 120_000, 'its time goes on, it does not begin anew');
  assert.equal((await running).status, 'waiting', 'the old owner sees that another process goes on');
  assert.deepEqual(
    two.store.cards().map(({ state }) => state),
    ['open'],
    'the question is that of the new owner now',
  );
  bob.say({ approved: true, by: 'bob' });
  assert.equal((await resumed).status, 'done');
  assert.deepEqual([one.abilities.ran, two.abilities.ran], [['first'], ['pay']]);
});

test('a resumed run has the rest of its budget, not a fresh one', async () => {
  const policy = { task: { max_tool_calls: 2 } };
  const { chains, abilities, store } = side(newFile(), {}, { policy });
  const { card } = await chains.run(
    chainOf(['one', 'pay', 'tell'], ['ability:pay|confirm']),
    {},
    { id: 'r', wait: false },
  );
  await answerStoredCard(store, card!, 'approve', 'ann');
  const run = await chains.resume('r');
  assert.equal(run.end?.code, 'tool_call_limit');
  assert.deepEqual(abilities.ran, ['one', 'pay']);
});

test('if two processes resume a run at once, only one continues', async () => {
  const path = newFile();
  const hold = held();
  const one = side(path, { pay: hold.work });
  void one.chains.run(chainOf([step('pay', { idempotent: true }), 'tell']), {}, { id: 'r' });
  await hold.began;
  const others = [side(path), side(path), side(path)];
  for (const { clock } of others) clock.advance(15_000);
  const results = await Promise.allSettled(others.map(({ chains }) => chains.resume('r')));
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
  assert.equal(others.flatMap(({ abilities }) => abilities.ran).length, 2);
});

stayAlive();
const { kinds, newPlace } = bothStores();

for (const [name, make] of Object.entries(kinds)) {
  const test = testOn(name);
  test(`${name}: another process can cancel a run, and the signal of its step aborts`, async () => {
    const place = newPlace();
    const [here, there] = [await make(place), await make(place)];
    let begun: () => void = () => {};
    const began = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const abilities = counting({
      pay: ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
          begun();
        }),
    });
    const running = createChains({ abilities: [abilities], store: here, ...quiet }).run(
      chainOf(['pay', 'tell']),
      {},
      { id: 'r' },
    );
    await began;
    const other = createChains({ abilities: [counting()], store: there, ...quiet });
    assert.equal((await other.cancel('r', 'bob')).status, 'cancelled');
    const run = await running;
    assert.equal(run.status, 'cancelled');
    assert.equal(run.end?.message, 'cancelled by bob');
    assert.deepEqual(abilities.ran, ['pay']);
    await assert.rejects(other.resume('r'), { code: 'run_over' });
    for (const store of [here, there]) store.close();
  });

  test(`${name}: a frequency limit holds over all processes together`, async () => {
    const place = newPlace();
    const stores = [await make(place), await make(place), await make(place)];
    const sides = stores.map((store) => createChains({ abilities: [counting()], store, ...quiet }));
    const chain = chainOf(['poll'], ['frequency>4/1h|throttle|not so fast']);
    const runs = await Promise.all([0, 1, 2, 0, 1, 2, 0, 1, 2].map((at) => sides[at]!.run(chain)));
    assert.equal(runs.filter(({ status }) => status === 'done').length, 4);
    const late = runs.filter(({ status }) => status === 'throttled');
    assert.equal(late.length, 5);
    for (const { end } of late)
      assert.ok((end?.retryAtMs ?? 0) > stores[0]!.clock.nowMs() + 3_500_000, 'an hour later');
    for (const store of stores) store.close();
  });

  test(`${name}: long outputs and long plans come back whole`, async () => {
    const place = newPlace();
    const store = await make(place);
    const long = `"\\${'ä\u0000"'.repeat(60_000)}`;
    const chain = chainOf([step('fetch', { args: { text: 'x'.repeat(60_000), more: 'y"'.repeat(30_000) } }), 'ask']);
    const asking = {
      ...chain,
      rules: [{ target: 'chain:plan', condition: 'ability:ask', action: 'confirm' }],
    } as const;
    const chains = createChains({ abilities: [counting({ fetch: () => ({ long }) })], store, ...quiet });
    assert.equal((await chains.run(asking, {}, { id: 'r', wait: false, origin: 'a/file.yaml' })).status, 'waiting');
    const other = await make(place);
    const later = createChains({ abilities: [counting()], store: other, ...quiet });
    assert.deepEqual((await later.show('r')).chain, JSON.parse(JSON.stringify(asking)));
    assert.deepEqual(await later.outputs('r'), { fetch: { long } });
    assert.equal((await later.show('r')).origin, 'a/file.yaml');
    const looked = [...store.keys()].filter((key) => key.startsWith('chain'));
    assert.deepEqual(looked, [], 'nothing of a run stays in the memory of who ran it');
    for (const each of [store, other]) each.close();
  });
}

test('an answer counts only after the store has it', async () => {
  const clock = simulatedClock();
  const fault = faulty(sqliteStore({ path: newFile(), clock }));
  const ann = person();
  const abilities = counting();
  const chains = createChains({ abilities: [abilities], store: fault.store, ...quiet, approver: ann });
  const running = chains.run(chainOf(['pay'], ['ability:pay|confirm']), {}, { id: 'r' });
  await until(() => ann.cards.length === 1);
  fault.away = true;
  ann.say({ approved: true, by: 7 as never });
  await clock.elapse(5_000);
  assert.deepEqual(abilities.ran, []);
  fault.away = false;
  await clock.elapse(1_000);
  assert.equal((await running).status, 'done');
  assert.equal(fault.store.card(ann.cards[0]!.id)?.by, 'person', 'who does not say its name has that of the approver');
});

test('a run with a missing earlier output is not resumed', async () => {
  const { store, chains, abilities } = side(newFile());
  const chain = chainOf(['first', 'pay'], ['ability:pay|confirm']);
  await chains.run(chain, {}, { id: 'r', wait: false });
  for (const { key } of await store.shared.read('chain-part/r/out/', 10)) {
    store.cell(key, () => null);
    store.drop(key);
  }
  const run = await chains.resume('r', { wait: false });
  assert.equal(run.end?.code, 'store_away');
  assert.match(run.end?.message ?? '', /the output of the step first is missing/);
  assert.deepEqual(abilities.ran, ['first']);
});

test('while an operator pauses a run, its step waits and is not refused', async () => {
  const events: RunEvent[] = [];
  const onRun = (event: RunEvent) => void events.push(event);
  const { store, chains, abilities, clock } = side(newFile(), {}, { onRun });
  const order = (pauses: Orders['pauses']) => {
    const step = (orders: Orders) => ({ state: { ...orders, pauses } });
    return store.shared.commit({ changes: [{ cell: ordersCell(store), update: step } as Change] });
  };
  await order([{ target: 'r', atMs: 0, reason: 'wait for me' }]);
  const running = chains.run(chainOf(['one']), {}, { id: 'r' });
  await until(() => events.some(({ type }) => type === 'step-held'));
  await clock.elapse(5_000);
  assert.deepEqual(abilities.ran, []);
  await order([]);
  await clock.elapse(1_000);
  const run = await running;
  assert.equal(run.status, 'done');
  const held = events.find((event) => event.type === 'step-held');
  assert.equal(held?.type === 'step-held' && held.reason, 'wait for me');
});

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await promisesSettled();
}

/** A store that is away when the test says so. */
function faulty(store: Store & { shared: object }): { readonly store: Store; away: boolean } {
  const { shared } = store as Required<Store>;
  const state = { away: false };
  const commit: typeof shared.commit = async (transaction) =>
    state.away ? { status: 'unavailable', reason: 'pulled' } : shared.commit(transaction);
  const lame = Object.create(store, {
    shared: { value: Object.create(shared, { commit: { value: commit } }) },
  }) as Store;
  return Object.assign(state, { store: lame });
}

test('without its store a run waits a bounded time and stops before the step runs', async () => {
  const clock = simulatedClock();
  const fault = faulty(sqliteStore({ path: newFile(), clock }));
  const events: RunEvent['type'][] = [];
  const abilities = counting();
  const onRun = ({ type, ...more }: RunEvent) => {
    events.push(type);
    // Gone right after the result of the first step was kept.
    if (type === 'step-ended' && 'ability' in more && more.ability === 'first') fault.away = true;
  };
  const chains = createChains({ abilities: [abilities], store: fault.store, ...quiet, onRun });
  const running = chains.run(chainOf(['first', 'second']), {}, { id: 'r' });
  await until(() => events.includes('store-away'));
  await clock.elapse(11_000);
  const run = await running;
  assert.equal(run.end?.code, 'store_away');
  assert.match(run.end?.message ?? '', /pulled.*resume the run/);
  assert.deepEqual(abilities.ran, ['first']);
  assert.ok(events.includes('store-away'));
  fault.away = false;
  clock.advance(15_000);
  const later = await chains.resume('r');
  assert.equal(later.status, 'done');
  assert.deepEqual(abilities.ran, ['first', 'second']);
});

test('a result is retried while the store is unreachable, and written when it is back', async () => {
  const clock = simulatedClock();
  const fault = faulty(sqliteStore({ path: newFile(), clock }));
  const events: RunEvent['type'][] = [];
  const abilities = counting({
    first: () => {
      fault.away = true;
      return 'kept';
    },
  });
  const onRun = ({ type }: RunEvent) => void events.push(type);
  const chains = createChains({ abilities: [abilities], store: fault.store, ...quiet, onRun });
  const running = chains.run(chainOf(['first', 'second']), {}, { id: 'r' });
  await until(() => events.includes('store-away'));
  await clock.elapse(60_000);
  assert.deepEqual(abilities.ran, ['first']);
  fault.away = false;
  await clock.elapse(1_000);
  assert.equal((await running).status, 'done');
  assert.deepEqual(
    events.filter((type) => type.startsWith('store')),
    ['store-away', 'store-back'],
  );
  assert.deepEqual(await chains.outputs('r'), { first: 'kept', second: 'second' });
});
