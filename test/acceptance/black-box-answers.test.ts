/** What a person answers to a halted task: of the library, of a run, of a chain, in the program and from the inbox. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type Chain, createChains, functionAbilities, readChain } from '../../src/chains/index.ts';
import { type Card, createSwitchgear, type Switchgear } from '../../src/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { createTestHome } from '../cli/run/run-cli.ts';
import { bin } from '../harness/switchgear-bin.ts';
import { inboxAnswers } from './inbox-answers.ts';

const home = createTestHome(bin);
after(() => home.clear());

const policy = { task: { max_tool_calls: 1 } };
const all = ['retry_raised', 'pause', 'narrow_scope', 'replan', 'dismiss'];

/** Halts a task at its second call, and gives its card. */
async function haltTask(gear: Switchgear): Promise<Card> {
  const known = new Set(gear.cards.list().map(({ id }) => id));
  const tool = gear.guard('tool', (n: number) => n);
  await gear.task({}, () => void [tool(1), tool(2)]);
  return gear.cards.list().find(({ id, kind }) => kind === 'halt' && !known.has(id))!;
}

function openGear(): Switchgear {
  const store = sqliteStore({ path: home.store.replace('sqlite:', '') });
  return createSwitchgear({ store, policy, log: 'silent', env: {} });
}

test('B40: a card of the library takes every answer that R18 names', async () => {
  const gear = createSwitchgear({ policy, log: 'silent', env: {} });
  for (const answer of ['retry_raised', 'pause', 'narrow_scope', 'replan', 'dismiss'] as const) {
    const card = await haltTask(gear);
    assert.deepEqual(card?.actions, all);
    const waiting = gear.cards.waitForAnswer(card.id);
    const changed: (string | undefined)[] = [];
    gear.on('card-changed', (entry) => void changed.push(entry.card.answer));
    assert.equal(gear.cards.answer(card.id, answer, 'me', 'only the top 20')?.state, 'answered');
    const answered = await waiting;
    assert.deepEqual([answered?.answer, answered?.by, answered?.request], [answer, 'me', 'only the top 20']);
    assert.deepEqual(changed, [answer]);
    assert.doesNotMatch(JSON.stringify([gear.journal(), gear.snapshot()]), /top 20/);
    assert.equal(gear.cards.answer(card.id, 'dismiss', 'later')?.by, 'me', 'the first answer stands');
  }
});

test('B40: an answer that a card does not take is refused with a sentence', async () => {
  const gear = createSwitchgear({ policy, log: 'silent', env: {} });
  const card = await haltTask(gear);
  for (const answer of ['approve', 'decline', 'approve_always'] as const) {
    assert.throws(() => gear.cards.answer(card?.id, answer, 'me'), {
      code: 'not_answered',
      message: `${card?.id} accepts ${all.join(', ')}, got ${answer}`,
    });
  }
  assert.equal(gear.cards.list().find(({ id }) => id === card?.id)?.state, 'open');
});

for (const [verb, answer, words] of inboxAnswers) {
  test(`B37: inbox ${verb} on a card of the library reaches the program that waits`, { timeout: 120_000 }, async () => {
    using gear = openGear();
    const card = await haltTask(gear);
    const waiting = gear.cards.waitForAnswer(card?.id);
    const { code, out } = await home.run(['inbox', verb, card?.id, ...(words === undefined ? [] : [words])]);
    const told =
      verb === 'dismiss'
        ? `dismissed ${card?.id}\n`
        : `${card?.id}: ${answer} is recorded for the program that ran ${card?.task}\n`;
    assert.deepEqual([code, out], [0, told]);
    const answered = await waiting;
    assert.deepEqual([answered?.answer, answered?.request], [answer, words]);
    const again = await gear.cards.waitForAnswer(card?.id); // As a program asks that comes later.
    assert.deepEqual([again?.answer, again?.request], [answer, words]);
    const entries = gear.journal().filter((entry) => entry.type === 'card-changed' && entry.card.id === card?.id);
    assert.ok(entries.some((entry) => entry.type === 'card-changed' && entry.card.answer === answer));
    assert.doesNotMatch(JSON.stringify([gear.journal(), gear.cards.list()]), /top 20|begin with/);
  });
}

test('B39: a library task is tried again as its card was answered', { timeout: 120_000 }, async () => {
  using gear = openGear();
  const card = await haltTask(gear);
  await home.run(['inbox', 'retry', card?.id]);
  const { answer, task = '' } = (await gear.cards.waitForAnswer(card?.id)) ?? {};
  assert.equal(answer, 'retry_raised');
  const retry = gear.retryOptions(task);
  assert.equal(retry?.limits?.maxToolCalls, 2);
});

test('B40: inbox answers that a card does not take are refused with a sentence', { timeout: 120_000 }, async () => {
  using gear = openGear();
  const card = await haltTask(gear);
  await home.run(['inbox', 'dismiss', card?.id]);
  const late = await home.run(['inbox', 'retry', card?.id]);
  assert.equal(late.code, 1);
  assert.match(late.err, /was answered already: dismiss by /);
});

test('B40: a halted run is handed back for a new plan', { timeout: 120_000 }, async () => {
  await home.run(['run', '--quiet', '--', 'claude', '-p', 'calls 60']);
  const cards = JSON.parse((await home.run(['inbox', 'list', '--json'])).out) as Card[];
  const card = cards.find(({ actions, code }) => code === 'tool_call_limit' && actions.at(-2) === 'replan');
  const { code, out } = await home.run(['inbox', 'replan', card?.id ?? '']);
  assert.deepEqual([code, out], [0, `${card?.id}: handed back for a new plan; the run was deleted\n`]);
});

test('B40: the card of a chain can be dismissed and handed back', { timeout: 120_000 }, async () => {
  const store = sqliteStore({ path: home.store.replace('sqlite:', '') });
  const text = 'id: report\nsteps:\n  - { id: one, ability: tool }\n  - { id: two, ability: tool }\n';
  const { chain } = readChain(text, 'report.yaml');
  for (const [verb, told] of [
    ['replan', /replan is recorded/],
    ['dismiss', /^dismissed /],
  ] as const) {
    const abilities = [functionAbilities({ tool: () => 'done' })];
    const chains = createChains({ store, policy, abilities, log: 'silent', env: {} });
    const run = await chains.run(chain as Chain);
    const card = store.cards().find(({ kind, task, state }) => kind === 'halt' && task === run.id && state === 'open');
    assert.ok(card?.actions.includes('replan') && card?.actions.includes('dismiss'), JSON.stringify(run));
    assert.match((await home.run(['inbox', verb, card?.id ?? ''])).out, told);
  }
  store.close();
});

test('B38: the halt of a heartbeat task names the task, with its own numbers', { timeout: 120_000 }, async () => {
  const script = `console.log('[heartbeat] starting research');
    const call = { type: 'tool_use', name: 'scrape' };
    for (let n = 0; n < 51; n++) console.log(JSON.stringify({ ...call, id: 'c' + n, input: { n } }));
    setTimeout(() => {}, 60_000);`;
  const { code, err } = await home.run(['run', '--grace', '1s', '--', process.execPath, '-e', script]);
  assert.equal(code, 75);
  const [first, second] = err.slice(err.indexOf('switchgear: halted')).split('\n');
  assert.match(first ?? '', /^switchgear: halted \S+ \(research\): tool calls: 51 of 50$/);
  assert.match(second ?? '', /^ {2}calls 51 of 50 /);
});
