/** What a person answers where the store is a Redis: to tasks and questions of the library, to runs and to chains. */

import assert from 'node:assert/strict';
import { after } from 'node:test';
import { cardApprover } from '../../src/approvers/index.ts';
import { type Chain, createChains, functionAbilities, readChain } from '../../src/chains/index.ts';
import { main } from '../../src/cli/main.ts';
import type { Card } from '../../src/core/card.ts';
import { createSwitchgear, type Switchgear } from '../../src/index.ts';
import { redisStore } from '../../src/stores/redis/index.ts';
import { createTestHome } from '../cli/run/run-cli.ts';
import { testWithRedis } from '../redis-server.ts';
import { storePlace, until } from '../stores/both-stores.ts';
import { inboxAnswers } from './inbox-answers.ts';

const { folder, server } = storePlace();
const home = createTestHome();
after(() => home.clear());
const long = { timeout: 120_000 };

const openStore = (prefix: string) => redisStore({ url: server().url, prefix, graceMs: 0, deadlineMs: 1_000 });

/** Runs `switchgear inbox` as another user of the store. */
async function inbox(prefix: string, ...words: readonly string[]) {
  const out: string[] = [];
  const terminal = { cwd: folder, env: { HOME: folder }, out: (line: string) => void out.push(line) };
  const args = ['inbox', ...words, '--store', `${server().url}?prefix=${prefix}`];
  const code = await main(args, { ...terminal, err: (line) => void out.push(line) });
  return { code, out: out.join('\n') };
}

async function withGear(prefix: string, policy: object, work: (gear: Switchgear) => Promise<void>): Promise<void> {
  const store = await openStore(prefix);
  const gear = createSwitchgear({ store, policy, approver: cardApprover({ store }), log: 'silent', env: {} });
  try {
    await work(gear);
  } finally {
    await store.shared?.settled();
    store.close();
  }
}

testWithRedis('B37, B40: on Redis, the inbox answers a halted task of the library', long, async () => {
  await withGear('library', { task: { max_tool_calls: 1 } }, async (gear) => {
    for (const [verb, answer, words] of inboxAnswers) {
      const known = new Set(gear.cards.list().map(({ id }) => id));
      const tool = gear.guard('tool', (n: number) => n);
      await gear.task({}, () => void [tool(1), tool(2)]);
      const card = gear.cards.list().find(({ id, kind }) => kind === 'halt' && !known.has(id))!;
      const waiting = gear.cards.waitForAnswer(card.id);
      await until(async () => (await inbox('library', 'show', card.id)).code === 0);
      const { code, out } = await inbox('library', verb, card.id, ...(words === undefined ? [] : [words]));
      assert.equal(code, 0, out);
      const answered = await waiting;
      assert.deepEqual([answered?.answer, answered?.request], [answer, words]);
      if (verb === 'retry') assert.equal(gear.retryOptions(card.task)?.limits?.maxToolCalls, 2);
      assert.equal((await inbox('library', 'dismiss', card.id)).code, 1, 'the first answer stands');
    }
  });
});

testWithRedis('B36: on Redis, a question of the library is approved and declined from the inbox', long, async () => {
  const policy = { rules: [{ target: 'tool:pay', condition: 'amount>500', action: 'confirm' }] };
  await withGear('questions', policy, async (gear) => {
    const pay = gear.guard('pay', async ({ amount }: { amount: number }) => `paid ${amount}`);
    for (const [verb, isPaid] of [
      ['approve', true],
      ['decline', false],
    ] as const) {
      const calling = gear.task({}, () => pay({ amount: 700 }));
      const findOpen = () => gear.cards.list().find(({ kind, state }) => kind === 'ask' && state === 'open');
      await until(() => findOpen() !== undefined);
      const { id } = findOpen()!;
      await until(async () => (await inbox('questions', 'show', id)).code === 0);
      assert.equal((await inbox('questions', verb, id)).code, 0);
      assert.equal(JSON.stringify(await calling).includes('paid 700'), isPaid);
    }
  });
});

testWithRedis('B39, B40: on Redis, a halted run is retried, paused, replanned and dismissed', long, async () => {
  const on = ['--store', `${server().url}?prefix=runs`];
  const openCards = async () => JSON.parse((await inbox('runs', 'list', '--json')).out) as Card[];
  const haltRun = async (): Promise<string> => {
    assert.equal((await home.run(['run', '--quiet', ...on, '--', 'claude', '-p', 'calls 60'])).code, 75);
    const [card, ...others] = await openCards();
    assert.deepEqual([card?.code, others.length], ['tool_call_limit', 0]);
    return card!.id;
  };
  assert.equal((await inbox('runs', 'pause', await haltRun())).code, 0);
  const [paused] = await openCards();
  assert.match(paused!.id, /^card-paused-/);
  const { code, out } = await home.run(['inbox', 'retry', paused!.id, ...on]);
  assert.deepEqual([code, out], [0, 'done after 8 calls\n']);
  for (const verb of ['replan', 'dismiss']) {
    const id = await haltRun();
    assert.equal((await inbox('runs', verb, id)).code, 0);
    assert.deepEqual(await openCards(), []);
    assert.equal((await inbox('runs', 'retry', id)).code, 1, 'the run is gone');
  }
});

testWithRedis('on Redis, a chain goes on after an approval in the inbox, and ends after a decline', long, async () => {
  const text =
    'id: pay\nsteps:\n  - id: pay\n    ability: pay\ncircuit_breakers: ["ability:pay|confirm|really pay?"]\n';
  const { chain } = readChain(text, 'pay.yaml');
  for (const [verb, end] of [
    ['approve', undefined],
    ['decline', 'rule_declined'],
  ] as const) {
    const store = await openStore(`chain-${verb}`);
    const abilities = [functionAbilities({ pay: () => 'paid' })];
    const chains = createChains({ abilities, store, log: 'silent', env: {} });
    const { card = '' } = await chains.run(chain as Chain, {}, { id: 'r', wait: false });
    await store.shared?.settled();
    assert.equal((await inbox(`chain-${verb}`, verb, card)).code, 0);
    const run = await chains.resume('r');
    assert.deepEqual([run.end?.code, run.status === 'done'], [end, end === undefined]);
    await store.shared?.settled();
    store.close();
  }
});
