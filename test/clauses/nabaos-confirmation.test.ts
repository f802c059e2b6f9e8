import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AbilitySource, type Chain, createChains } from '../../src/chains/index.ts';
import type { Approver } from '../../src/index.ts';
import { promisesSettled, simulatedClock } from '../../src/testing/index.ts';

/** A chain of two steps; the second one wants a yes. */
const trade: Chain = {
  id: 'trade',
  params: [],
  rules: [{ target: 'chain:trade', condition: 'ability:buy', action: 'confirm', reason: 'really buy?' }],
  ruleSettings: {},
  steps: ['look', 'buy'].map((id) => ({ id, ability: id, args: {}, idempotent: false })),
};

/** What is asked, what ran, and somebody who answers when the story says so. */
function desk(isAvailable: boolean) {
  const clock = simulatedClock();
  const ran: string[] = [];
  const asked: string[] = [];
  let answer: (approved: boolean) => void = () => {};
  const approver: Approver = {
    name: 'user',
    ask(card) {
      asked.push(...card.evidence);
      return new Promise((resolve) => {
        answer = (approved) => resolve({ approved, by: 'user' });
      });
    },
  };
  const abilities: AbilitySource = {
    find: async (name) => ({ name, scope: 'agent', run: async () => ran.push(name) }),
    names: async () => ['look', 'buy'],
    close: async () => {},
  };
  const chains = createChains({
    abilities: [abilities],
    clock,
    log: 'silent',
    env: {},
    ...(isAvailable && { approver }),
  });
  return { clock, chains, ran, asked, answer: (approved: boolean) => answer(approved) };
}

test('N28: a rule that wants confirmation pauses the chain before its step and asks the user', async () => {
  const { chains, ran, asked, clock } = desk(true);
  const running = chains.run(trade);
  await promisesSettled();
  assert.deepEqual(ran, ['look']);
  assert.ok(asked.includes('really buy?'));
  assert.equal((await chains.list())[0]?.status, 'waiting');
  await clock.elapse(120_000);
  await running;
});

test('N29: a chain whose step the user approved goes on', async () => {
  const { chains, ran, answer, asked } = desk(true);
  const running = chains.run(trade);
  await promisesSettled();
  assert.equal(asked.length > 0, true);
  answer(true);
  assert.equal((await running).status, 'done');
  assert.deepEqual(ran, ['look', 'buy']);
});

test('N30: a chain whose step the user declined is aborted', async () => {
  const { chains, ran, answer } = desk(true);
  const running = chains.run(trade);
  await promisesSettled();
  answer(false);
  const { status, end } = await running;
  assert.equal(status, 'aborted');
  assert.equal(end?.code, 'rule_declined');
  assert.deepEqual(ran, ['look']);
});

test('N31: a question that nobody answers within 120 s aborts the chain', async () => {
  const { chains, ran, clock } = desk(true);
  const running = chains.run(trade);
  await clock.elapse(119_999);
  assert.equal((await chains.list())[0]?.status, 'waiting');
  await clock.elapse(1);
  const { status, end } = await running;
  assert.equal(status, 'aborted');
  assert.equal(end?.code, 'rule_unanswered');
  assert.deepEqual(ran, ['look']);
});

test('N32: where nobody can be asked, a rule that wants confirmation aborts the chain at once', async () => {
  const { chains, ran } = desk(false);
  const { status, end } = await chains.run(trade);
  assert.equal(status, 'aborted');
  assert.match(end?.message ?? '', /really buy\?/);
  assert.deepEqual(ran, ['look']);
});
