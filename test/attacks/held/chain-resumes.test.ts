/** Several processes that resume one run, runs under one id, and run ids that mean something else. */

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Chain, createChains, functionAbilities, readChain } from '../../../src/chains/index.ts';
import { createSwitchgear } from '../../../src/index.ts';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';
import { byForm, holdAll } from './attempts.ts';

const written = {
  id: 'pay',
  circuit_breakers: ['ability:pay|confirm|"Really pay?"'],
  steps: [
    { id: 'price', ability: 'price', output_key: 'price' },
    { id: 'pay', ability: 'pay' },
  ],
};
const chain = readChain(JSON.stringify(written), 'pay.json').chain as Chain;

/** A file that several sets of chains share, each with a connection of its own. */
function sharedFile() {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-attack-'));
  const path = join(folder, 'state.db');
  let paid = 0;
  const closing: (() => Promise<void>)[] = [];
  const open = () => {
    const store = sqliteStore({ path });
    const pay = async () => {
      paid++;
      await new Promise((resolve) => setTimeout(resolve, 20));
      return 'paid';
    };
    const abilities = [functionAbilities({ price: () => 12, pay })];
    const chains = createChains({ abilities, store, log: 'silent', env: {}, project: 'p' });
    closing.push(async () => {
      await chains.close();
      store.close();
    });
    return { chains, store };
  };
  const clear = async () => {
    for (const close of closing) await close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { folder, path, open, paid: () => paid, clear };
}

function answer(path: string, card: string, how: 'approve' | 'decline'): void {
  const store = sqliteStore({ path });
  const gear = createSwitchgear({ store, log: 'silent', env: {}, project: 'p' });
  gear.cards.answer(card, how, 'ann');
  gear.dispose();
  store.close();
}

test('held: five resumes at once of one approved step execute it once', async (context) => {
  await holdAll(
    context,
    Array.from({ length: byForm(6, 2) }, (_, at) => [`round ${at}`, at] as const),
    async () => {
      const file = sharedFile();
      try {
        const waiting = await file.open().chains.run(chain, {}, { id: 'one', wait: false });
        assert.deepEqual([waiting.status, file.paid()], ['waiting', 0]);
        answer(file.path, waiting.card ?? '', 'approve');
        const resumed = await Promise.all(
          Array.from({ length: 5 }, () =>
            file
              .open()
              .chains.resume('one', { wait: false })
              .then(
                ({ status }) => status,
                () => 'refused',
              ),
          ),
        );
        assert.equal(file.paid(), 1, resumed.join());
        assert.ok(resumed.includes('done'), resumed.join());
        const again = await file
          .open()
          .chains.resume('one', { wait: false })
          .then(
            () => 'resumed',
            () => 'refused',
          );
        const anew = await file
          .open()
          .chains.run(chain, {}, { id: 'one', wait: false })
          .then(
            () => 'ran',
            () => 'refused',
          );
        assert.deepEqual([again, anew, file.paid()], ['refused', 'refused', 1]);
      } finally {
        await file.clear();
      }
    },
  );
});

test('held: neither a declined, an unanswered nor a twice answered question lets the step run', async (context) => {
  await holdAll(
    context,
    [
      ['declined', 'decline'],
      ['unanswered', undefined],
      ['declined, then approved', 'both'],
    ] as const,
    async (how) => {
      const file = sharedFile();
      try {
        const { card = '' } = await file.open().chains.run(chain, {}, { id: 'two', wait: false });
        if (how !== undefined) answer(file.path, card, 'decline');
        if (how === 'both') answer(file.path, card, 'approve');
        await Promise.all(
          Array.from({ length: 3 }, () =>
            file
              .open()
              .chains.resume('two', { wait: false })
              .catch(() => {}),
          ),
        );
        assert.equal(file.paid(), 0);
      } finally {
        await file.clear();
      }
    },
  );
});

const ids = [
  '',
  ' ',
  '.',
  '..',
  '../x',
  '/etc/passwd',
  'a/b',
  '__proto__',
  'constructor',
  '-x',
  '--all',
  '\0',
  '\x1b[2J',
  'x'.repeat(100_000),
  '%2e%2e',
  'é\ud800',
  '*',
];

test('held: a hostile run id is refused or is one run of that name, and touches nothing else', async (context) => {
  await holdAll(
    context,
    ids.map((id) => [JSON.stringify(id.slice(0, 20)), id] as const),
    async (id) => {
      const file = sharedFile();
      try {
        const { chains } = file.open();
        await chains.run(chain, {}, { id: 'good', wait: false });
        const taken = await chains.run(chain, {}, { id, wait: false }).then(
          (run) => run.id,
          (error: Error) => error,
        );
        if (typeof taken === 'string') assert.equal(taken, id);
        else assert.notEqual(taken.name, 'TypeError');
        await chains.cancel(id, 'mallory').catch(() => {});
        assert.equal((await chains.show('good')).status, 'waiting');
        assert.deepEqual(
          readdirSync(file.folder).filter((name) => !/^(state\.db|\.switchgear-)/.test(name)),
          [],
        );
      } finally {
        await file.clear();
      }
    },
    byForm(ids.length, 6),
  );
});
