/** `switchgear inbox` over a store that runs of chains ask through. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { userName } from '../../../src/approvers/user-name.ts';
import { createChains } from '../../../src/chains/run/chains.ts';
import { main } from '../../../src/cli/main.ts';
import type { Store } from '../../../src/ports/store.ts';
import { redisStore } from '../../../src/stores/redis/index.ts';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';
import { chainOf, counting, step } from '../../chains/run/run-setup.ts';
import { storePlace, testOn } from '../../stores/both-stores.ts';

const user = userName();

const { folder, server } = storePlace();
let places = 0;

/** As a shell takes it for one word. */
function shellWord(text: string): string {
  return text.includes('?') ? `'${text}'` : text;
}

interface Place {
  readonly text: string;
  open(): Promise<Store>;
}

const kinds: Readonly<Record<string, () => Place>> = {
  'in a file'() {
    const path = join(folder, `${++places}.db`);
    return { text: `sqlite:${path}`, open: async () => sqliteStore({ path }) };
  },
  'in Redis'() {
    const prefix = `p${++places}`;
    const options = { url: server().url, prefix, graceMs: 0, deadlineMs: 1_000 };
    return { text: `${server().url}?prefix=${prefix}`, open: () => redisStore(options) };
  },
};

async function inbox(place: Place, ...words: readonly string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const terminal = { cwd: folder, env: { HOME: folder }, out: (line: string) => out.push(line) };
  const args = ['inbox', ...words, '--store', place.text];
  const code = await main(args, { ...terminal, err: (line) => err.push(line) });
  return { code, out: out.join('\n'), err: err.join('\n') };
}

const asking = chainOf(
  ['first', step('pay', { args: { after: '{{first}}' } }), 'tell'],
  ['ability:pay|confirm|really pay?', 'ability:tell|confirm|tell all?'],
);

/** A process on the store, as long as it takes. */
async function life<T>(
  place: Place,
  work: (chains: ReturnType<typeof createChains>) => Promise<T>,
  policy = {},
): Promise<T> {
  const store = await place.open();
  const chains = createChains({ abilities: [counting()], store, log: 'silent', env: {}, policy });
  try {
    return await work(chains);
  } finally {
    await store.shared?.settled();
    store.close();
  }
}

for (const [name, placeOf] of Object.entries(kinds)) {
  const test = testOn(name);
  test(`${name}: a question can be listed, shown, and answered by a prefix of its id`, async () => {
    const place = placeOf();
    const { card = '' } = await life(place, (chains) => chains.run(asking, {}, { id: 'r', wait: false }));
    const listed = await inbox(place, 'list');
    assert.match(
      listed.out,
      new RegExp(`^ {2}${card} {2}ask {2}\\S+ {2}plan: step pay of r {2}\\d+ (s|min) left {2}waits .+ {2}really pay`),
    );
    const shown = await inbox(place, 'show', card.slice(0, 8));
    assert.match(shown.out, /rule\s+chain:plan\|ability:pay\|confirm/);
    assert.match(shown.out, /answers\s+approve, approve --for run, approve --for always, decline/);
    assert.match(shown.out, /with \{"after":"first"\}/, 'what the step would be called with');
    assert.doesNotMatch(shown.out, /rule_declined/, 'nobody has declined anything');
    const short = card.slice(4, 9);
    const said = await inbox(place, 'approve', short, '--by', 'bob');
    assert.deepEqual(said, {
      code: 0,
      out: [
        `approved ${card}: plan: step pay of r`,
        `No process runs it now; resume it with: switchgear chain resume r --store ${shellWord(place.text)}`,
      ].join('\n'),
      err: '',
    });
    const again = await inbox(place, 'decline', short);
    assert.deepEqual(again, {
      code: 1,
      out: '',
      err: `switchgear: ${card} was answered already: approve by ${user} (bob)`,
    });
    const run = await life(place, (chains) => chains.resume('r', { wait: false }));
    assert.deepEqual(
      run.steps.map(({ status }) => status),
      ['done', 'done', 'pending'],
    );
    assert.equal(run.status, 'waiting', 'the next step asks, too');
    assert.equal((await inbox(place, 'decline', 'ask-')).code, 0, 'of both cards one can be answered');
    assert.equal((await life(place, (chains) => chains.resume('r'))).end?.code, 'rule_declined');
    assert.equal((await inbox(place)).out, 'No open cards.');
    assert.equal(JSON.parse((await inbox(place, 'list', '--all', '--json')).out).length, 2);
  });

  test(`${name}: the inbox shows a reason with its values filled in, which the card does not store`, async () => {
    const place = placeOf();
    const chain = chainOf(['pay'], ['ability:pay|confirm|pay {{who}}?']);
    const { card = '' } = await life(place, (chains) => chains.run(chain, { who: 'bob' }, { id: 'r', wait: false }));
    assert.match((await inbox(place, 'list')).out, /pay bob\?$/);
    assert.match((await inbox(place, 'show', card)).out, /pay bob\?/);
    assert.match((await inbox(place, 'list', '--json')).out, /pay \{\{who\}\}\?/);
  });

  test(`${name}: a standing approval can be listed and dropped, and the person is then asked again`, async () => {
    const place = placeOf();
    const chain = chainOf(['pay'], ['ability:pay|confirm']);
    const { card = '' } = await life(place, (chains) => chains.run(chain, {}, { id: 'one', wait: false }));
    await inbox(place, 'approve', card, '--for', 'always', '--by', 'bob');
    assert.equal((await life(place, (chains) => chains.resume('one'))).status, 'done');
    assert.equal((await life(place, (chains) => chains.run(chain, {}, { id: 'two' }))).status, 'done');
    const listed = await inbox(place, 'standing');
    const [, id = ''] =
      /^ {2}(\w+) {2}plan: step pay {2}by \S+ {2}.*chain:plan\|ability:pay\|confirm$/.exec(listed.out) ?? [];
    assert.equal((await inbox(place, 'standing', '--drop', id.slice(0, 6))).out, `dropped ${id}: plan asks again`);
    assert.equal((await inbox(place, 'standing')).out, 'No standing approvals.');
    const three = await life(place, (chains) => chains.run(chain, {}, { id: 'three', wait: false }));
    assert.equal(three.status, 'waiting');
  });

  test(`${name}: an unknown card, an expired card and a card without a question are reported`, async () => {
    const place = placeOf();
    const policy = { approval: { timeout_secs: 0.02 } };
    const { card = '' } = await life(place, (chains) => chains.run(asking, {}, { id: 'r', wait: false }), policy);
    await new Promise((resolve) => setTimeout(resolve, 30));
    const late = await inbox(place, 'approve', card);
    assert.equal(late.code, 1);
    assert.match(late.err, new RegExp(`${card} expired \\d+ s ago: the action was not approved in time`));
    const unknown = await inbox(place, 'approve', 'zzz');
    assert.deepEqual(
      [unknown.code, unknown.err],
      [1, 'switchgear: there is no card "zzz" in this store: switchgear inbox list --all shows them'],
    );
    const halting = chainOf(['one'], ['ability:one|abort|never']);
    await life(place, (chains) => chains.run(halting, {}, { id: 'h' }));
    const [halt] = JSON.parse((await inbox(place, 'list', '--json')).out) as { id: string; kind: string }[];
    assert.equal(halt?.kind, 'halt', 'cards of halts are there, too');
    const told = await inbox(place, 'approve', halt!.id);
    assert.match(told.err, /asks no question; it reports: never/);
  });
}

test('the inbox names a question, the headline of a notice and the answers as a person types them', async () => {
  const place = kinds['in a file']!();
  const store = await place.open();
  const card = { task: 't-9', agent: 'Buyer', counters: {}, state: 'open', openedWallMs: Date.now() - 2000 } as const;
  const evidence = ['Buyer wants to call buy', 'over 100'];
  store.putCard({ ...card, id: 'ask-1', kind: 'ask', code: 'rule_declined', evidence, actions: ['approve'] });
  const lines = ['ann approved it always', 'Revoke it with: switchgear inbox standing'];
  store.putCard({ ...card, id: 'card-n', kind: 'notice', code: 'notice', evidence: lines, actions: ['dismiss'] });
  await store.shared!.settled();
  store.close();
  const { out } = await inbox(place, 'list');
  assert.match(out, /ask-1 .+ waits \d+ s {2}over 100/);
  assert.match(out, /card-n .+ \d+ s ago {2,}ann approved it always$/);
  assert.equal((await inbox(place, 'approve', 'ask-1')).out, 'approved ask-1: Buyer wants to call buy');
  assert.equal((await inbox(place, 'retry', 'card-n')).err, 'switchgear: card-n accepts dismiss, got retry');
});

test('wrong arguments are a usage error, and an unused store is empty', async () => {
  const place: Place = {
    text: `sqlite:${join(folder, 'none.db')}`,
    open: () => Promise.reject(new Error('not opened')),
  };
  assert.deepEqual(await inbox(place, 'list'), {
    code: 0,
    out: 'No open cards: the store does not exist yet.',
    err: '',
  });
  const wrong: readonly (readonly [readonly string[], RegExp])[] = [
    [['shout'], /inbox: expected 'list', 'show', 'approve', 'decline', 'standing', .* got 'shout'/],
    [['approve'], /missing argument ID: switchgear inbox approve ID/],
    [['list', 'x'], /inbox list takes none, got "x"/],
    [['approve', 'x', '--for='], /--for needs a value/],
  ];
  for (const [words, message] of wrong) {
    const { code, err } = await inbox(place, ...words);
    assert.equal(code, 2, err);
    assert.match(err, message);
  }
  assert.match((await inbox(place, 'approve', 'x')).err, /the store .+ does not exist yet/);
  const used = kinds['in a file']!();
  await life(used, async () => {});
  const forWhat = await inbox(used, 'approve', 'x', '--for', 'ever');
  assert.deepEqual([forWhat.code, /once, run or always, got "ever"/.test(forWhat.err)], [2, true]);
});
