/** Runs of chains in one process: steps in order, conditions, rules, failures, limits. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createChains } from '../../../src/chains/run/chains.ts';
import type { RunEvent } from '../../../src/chains/run/state/run-event.ts';
import type { PolicyInput } from '../../../src/guard/api.ts';
import { memoryStore } from '../../../src/stores/memory.ts';
import { simulatedClock } from '../../../src/testing/simulated-clock.ts';
import { chainOf, counting, person, step } from './run-setup.ts';

type Does = Parameters<typeof counting>[0];

function world(does: Does = {}, policy: PolicyInput = {}, more: object = {}) {
  const clock = simulatedClock();
  const store = memoryStore(clock);
  const abilities = counting(does);
  const events: RunEvent[] = [];
  const onRun = (event: RunEvent) => events.push(event);
  const chains = createChains({ abilities: [abilities], store, policy, log: 'silent', env: {}, onRun, ...more });
  return { clock, store, abilities, chains, events };
}

test('steps run in order, and each step sees the earlier outputs', async () => {
  const { chains, abilities } = world({ price: () => ({ usd: 12 }), buy: ({ args }) => args });
  const chain = chainOf([
    'price',
    step('buy', { args: { at: '{{price.usd}}', of: '{{what}}', text: '{{what}} at {{price}}' } }),
  ]);
  const run = await chains.run({ ...chain, params: [{ name: 'what', type: 'text', required: true }] }, { what: 'tea' });
  assert.equal(run.status, 'done');
  assert.deepEqual(abilities.ran, ['price', 'buy']);
  assert.deepEqual((await chains.outputs(run.id)).buy, { at: 12, of: 'tea', text: 'tea at {"usd":12}' });
  assert.deepEqual(
    run.steps.map(({ status, attempts }) => [status, attempts]),
    [
      ['done', 1],
      ['done', 1],
    ],
  );
});

test('a step whose condition does not hold is skipped with a reason', async () => {
  const { chains, abilities } = world({ price: () => 12 });
  const run = await chains.run(
    chainOf(['price', step('buy', { condition: { refKey: 'price', op: 'less_than', value: 10 } }), 'tell']),
  );
  assert.equal(run.status, 'done');
  assert.deepEqual(abilities.ran, ['price', 'tell']);
  assert.equal(run.steps[1]?.status, 'skipped');
  assert.match(run.steps[1]?.reason ?? '', /price/);
});

test('a step that uses the output of a skipped step fails, and names that step', async () => {
  const { chains, abilities } = world();
  const skipped = step('price', { condition: { refKey: 'no', op: 'exists' } });
  const run = await chains.run(chainOf([skipped, step('buy', { args: { at: '{{price.last}}' } })]));
  assert.match(
    run.end?.message ?? '',
    /^buy: \{\{price\.last\}\} stands for nothing: .*; price, which outputs price, was skipped$/,
  );
  assert.deepEqual(abilities.ran, []);
});

test('the message does not repeat the reason of a rule, and a throttle without a count shows none', async () => {
  const { chains } = world({ amount: () => 'NaN' });
  const wrong = await chains.run(chainOf(['amount', 'pay'], ['amount>5|abort']));
  assert.equal(wrong.end?.message, 'amount is not a number, threshold 5');
  const slow = await chains.run(chainOf(['pay', step('again', { ability: 'pay' })], ['ability:pay|throttle|slowly']));
  assert.equal(slow.end?.message, "'pay' is limited: slowly");
  assert.ok(slow.end?.retryAtMs);
});

test('a failing ability fails the run with its class and message, and nothing after it runs', async () => {
  const { chains, abilities } = world({
    price: () => {
      throw new RangeError('no such thing');
    },
  });
  const run = await chains.run(chainOf(['price', 'buy']));
  assert.equal(run.status, 'failed');
  assert.equal(run.end?.code, 'ability_failed');
  assert.match(run.end?.message ?? '', /price: RangeError: no such thing/);
  assert.equal(run.steps[0]?.status, 'failed');
  assert.deepEqual(abilities.ran, ['price']);
});

test('an abort stops the run with the reason of the rule, before the step', async () => {
  const { chains, abilities } = world({ price: () => 750 });
  const run = await chains.run(chainOf(['price', 'buy'], ['price>500|abort|too dear']));
  assert.equal(run.status, 'aborted');
  assert.deepEqual(run.end, { code: 'rule_abort', message: 'too dear', rules: ['chain:plan|price>500|abort'] });
  assert.deepEqual(abilities.ran, ['price']);
});

test('rules are also checked on the output of the last step', async () => {
  const { chains, abilities } = world({ price: () => 750 });
  const run = await chains.run(chainOf(['price'], ['price>500|abort|too dear']));
  assert.equal(run.status, 'aborted');
  assert.deepEqual(abilities.ran, ['price']);
});

test('a missing key aborts before the first step unless on_missing is pending', async () => {
  const strict = world();
  const rules = ['amount>500|abort|too much'];
  const refused = await strict.chains.run(chainOf(['amount', 'pay'], rules, { ruleSettings: {} }));
  assert.equal(refused.end?.code, 'rule_abort');
  assert.deepEqual(strict.abilities.ran, []);
  const both = chainOf(['amount'], [...rules, 'amount>900|abort|far too much'], { ruleSettings: {} });
  const twice = await strict.chains.run(both);
  assert.equal(twice.end?.message, 'too much; far too much (amount is missing)', 'what is missing is said once');
  const patient = world({ amount: () => 5 });
  assert.equal((await patient.chains.run(chainOf(['amount', 'pay'], rules))).status, 'done');
});

test('a pending rule fires if its key is still missing after the step that outputs it', async () => {
  const { chains, abilities } = world();
  const skipped = step('amount', { condition: { refKey: 'nothing', op: 'exists' } });
  const run = await chains.run(chainOf(['first', skipped, 'pay'], ['amount>500|abort|too much']));
  assert.equal(run.end?.code, 'rule_abort');
  assert.deepEqual(abilities.ran, ['first']);
});

test('policy rules with any target apply to chains: *, chain, tool and its arguments', async () => {
  const rows: readonly (readonly [string, string, boolean])[] = [
    ['*', 'ability:pay', true],
    ['chain:plan', 'ability:pay', true],
    ['plan', 'ability:pay', true],
    ['chain:other', 'ability:pay', false],
    ['tool:pay', 'amount>500', true],
    ['tool:pay', 'amount>900', false],
    ['tool:mail', 'amount>500', false],
    ['agent:plan', 'ability:p*', true],
  ];
  for (const [target, condition, fires] of rows) {
    const { chains, abilities } = world({}, { rules: [{ target, condition, action: 'abort', reason: 'no' }] });
    const run = await chains.run(chainOf(['first', step('pay', { args: { amount: 750 } })]));
    assert.equal(run.status, fires ? 'aborted' : 'done', `${target} ${condition}`);
    assert.deepEqual(abilities.ran, fires ? ['first'] : ['first', 'pay']);
  }
});

test('rules of a model only tighten, and a plan that cannot be read refuses the run', async () => {
  const { chains, abilities } = world();
  const modelText = '<nyaya>\nD: trade\nB: ability:pay|abort|"not today"\n</nyaya>';
  const run = await chains.run(chainOf(['first', 'pay']), {}, { modelText });
  assert.equal(run.end?.message, 'not today');
  assert.deepEqual(abilities.ran, ['first']);
  const broken = '<nyaya>\nB: ability:pay|explode\n</nyaya>';
  await assert.rejects(chains.run(chainOf(['first']), {}, { modelText: broken }), { code: 'invalid_plan' });
  assert.deepEqual(abilities.ran, ['first']);
});

test('each step reports the value of every rule; the journal has values only if it keeps content', async () => {
  for (const content of ['none', 'full'] as const) {
    const { chains, events, store } = world({ price: () => 7 }, { journal: { content } });
    await chains.run(chainOf(['price', 'buy'], ['price>500|abort|too dear']));
    const seen = events.flatMap((event) => (event.type === 'rules-checked' && event.step === 'buy' ? event.rows : []));
    assert.deepEqual(seen, [
      {
        rule: 'chain:plan|price>500|abort',
        action: 'abort',
        fired: false,
        value: '7',
        limit: '500',
        reason: 'too dear',
      },
    ]);
    const kept = store
      .tail(0)
      .flatMap((entry) => (entry.type === 'rules-checked' && entry.step === 'buy' ? entry.rows : []));
    const row = { rule: 'chain:plan|price>500|abort', fired: false, limit: '500' };
    assert.deepEqual(kept, [content === 'full' ? { ...row, value: '7' } : row]);
  }
});

test('a throttled run ends with the time to retry, and can be resumed then', async () => {
  const { chains, abilities, clock } = world();
  const chain = chainOf(['poll'], ['frequency>2/1h|throttle|not so fast']);
  for (let turn = 0; turn < 2; turn++) assert.equal((await chains.run(chain)).status, 'done');
  const run = await chains.run(chain);
  assert.equal(run.status, 'throttled');
  assert.equal(run.end?.code, 'rule_throttled');
  assert.equal(run.end?.retryAtMs, 3_600_000);
  assert.equal(abilities.ran.length, 2);
  assert.equal((await chains.resume(run.id)).status, 'throttled');
  clock.advance(3_600_000);
  assert.equal((await chains.resume(run.id)).status, 'done');
  assert.equal(abilities.ran.length, 3);
});

test('a throttle rule with a delay waits, and then the run continues', async () => {
  const { chains, clock } = world({}, { rule_settings: { throttle: 'delay', max_delay_secs: 60 } });
  const chain = chainOf(['poll'], ['frequency>1/30s|throttle']);
  assert.equal((await chains.run(chain)).status, 'done');
  const second = chains.run(chain);
  await clock.elapse(30_000);
  assert.equal((await second).status, 'done');
});

test('an unknown ability refuses the run before its first step', async () => {
  const { chains, abilities } = world();
  const none = { ...abilities, find: async (name: string) => (name === 'pay' ? undefined : abilities.find(name)) };
  const strict = createChains({ abilities: [none], log: 'silent', env: {} });
  await assert.rejects(strict.run(chainOf(['first', 'pay'])), { code: 'unknown_ability', message: /step pay.*"pay"/ });
  assert.deepEqual(abilities.ran, []);
  assert.equal((await chains.list()).length, 0);
});

test('after the timeout of a step its signal aborts and the run fails', async () => {
  let aborted = false;
  const { chains, clock } = world({
    slow: ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          aborted = true;
          reject(signal.reason);
        });
      }),
  });
  const running = chains.run(chainOf([step('slow', { timeoutSecs: 2 })]));
  await clock.elapse(2_000);
  const run = await running;
  assert.equal(run.status, 'failed');
  assert.match(run.end?.message ?? '', /took longer than 2 s/);
  assert.equal(aborted, true);
});

test('an open breaker refuses the step, with the time of the next try', async () => {
  const { chains, abilities } = world({
    bad: () => {
      throw new Error('down');
    },
  });
  const chain = chainOf([step('bad', { circuitBreaker: { failureThreshold: 2 } })]);
  for (let turn = 0; turn < 2; turn++) assert.equal((await chains.run(chain)).status, 'failed');
  const run = await chains.run(chain);
  assert.equal(run.status, 'aborted');
  assert.equal(run.end?.code, 'circuit_open');
  assert.ok((run.end?.retryAtMs ?? 0) > 0);
  assert.equal(abilities.ran.length, 2);
});

test('the budget of the task holds for the steps of a run', async () => {
  const { chains, abilities } = world({}, { task: { max_tool_calls: 2 } });
  const run = await chains.run(chainOf(['one', 'two', 'three']));
  assert.equal(run.status, 'aborted');
  assert.equal(run.end?.code, 'tool_call_limit');
  assert.deepEqual(abilities.ran, ['one', 'two']);
});

test('an aborted signal cancels the run, and the running step is in doubt', async () => {
  const stop = new AbortController();
  const { chains, clock, store } = world({
    slow: ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        stop.abort();
      }),
  });
  const running = chains.run(chainOf(['slow', 'next']), {}, { signal: stop.signal });
  await clock.elapse(10_000);
  const run = await running;
  assert.equal(run.status, 'cancelled');
  assert.deepEqual(run.end, { code: 'cancelled', message: 'the caller cancelled the run' });
  assert.deepEqual(
    run.steps.map(({ status }) => status),
    ['in-doubt', 'pending'],
  );
  const left = [...store.cards()].map(({ kind, state }) => [kind, state]);
  assert.deepEqual(left, [], 'nobody is asked to do something about it');
});

test('an output that is too long fails the step, and one that is just short enough is kept whole', async () => {
  const long = 'x'.repeat(1_048_576 - 2);
  const { chains } = world({ fits: () => long, not: () => `${long}y` });
  const run = await chains.run(chainOf(['fits', 'not']));
  assert.equal(run.status, 'failed');
  assert.match(run.end?.message ?? '', /not: its output has 1048577 bytes, at most 1048576/);
  assert.equal((await chains.outputs(run.id)).fits, long);
  const wide = await world({ wide: () => 'é'.repeat(600_000) }).chains.run(chainOf(['wide']));
  assert.match(wide.end?.message ?? '', /its output has 1200002 bytes/);
});

test('all attempts of a step have the same idempotency key; another step has another key', async () => {
  const { chains, abilities } = world();
  const run = await chains.run(chainOf(['one', 'two']));
  assert.deepEqual(
    abilities.calls.map(({ attemptKey }) => attemptKey),
    [`${run.id}/one`, `${run.id}/two`],
  );
});

test('a run id can be used once, and an invalid id is refused', async () => {
  const { chains } = world();
  await chains.run(chainOf(['one']), {}, { id: 'mine' });
  await assert.rejects(chains.run(chainOf(['one']), {}, { id: 'mine' }), { code: 'run_exists' });
  await assert.rejects(chains.run(chainOf(['one']), {}, { id: 'a b' }), { code: 'invalid_argument' });
  await assert.rejects(chains.show('other'), { code: 'unknown_run' });
  await assert.rejects(chains.resume('mine'), { code: 'run_over' });
});

test('an error of an event listener does not stop a run', async () => {
  const onRun = () => {
    throw new Error('look away');
  };
  const { chains } = world({}, {}, { onRun, approver: person({ approved: true }) });
  assert.equal((await chains.run(chainOf(['one'], ['ability:one|confirm']))).status, 'done');
});

test('an invalid policy throws before any run starts', () => {
  assert.throws(() => world({}, { approval: { timeout_secs: -1 } }), { code: 'invalid_policy' });
  assert.throws(() => world({}, {}, { onRefusal: 'shout' }), { code: 'invalid_argument' });
});

test('runs are listed newest first, and the memory store keeps a limited number', async () => {
  const { chains, clock } = world();
  for (const id of ['a', 'b', 'c']) {
    await chains.run(chainOf(['one']), {}, { id });
    clock.advance(10);
  }
  const list = await chains.list();
  assert.deepEqual(
    list.map(({ id, status, passed, steps, chain }) => [id, status, passed, steps, chain]),
    ['c', 'b', 'a'].map((id) => [id, 'done', 1, 1, 'plan']),
  );
});
