/** Questions of a run: who is asked, what an answer is good for, and that they outlive their process. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dropStandingApproval, listStandingApprovals } from '../../../../src/chains/run/approval/standing-approvals.ts';
import { answerStoredCard } from '../../../../src/chains/run/approval/stored-card.ts';
import { type ChainsOptions, createChains, type RunOptions } from '../../../../src/chains/run/chains.ts';
import type { RunEvent } from '../../../../src/chains/run/state/run-event.ts';
import type { RuleText } from '../../../../src/core/settings.ts';
import { memoryStore } from '../../../../src/stores/memory.ts';
import { promisesSettled, simulatedClock } from '../../../../src/testing/simulated-clock.ts';
import { bothStores, testOn } from '../../../stores/both-stores.ts';
import { chainOf, counting, person, step } from '../run-setup.ts';

const quiet = { log: 'silent', env: {} } as const;
const asking = chainOf(['first', 'pay', 'tell'], ['ability:pay|confirm|really pay?']);

/** The fields of a rule whose condition may have a pipe. */
function partsOf(line: string) {
  const [, condition = '', action = '', reason] = /^(output:[^|]*\|[^|]*|[^|]*)\|(\w+)(?:\|(.*))?$/.exec(line) ?? [];
  return { condition, action: action as RuleText['action'], ...(reason !== undefined && { reason }) };
}

function world(more: Partial<ChainsOptions> = {}) {
  const clock = simulatedClock();
  const store = memoryStore(clock);
  const abilities = counting();
  const chains = createChains({ abilities: [abilities], store, ...quiet, ...more });
  return { clock, store, abilities, chains };
}

test('the question names the chain, the step and the reason, and offers four answers', async () => {
  const ann = person({ approved: true });
  const { chains, store } = world({ approver: ann });
  const run = await chains.run(asking);
  assert.equal(run.status, 'done');
  const [card] = ann.cards;
  assert.deepEqual(card?.evidence, ['plan: step pay wants to call pay', 'really pay?']);
  assert.deepEqual(card?.actions, ['approve', 'approve_run', 'approve_always', 'decline']);
  assert.deepEqual(card?.step, { run: run.id, chain: 'plan', id: 'pay', rules: ['chain:plan|ability:pay|confirm'] });
  assert.equal(store.card(card!.id)?.state, 'used');
  assert.equal(store.card(card!.id)?.by, 'ann');
});

test('the approver sees the arguments, shortened; the stored card does not contain them', async () => {
  const ann = person({ approved: true });
  const { chains, store } = world({ approver: ann });
  const chain = (to: string) => chainOf([step('pay', { args: { to, sum: '{{sum}}' } })], ['ability:pay|confirm']);
  await chains.run(chain('bob'), { sum: '40' });
  assert.equal(ann.cards[0]?.evidence.at(-1), 'with {"to":"bob","sum":"40"}');
  assert.doesNotMatch(JSON.stringify([...store.cards(), ...store.tail(0)]), /bob/);
  assert.equal(ann.cards[0]?.input, '{"to":"bob","sum":"40"}');
  await chains.run(chain('b'.repeat(30_000)), { sum: '40' });
  assert.match(ann.cards[1]?.input ?? '', /^\{"to":"b+… \[26000 characters not shown\] …b+","sum":"40"\}$/);
});

test('a missing, unavailable or failing approver aborts the run at once', async () => {
  const gone = { name: 'gone', isAvailable: () => false, ask: () => Promise.reject(new Error('never asked')) };
  const broken = { name: 'broken', ask: () => Promise.reject(new Error('no')) };
  for (const approver of [undefined, gone, broken]) {
    const { chains, abilities } = world(approver && { approver });
    const run = await chains.run(asking);
    assert.equal(run.status, 'aborted');
    assert.equal(run.end?.code, 'rule_unanswered');
    assert.deepEqual(abilities.ran, ['first']);
  }
});

test('an answer with other arguments is refused in a sentence of its own', async () => {
  for (const edit of [{ args: [{ sum: 1 }] }, { isEdited: true }]) {
    const { chains, abilities, store } = world({ approver: person({ approved: true, ...edit }) });
    const run = await chains.run(asking);
    assert.equal(run.end?.code, 'rule_unanswered');
    assert.match(run.end?.message ?? '', /approved with other arguments, but a step runs with those of its chain/);
    assert.deepEqual(abilities.ran, ['first']);
    assert.notEqual(store.cards()[0]?.state, 'open');
  }
  const { chains } = world({ approver: person({ approved: false, args: [] }) });
  assert.equal((await chains.run(asking)).end?.code, 'rule_declined');
});

test('the time to answer is a setting', async () => {
  const { chains, clock } = world({ approver: person(), policy: { approval: { timeout_secs: 7 } } });
  const running = chains.run(asking);
  await clock.elapse(6_999);
  assert.equal((await chains.list())[0]?.status, 'waiting');
  await clock.elapse(1);
  const run = await running;
  assert.equal(run.end?.code, 'rule_unanswered');
  assert.match(run.end?.message ?? '', /really pay\?; no answer within 7 s/);
});

test('an approval is for one step: the next step that fires the rule asks again', async () => {
  const ann = person({ approved: true });
  const { chains } = world({ approver: ann });
  await chains.run(chainOf(['one', 'two'], ['ability:*|confirm']));
  assert.equal(ann.cards.length, 2);
});

test('an approval for the run covers its later steps, and no other run', async () => {
  const ann = person({ approved: true, for: 'run' });
  const { chains } = world({ approver: ann });
  const chain = chainOf(['one', 'two', 'three'], ['ability:*|confirm']);
  assert.equal((await chains.run(chain)).status, 'done');
  assert.equal(ann.cards.length, 1);
  assert.equal((await chains.run(chain)).status, 'done');
  assert.equal(ann.cards.length, 2);
});

test('a standing approval covers later runs until it is removed, and never another rule', async () => {
  const ann = person({ approved: true, for: 'always' });
  const { chains, store } = world({ approver: ann });
  const chain = (limit: string, id = 'plan') => chainOf(['one'], [`ability:${limit}|confirm`], { id });
  await chains.run(chain('one'));
  await chains.run(chain('one'));
  assert.equal(ann.cards.length, 1);
  await chains.run(chain('on*'));
  assert.equal(ann.cards.length, 2, 'the rule was changed');
  await chains.run(chain('one', 'other'));
  assert.equal(ann.cards.length, 3, 'another chain');
  const [last] = (await listStandingApprovals(store)).filter(
    ({ rules }) => rules[0] === 'chain:plan|ability:one|confirm',
  );
  await dropStandingApproval(store, last!, 'bob');
  await chains.run(chain('one'));
  assert.equal(ann.cards.length, 4);
});

test('a standing approval ends when a step of the chain changes', async () => {
  const ann = person({ approved: true, for: 'always' });
  const { chains } = world({ approver: ann });
  const chain = (args: Readonly<Record<string, unknown>>) =>
    chainOf([step('sh', { args })], ['ability:sh|confirm'], { params: [{ name: 'x', type: 'text', required: true }] });
  await chains.run(chain({ command: 'ls {{x}}' }), { x: 'a' });
  await chains.run(chain({ command: 'ls {{x}}' }), { x: 'a' });
  assert.equal(ann.cards.length, 1);
  await chains.run(chain({ command: 'ls {{x}}' }), { x: 'b' });
  assert.equal(ann.cards.length, 2, 'another parameter is another call');
  await chains.run(chain({ command: 'rm {{x}}' }), { x: 'a' });
  assert.equal(ann.cards.length, 3);
});

test('a parameter filled into a rule is in no entry or card unless content is kept', async () => {
  const rules = [
    'output:first|contains:{{key}}|throttle',
    'output:first|contains:{{key}}|confirm',
    'ability:pay|confirm|pay with {{key}} up to {{most}}?',
    'ability:tell|abort|{{key}} is not for telling',
  ];
  const params = [
    { name: 'key', type: 'text', required: true } as const,
    { name: 'most', type: 'number', required: true } as const,
  ];
  const file = chainOf(['first', 'pay', 'tell'], [], { params });
  const chain = { ...file, rules: rules.map((line) => ({ target: 'chain:plan', ...partsOf(line) })) };
  for (const content of ['none', 'full'] as const) {
    const kept: string[] = [];
    const ann = person({ approved: true, for: 'always' });
    const policy = { journal: { content, level: 'all' }, rule_settings: { min_interval_secs: 0.001 } } as const;
    const { chains, store } = world({ approver: ann, policy, abilities: [counting({ first: () => 'a s3cret-key' })] });
    const run = await chains.run(chain, { key: 's3cret', most: 40 });
    assert.equal(run.end?.message, 's3cret is not for telling', 'who runs it is told');
    assert.match(ann.cards.at(-1)?.evidence.join() ?? '', /s3cret up to 40/, 'who is asked is told');
    kept.push(JSON.stringify([...store.tail(0)]), JSON.stringify([...store.cards()]));
    kept.push(JSON.stringify(await listStandingApprovals(store)));
    for (const text of kept) assert.equal(text.includes('s3cret'), content === 'full', text);
    assert.match(kept[1]!, content === 'full' ? /pay with s3cret up to 40/ : /pay with \{\{key\}\} up to 40/);
    const again = person({ approved: true });
    await createChains({ store, abilities: [counting()], approver: again, policy, ...quiet }).run(chain, {
      key: 'b',
      most: 40,
    });
    assert.notEqual(again.cards.length, 0, 'another text is another rule');
  }
});

test('cancelling a run closes its question', async () => {
  const { chains, store, clock } = world({ approver: person() });
  const running = chains.run(asking, {}, { id: 'r' });
  await clock.elapse(1_000);
  const { card } = await chains.show('r');
  assert.equal(store.card(card!)?.state, 'open');
  await chains.cancel('r', 'bob');
  assert.equal(store.card(card!)?.state, 'expired');
  await clock.elapse(10_000);
  assert.equal((await running).status, 'cancelled');
});

test('an earlier approval is reported as an event, and the journal names the approver', async () => {
  const events: RunEvent[] = [];
  const { chains, store } = world({
    approver: person({ approved: true, for: 'run' }),
    onRun: (event) => events.push(event),
  });
  const run = await chains.run(chainOf(['one', 'two', 'three'], ['ability:o*|confirm', 'ability:t*|confirm']));
  const told = events.flatMap((event) => (event.type === 'approval-found' ? [event] : []));
  assert.deepEqual(told, [{ type: 'approval-found', run: run.id, step: 'three', by: 'ann', for: 'run' }]);
  const started = store
    .tail(0)
    .flatMap((entry) => (entry.type === 'step-started' ? [[entry.step, entry.approvedBy]] : []));
  assert.deepEqual(started, [
    ['one', 'ann'],
    ['two', 'ann'],
    ['three', 'ann'],
  ]);
  const free = await chains.run(chainOf(['free', 'one'], ['ability:one|confirm']));
  const last = store.tail(0).find((entry) => entry.type === 'step-started' && entry.run === free.id);
  assert.ok(last !== undefined && !('approvedBy' in last), 'a step that nobody asked about has nobody');
});

test('several rules are asked about together, and an approval covers exactly that set', async () => {
  const ann = person({ approved: true, for: 'always' });
  const { chains } = world({ approver: ann });
  await chains.run(chainOf(['one'], ['ability:one|confirm|a', 'ability:o*|confirm|b']));
  assert.equal(ann.cards.length, 1);
  assert.equal(ann.cards[0]?.evidence[1], 'a; b');
  await chains.run(chainOf(['one'], ['ability:one|confirm|a']));
  assert.equal(ann.cards.length, 2);
});

test('an answer in the store counts while the approver is still silent, and the first one stands', async () => {
  const ann = person();
  const { chains, store, clock, abilities } = world({ approver: ann });
  const running = chains.run(asking);
  await promisesSettled();
  const [card] = store.cards();
  assert.equal((await answerStoredCard(store, card!.id, 'decline', 'bob')).status, 'taken');
  assert.equal((await answerStoredCard(store, card!.id, 'approve', 'eve')).status, 'late');
  await clock.elapse(1_000);
  const run = await running;
  assert.equal(run.end?.code, 'rule_declined');
  assert.match(run.end?.message ?? '', /declined by bob/);
  assert.deepEqual(abilities.ran, ['first']);
});

test('a rule can ask before the first step', async () => {
  const ann = person({ approved: true });
  const { chains } = world({ approver: ann });
  const chain = chainOf(['one'], ['frequency>1/1h|confirm|again?']);
  await chains.run(chain);
  assert.equal(ann.cards.length, 0);
  assert.equal((await chains.run(chain)).status, 'done');
  assert.deepEqual(ann.cards[0]?.evidence, ['plan', 'again?']);
});

test('the approver sees the value of a rule, which is stored only if content is kept', async () => {
  const ann = person({ approved: true });
  const { chains, store } = world({ approver: ann, abilities: [counting({ price: () => 98_765_431 })] });
  await chains.run(chainOf(['price', 'buy'], ['price>500|confirm']));
  assert.equal(ann.cards[0]?.evidence[1], 'price 98765431 exceeds threshold 500');
  assert.equal(store.cards()[0]?.evidence[1], 'price exceeds threshold 500');
  assert.doesNotMatch(JSON.stringify(store.tail(0)), /98765431/);
});

test('the idle time does not run while a person is asked', async () => {
  const ann = person();
  const { chains, clock } = world({ approver: ann, policy: { task: { max_idle_secs: 30, max_duration_secs: 60 } } });
  const running = chains.run(asking);
  await clock.elapse(100_000);
  ann.say({ approved: true });
  await clock.elapse(1_000);
  assert.equal((await running).status, 'done');
});

const { kinds, newPlace } = bothStores();

for (const [name, make] of Object.entries(kinds)) {
  const test = testOn(name);
  /** One process after another on one store. */
  const restarts = () => {
    const place = newPlace();
    const abilities = counting();
    return {
      abilities,
      async life<T>(
        work: (chains: ReturnType<typeof createChains>, store: Awaited<ReturnType<typeof make>>) => Promise<T>,
        more = {},
      ) {
        const store = await make(place);
        try {
          return await work(createChains({ abilities: [abilities], store, ...quiet, ...more }), store);
        } finally {
          await store.shared.settled();
          store.close();
        }
      },
    };
  };
  const parked: RunOptions = { id: 'r', wait: false };

  test(`${name}: a question survives a restart, and an answer in between counts`, async () => {
    const { life, abilities } = restarts();
    const run = await life((chains) => chains.run(asking, {}, parked));
    assert.equal(run.status, 'waiting');
    assert.equal(run.owner, undefined);
    const again = await life((chains) => chains.resume('r', { wait: false }));
    assert.equal(again.status, 'waiting');
    assert.equal(again.card, run.card);
    await life(async (_, store) => {
      const cards = (await store.shared.read('card/', 10)).map(({ key }) => key);
      assert.deepEqual(cards, [`card/${run.card}`], 'one question, one card');
      assert.equal((await answerStoredCard(store, run.card!, 'approve', 'bob')).status, 'taken');
    });
    const done = await life((chains) => chains.resume('r'));
    assert.equal(done.status, 'done');
    assert.deepEqual(abilities.ran, ['first', 'pay', 'tell']);
    await life(async (_, store) => assert.equal(store.card(run.card!)?.state, 'used'));
  });

  test(`${name}: a decline during a restart aborts the run`, async () => {
    const { life, abilities } = restarts();
    const { card } = await life((chains) => chains.run(asking, {}, parked));
    await life((_, store) => answerStoredCard(store, card!, 'decline', 'bob'));
    const run = await life((chains) => chains.resume('r'));
    assert.equal(run.end?.code, 'rule_declined');
    assert.deepEqual(abilities.ran, ['first']);
  });

  test(`${name}: a question that expired during a restart aborts the run, and accepts no answer`, async () => {
    const { life, abilities } = restarts();
    const policy = { approval: { timeout_secs: 0.05 } };
    const { card } = await life((chains) => chains.run(asking, {}, parked), { policy });
    await new Promise((resolve) => setTimeout(resolve, 60));
    await life(async (_, store) =>
      assert.equal((await answerStoredCard(store, card!, 'approve', 'bob')).status, 'late'),
    );
    const run = await life((chains) => chains.resume('r'), { policy, approver: person() });
    assert.equal(run.end?.code, 'rule_unanswered');
    assert.deepEqual(abilities.ran, ['first']);
  });

  test(`${name}: an answer from another process reaches the waiting process`, async () => {
    const { life } = restarts();
    const run = await life(
      (chains) =>
        life(async (_, store) => {
          const running = chains.run(asking, {}, { id: 'r' });
          let open: string | undefined;
          while (open === undefined) {
            open = (await store.shared.read('card/', 10)).map(({ key }) => key.slice(5))[0];
            await promisesSettled();
          }
          await answerStoredCard(store, open, 'approve_always', 'bob');
          return running;
        }),
      { approver: person() },
    );
    assert.equal(run.status, 'done');
    const standing = await life((_, store) => listStandingApprovals(store));
    assert.deepEqual(
      standing.map(({ chain, rules, by }) => ({ chain, rules, by })),
      [{ chain: 'plan', rules: ['chain:plan|ability:pay|confirm'], by: 'bob' }],
    );
    assert.equal((await life((chains) => chains.run(asking, {}, { id: 'next' }))).status, 'done', 'nobody is asked');
  });

  test(`${name}: changed arguments ask a new question, and the old card expires`, async () => {
    const { life } = restarts();
    const chain = chainOf([step('pay', { args: { to: '{{whom}}' } })], ['ability:pay|confirm'], {
      params: [{ name: 'whom', type: 'text', required: true }],
    });
    const one = await life((chains) => chains.run(chain, { whom: 'ann' }, { ...parked, id: 'one' }));
    const two = await life((chains) => chains.run(chain, { whom: 'bob' }, { ...parked, id: 'two' }));
    assert.notEqual(one.card, two.card);
    await life((_, store) => answerStoredCard(store, one.card!, 'approve', 'bob'));
    assert.equal((await life((chains) => chains.resume('two', { wait: false }))).status, 'waiting');
  });
}
