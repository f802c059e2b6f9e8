/** Odd worst costs, usage, prices and answers of approvers: nothing is refunded, nothing is approved by accident. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Answer, createSwitchgear, refusalOf, type Usage } from '../../../src/index.ts';
import { type Attempts, holdAll } from './attempts.ts';
import { oddObjects } from './odd-values.ts';

const odd: Attempts<unknown> = [
  ['NaN', Number.NaN],
  ['minus one', -1],
  ['minus infinity', -Infinity],
  ['infinity', Infinity],
  ['a text', '12'],
  ['a text of digits', '100000000'],
  ['null', null],
  ['undefined', undefined],
  ['an object', {}],
  ['a list', [5]],
  ['a bigint', 5n],
  ['a symbol', Symbol('usd')],
  ['the largest number', Number.MAX_VALUE],
  ['minus the largest number', -Number.MAX_VALUE],
  ['a fraction', 0.000_000_1],
];

const call = { type: 'usage', model: 'claude-sonnet-4' } as const;

/** Whether a number of a snapshot can be compared with a limit. */
function assertSound(spendUsd: number, tokens: number): void {
  assert.ok(spendUsd >= 0 && Number.isFinite(spendUsd), `spent ${spendUsd}`);
  assert.ok(tokens >= 0 && Number.isFinite(tokens), `used ${tokens} tokens`);
}

test('held: reported usage never gives money back and never becomes NaN', async (context) => {
  const fields = ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'costUsd', 'model'] as const;
  const attempts = fields.flatMap((field) =>
    odd.map(([name, value]) => [`${field} is ${name}`, { [field]: value }] as const),
  );
  await holdAll(context, attempts, async (change) => {
    const gear = createSwitchgear({ log: 'silent', env: {} });
    await gear.task({ limits: { maxSpendCents: 100 } }, (task) => {
      task.observe({ ...call, inputTokens: 100_000, outputTokens: 0 });
      const before = task.snapshot();
      task.observe({ ...call, inputTokens: 0, outputTokens: 0, ...(change as object) });
      const after = task.snapshot();
      assertSound(after.spendUsd, after.tokens);
      assert.ok(after.spendUsd >= before.spendUsd && after.tokens >= before.tokens, 'money came back');
      for (let turn = 0; turn < 20; turn++) task.observe({ ...call, inputTokens: 100_000, outputTokens: 0 });
      assert.equal(task.halt?.code, 'token_spend_limit');
    });
  });
});

test('held: an odd highest cost reserves nothing that is negative, and the limit still holds', async (context) => {
  const attempts = ['usd', 'tokens'].flatMap((unit) =>
    odd.map(([name, value]) => [`${unit} is ${name}`, { [unit]: value }] as const),
  );
  await holdAll(context, attempts, async (maxCost) => {
    const gear = createSwitchgear({ log: 'silent', env: {} });
    const usage = (): Usage => ({ model: 'claude-sonnet-4', inputTokens: 100_000, outputTokens: 0 });
    let ran = 0;
    const think = () => {
      try {
        return gear.guard('m', async () => ++ran, { kind: 'model', maxCost: () => maxCost as object, usage });
      } catch {
        return undefined; // Refused when it is guarded: in words, and before anything runs.
      }
    };
    const guarded = think();
    await gear.task({ limits: { maxSpendCents: 100 } }, async (task) => {
      for (let turn = 0; guarded !== undefined && turn < 10; turn++) await guarded().catch(() => {});
      const { spendUsd, tokens } = task.snapshot();
      assertSound(spendUsd, tokens);
      assert.ok(ran <= 4, `${ran} calls of 30 cents ran on a limit of 100`);
    });
  });
});

test('held: prices that lie or throw do not make a model free', async (context) => {
  const answers: Attempts<() => unknown> = [
    [
      'throws',
      () => {
        throw new Error('no price');
      },
    ],
    ['undefined', () => undefined],
    ['NaN', () => ({ costUsd: Number.NaN, basis: 'x' })],
    ['negative', () => ({ costUsd: -5, basis: 'x' })],
    ['a text', () => ({ costUsd: '0', basis: 'x' })],
    ['nothing', () => ({})],
    ['null', () => null],
  ];
  await holdAll(context, answers, async (answer) => {
    const honest = { costUsd: 0.3, basis: 'highest' };
    const prices = { price: answer as () => undefined, highestPrice: () => honest };
    const gear = createSwitchgear({ log: 'silent', env: {}, prices });
    await gear.task({ limits: { maxSpendCents: 100 } }, (task) => {
      for (let turn = 0; turn < 10; turn++) task.observe({ ...call, inputTokens: 100_000, outputTokens: 0 });
      assertSound(task.snapshot().spendUsd, task.snapshot().tokens);
      assert.equal(task.halt?.code, 'token_spend_limit');
    });
  });
});

const answers: Attempts<() => unknown> = [
  ['true', () => true],
  ['a text', () => 'yes'],
  ['one', () => 1],
  ['undefined', () => undefined],
  ['null', () => null],
  ['approved is a text', () => ({ approved: 'true', by: 'ann' })],
  ['approved is one', () => ({ approved: 1, by: 'ann' })],
  ['approved is an object', () => ({ approved: {}, by: 'ann' })],
  ['approved is a boolean object', () => ({ approved: Object(true), by: 'ann' })],
  ['approved on the prototype is false', () => Object.assign(Object.create({ approved: true }), { approved: false })],
  ['a rejection', () => Promise.reject(new Error('no'))],
  [
    'a throw',
    () => {
      throw new Error('no');
    },
  ],
  ['a list', () => [{ approved: true, by: 'ann' }]],
  ['an array of approvals as JSON', () => '{"approved":true,"by":"ann"}'],
  ['a function', () => () => ({ approved: true, by: 'ann' })],
  ...oddObjects.map(([name, make]) => [`${name} as approved`, () => ({ approved: make(), by: 'ann' })] as const),
];

test('held: an answer that is not exactly a yes is no yes', async (context) => {
  await holdAll(context, answers, async (answer) => {
    let ran = 0;
    const gear = createSwitchgear({
      log: 'silent',
      env: {},
      approver: { name: 'odd', ask: async () => answer() as Answer },
      policy: { rules: [{ target: 'tool:pay', condition: 'amount>500', action: 'confirm' }] },
    });
    const pay = gear.guard('pay', async (_order: { amount: number }) => ++ran);
    const refused = await pay({ amount: 900 });
    assert.equal(ran, 0, 'the call ran');
    assert.match(refusalOf(refused)?.code ?? 'none', /^rule_(declined|unanswered)$/);
    assert.equal(await pay({ amount: 5 }), 1, 'a call below the limit passes');
  });
});
