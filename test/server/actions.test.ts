/** What is ordered and answered through the API happens in the processes that the store connects, exactly once. */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { cardApprover } from '../../src/approvers/index.ts';
import { createChains } from '../../src/chains/run/chains.ts';
import type { Card } from '../../src/core/card.ts';
import { createSwitchgear } from '../../src/index.ts';
import { redisStore } from '../../src/stores/redis/index.ts';
import type { SqliteStore } from '../../src/stores/sqlite/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { chainOf, counting } from '../chains/run/run-setup.ts';
import { createTestHome } from '../cli/run/run-cli.ts';
import { storePlace, testOn, until } from '../stores/both-stores.ts';
import { serve } from './server-setup.ts';

const { folder, server: redis } = storePlace();
const agentFile = fileURLToPath(new URL('../cli/commands/agent-child.ts', import.meta.url));
let places = 0;

interface Place {
  readonly childArgs: readonly string[];
  open(): Promise<SqliteStore>;
}

const kinds: Readonly<Record<string, () => Place>> = {
  'in a file'() {
    const path = join(folder, `${++places}.db`);
    return { childArgs: [path], open: async () => sqliteStore({ path }) };
  },
  'in Redis'() {
    const { url } = redis();
    const prefix = `actions${++places}`;
    return { childArgs: [url, prefix], open: () => redisStore({ url, prefix, graceMs: 0, deadlineMs: 1_000 }) };
  },
};

/** The lines of a child, each waited for. */
function readLines(child: ChildProcess): () => Promise<string> {
  const lines: string[] = [];
  let text = '';
  child.stdout?.on('data', (part) => {
    const parts = `${text}${part}`.split('\n');
    text = parts.pop() ?? '';
    lines.push(...parts);
  });
  return async () => {
    await until(() => lines.length > 0);
    return lines.shift()!;
  };
}

for (const [name, makePlace] of Object.entries(kinds)) {
  const test = testOn(name);

  test(`${name}: orders take effect in a library gear, and the answer is the state after them`, async () => {
    const place = makePlace();
    const child = spawn(process.execPath, [agentFile, ...place.childArgs], { stdio: ['ignore', 'pipe', 'inherit'] });
    const nextLine = readLines(child);
    const store = await place.open();
    const server = await serve(store);
    try {
      assert.equal(await nextLine(), 'found');
      const paused = await server.send('POST', '/api/tasks/research/pause', { reason: 'look' });
      assert.deepEqual(
        [paused.status, paused.json.effect.acknowledged, paused.json.task.state],
        [200, ['research'], 'paused'],
      );
      assert.equal(await nextLine(), 'task_paused');
      assert.deepEqual((await server.send('GET', '/api/tasks?state=paused')).json.total, 1);
      const resumed = await server.send('POST', '/api/tasks/research/resume', {});
      assert.deepEqual([resumed.status, resumed.json.task.state], [200, 'running']);
      assert.equal(await nextLine(), 'found');

      const held = await server.send('POST', '/api/breakers/search/hold', { reason: 'broken' });
      assert.deepEqual([held.status, held.json.orders.holds[0].target], [200, 'search']);
      assert.equal(await nextLine(), 'circuit_open');
      await until(async () => (await server.send('GET', '/api/breakers?name=search')).json.breakers[0]?.held === true);
      assert.equal((await server.send('POST', '/api/breakers/search/reset', {})).status, 200);
      const released = await server.send('POST', '/api/breakers/search/release', {});
      assert.deepEqual([released.json.orders.holds, released.json.breakers[0].held], [[], false]);
      assert.equal(await nextLine(), 'found');
      assert.equal((await server.send('POST', '/api/breakers/search/release', {})).status, 404);

      const tripped = await server.send('POST', '/api/breakers/search/trip', { secs: 600 });
      assert.equal(tripped.json.breakers[0].state, 'OPEN');
      assert.equal(await nextLine(), 'circuit_open');
      const reset = await server.send('POST', '/api/breakers/search/reset', {});
      assert.deepEqual([reset.json.breakers[0].state, reset.json.orders.trips], ['CLOSED', []]);
      assert.equal(await nextLine(), 'found');

      const unknown = await server.send('POST', '/api/tasks/nosuch/halt', {});
      assert.deepEqual([unknown.status, unknown.json.error.code], [404, 'not_found']);
      const halts = await Promise.all(
        [1, 2].map(() => server.send('POST', '/api/tasks/research/halt', { reason: 'enough' })),
      );
      assert.ok(halts.some(({ json }) => json.effect.acknowledged?.includes('research')));
      assert.equal(await nextLine(), 'operator_halt');
      const { entries } = (await server.send('GET', '/api/tasks/research/timeline')).json;
      assert.equal(entries.filter(({ type }: { type: string }) => type === 'task-halted').length, 1);
      const lines = (await server.send('GET', '/api/tasks/research/timeline?format=jsonl')).text.trim().split('\n');
      assert.deepEqual(
        lines.map((line) => JSON.parse(line).seq),
        entries.map(({ seq }: { seq: number }) => seq),
      );
      const firstPage = (await server.send('GET', '/api/tasks/research/timeline?limit=2')).json;
      const secondPage = (await server.send('GET', `/api/tasks/research/timeline?limit=2&after=${firstPage.next}`))
        .json;
      assert.deepEqual([...firstPage.entries, ...secondPage.entries].slice(0, 3), entries.slice(0, 3));
      const summary = (await server.send('GET', '/api/store')).json;
      assert.ok(summary.processes.some(({ isAlive }: { isAlive: boolean }) => isAlive));
      assert.ok(summary.journal.last >= entries.at(-1).seq);
    } finally {
      child.kill();
      if (child.exitCode === null) await once(child, 'exit');
      await server.close();
      store.close();
    }
  });

  test(`${name}: of two people who answer a question at once, one decides and the other sees who`, async () => {
    const place = makePlace();
    const [one, other, own] = [await place.open(), await place.open(), await place.open()];
    const servers = [await serve(one), await serve(other, { user: 'bob' })] as const;
    const chains = createChains({ abilities: [counting()], store: own, log: 'silent', env: {} });
    const chain = chainOf(['first', 'pay'], ['ability:pay|confirm|really pay?']);
    const run = await chains.run(chain, {}, { id: 'r', wait: false });
    const listed = (await servers[1].send('GET', '/api/cards?kind=ask')).json;
    assert.deepEqual([listed.total, listed.cards[0].id, listed.cards[0].isOpen], [1, run.card, true]);
    assert.ok(listed.cards[0].openedWallMs > 0);
    const answers = await Promise.all(
      servers.map((server, at) =>
        server.send('POST', `/api/cards/${run.card}/answer`, { answer: at === 0 ? 'approve' : 'decline', note: 'ok' }),
      ),
    );
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409]);
    const [won, lost] = answers[0]!.status === 200 ? [answers[0]!, answers[1]!] : [answers[1]!, answers[0]!];
    const { card, effect } = won.json;
    assert.deepEqual(
      [card.state, card.from.how, card.from.note, effect.status],
      ['answered', 'token', 'ok', 'answered'],
    );
    assert.equal(effect.abandonedRun, 'r');
    assert.match(card.from.processes, /^\S+ \d+ < /);
    assert.deepEqual([lost.json.error.code, lost.json.error.message.includes(`by ${card.by}`)], ['not_answered', true]);
    const shown = (await servers[0].send('GET', `/api/cards/${run.card}`)).json.card;
    assert.deepEqual([shown.answer, shown.by, shown.isOpen], [card.answer, card.by, false]);
    const resumed = await chains.resume('r', { wait: false });
    assert.equal(resumed.status, card.answer === 'approve' ? 'done' : 'aborted');
    for (const server of servers) await server.close();
    for (const store of [one, other, own]) store.close();
  });

  test(`${name}: 100 deciders on one card decide once`, async () => {
    const place = makePlace();
    const store = await place.open();
    const server = await serve(store);
    const card: Card = {
      ...{ id: 'ask-1', kind: 'ask', task: 't', code: 'rule_declined', counters: {}, evidence: ['pay?'] },
      ...{ actions: ['approve', 'decline'], state: 'open' },
    };
    store.putCard(card);
    await store.shared.settled();
    const verbs = Array.from({ length: 100 }, (_, at) => (at % 2 === 0 ? 'approve' : 'decline'));
    const answers = await Promise.all(
      verbs.map((answer) => server.send('POST', '/api/cards/ask-1/answer', { answer })),
    );
    const statuses = answers.map(({ status }) => status);
    assert.deepEqual(
      [statuses.filter((each) => each === 200).length, statuses.filter((each) => each === 409).length],
      [1, 99],
    );
    const entries = (await store.shared.entries(1, 1_000)).filter(({ type }) => type === 'card-changed');
    assert.equal(entries.length, 1);
    await server.close();
    store.close();
  });

  test(`${name}: of several requests at once, the program reads that of the answer which was taken`, async () => {
    const place = makePlace();
    const [one, other, own] = [await place.open(), await place.open(), await place.open()];
    const servers = [await serve(one), await serve(other)];
    const gear = createSwitchgear({ store: own, policy: { task: { max_tool_calls: 1 } }, log: 'silent', env: {} });
    const read = gear.guard('read', (page: number) => `page ${page}`);
    for (let round = 0; round < 5; round++) {
      await gear.task(() => [read(1), read(2)]);
      await own.shared.settled();
      await until(async () => (await servers[1]!.send('GET', '/api/cards?kind=halt')).json.total === 1);
      const [halted] = (await servers[0]!.send('GET', '/api/cards?kind=halt')).json.cards;
      const requests = ['a', 'b', 'c', 'd'];
      const answers = await Promise.all(
        requests.map((request, at) =>
          servers[at % 2]!.send('POST', `/api/cards/${halted.id}/answer`, { answer: 'narrow', request }),
        ),
      );
      const taken = requests.filter((_, at) => answers[at]!.status === 200);
      assert.equal(taken.length, 1);
      assert.equal((await gear.cards.waitForAnswer(halted.id))?.request, taken[0]);
    }
    gear.dispose();
    for (const server of servers) await server.close();
    for (const store of [one, other, own]) store.close();
  });

  test(`${name}: chain runs are listed, cancelled and resolved; standing approvals are revoked`, async () => {
    const place = makePlace();
    const store = await place.open();
    const server = await serve(store);
    const chains = createChains({ abilities: [counting()], store, log: 'silent', env: {} });
    const chain = chainOf(['first', 'pay'], ['ability:pay|confirm|really pay?']);
    const { card } = await chains.run(chain, {}, { id: 'r', wait: false });
    const listed = (await server.send('GET', '/api/chains')).json.runs;
    assert.deepEqual([listed.length, listed[0].status], [1, 'waiting']);
    assert.equal((await server.send('POST', '/api/chains/r/resolve', { how: 'done' })).status, 409);
    assert.equal((await server.send('POST', '/api/chains/none/cancel', {})).status, 404);
    const always = { answer: 'approve', for: 'always' };
    assert.equal((await server.send('POST', `/api/cards/${card}/answer`, always)).status, 200);
    assert.equal((await chains.resume('r', { wait: false })).status, 'done');
    const { standing } = (await server.send('GET', '/api/standing')).json;
    assert.equal(standing.length, 1);
    const revoked = await server.send('POST', `/api/standing/${standing[0].id}/revoke`, {});
    assert.deepEqual([revoked.status, revoked.json.standing], [200, []]);
    await chains.run(chain, {}, { id: 'again', wait: false });
    const cancelled = await server.send('POST', '/api/chains/again/cancel', {});
    assert.deepEqual(
      [cancelled.status, cancelled.json.run.status, 'params' in cancelled.json.run],
      [200, 'cancelled', false],
    );
    assert.equal((await server.send('POST', '/api/chains/again/cancel', {})).status, 409);
    await server.close();
    store.close();
  });
}

test('the answer to a halt of a library task reaches the program, with its request', async () => {
  const store = await kinds['in a file']!().open();
  const server = await serve(store);
  const gear = createSwitchgear({ store, policy: { task: { max_tool_calls: 1 } }, log: 'silent', env: {} });
  const read = gear.guard('read', (page: number) => `page ${page}`);
  await gear.task(() => [read(1), read(2)]);
  await store.shared.settled();
  const [halted] = (await server.send('GET', '/api/cards?kind=halt')).json.cards;
  const path = `/api/cards/${halted.id}/answer`;
  assert.equal((await server.send('POST', path, { answer: 'narrow' })).status, 400);
  const { status, json } = await server.send('POST', path, { answer: 'narrow', request: 'only page 1' });
  assert.deepEqual([status, json.effect.status], [200, 'recorded']);
  const answered = await gear.cards.waitForAnswer(halted.id);
  assert.deepEqual([answered?.answer, answered?.request, answered?.by], ['narrow_scope', 'only page 1', 'ann']);
  gear.dispose();
  await server.close();
  store.close();
});

test('a question is approved with edited arguments, once', async () => {
  const store = await kinds['in a file']!().open();
  const server = await serve(store);
  const rules = [{ target: 'pay', condition: 'ability:pay', action: 'confirm' }] as const;
  const approver = cardApprover({ store });
  const gear = createSwitchgear({ store, approver, policy: { rules }, log: 'silent', env: {} });
  const paid: unknown[] = [];
  const pay = gear.guard('pay', async (order: { amount: number }) => paid.push(order));
  const result = gear.task(() => pay({ amount: 200 }));
  await until(async () => (await server.send('GET', '/api/cards?kind=ask')).json.total === 1);
  const [card] = (await server.send('GET', '/api/cards?kind=ask')).json.cards;
  assert.match(card.input, /"amount":200/);
  const path = `/api/cards/${card.id}/answer`;
  assert.equal((await server.send('POST', path, { answer: 'approve', for: 'run', edit: {} })).status, 400);
  const { status, json } = await server.send('POST', path, { answer: 'approve', edit: { amount: 17 } });
  assert.deepEqual([status, json.card.answer, 'input' in json.card], [200, 'approve_edited', false]);
  await result;
  assert.deepEqual(paid, [{ amount: 17 }]);
  assert.equal((await server.send('POST', path, { answer: 'approve' })).status, 409);
  gear.dispose();
  await server.close();
  store.close();
});

test('a waiting run continues after the answer; a run that nobody runs names the command that continues it', {
  timeout: 120_000,
}, async () => {
  const home = createTestHome();
  after(home.clear);
  const { finished, err, child } = home.start(['run', '--quiet', '--wait', '10m', '--', 'claude', '-p', 'calls 60']);
  child.stdin.end();
  await until(() => err().includes('next:'));
  const store = sqliteStore({ path: home.store.slice('sqlite:'.length) });
  const server = await serve(store);
  const [halted] = (await server.send('GET', '/api/cards')).json.cards;
  const path = `/api/cards/${halted.id}/answer`;
  const answers = await Promise.all(
    [1, 2].map(() => server.send('POST', path, { answer: 'narrow', request: 'calls 12' })),
  );
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409]);
  const { code, out } = await finished;
  assert.deepEqual([code, out], [0, 'done after 12 calls\n']);

  await home.run(['run', '--quiet', '--', 'claude', '-p', 'calls 60']);
  const [left] = (await server.send('GET', '/api/cards')).json.cards;
  const refused = await server.send('POST', `/api/cards/${left.id}/answer`, { answer: 'retry' });
  assert.deepEqual([refused.status, refused.json.error.code], [409, 'needs_terminal']);
  assert.match(refused.json.error.message, /switchgear inbox retry card-/);
  const paused = await server.send('POST', `/api/cards/${left.id}/answer`, { answer: 'pause' });
  assert.equal(paused.json.effect.status, 'paused');
  const dismissed = await server.send('POST', `/api/cards/${paused.json.effect.pausedCard.id}/answer`, {
    answer: 'dismiss',
  });
  assert.deepEqual([dismissed.status, dismissed.json.effect.status], [200, 'dismissed']);
  await server.close();
  store.close();
});
