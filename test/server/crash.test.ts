/** A server that is killed in the middle of decisions: each took effect exactly once, or is still to be made. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Card } from '../../src/core/card.ts';
import { readCards } from '../../src/operator/cards.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { byForm } from '../attacks/held/attempts.ts';
import { createTestHome } from '../cli/run/run-cli.ts';
import { until } from '../supervisor/processes.ts';
import { send } from './server-setup.ts';

const decisions = byForm(1_000, 60);
const killAfter = Math.ceil(decisions / 3);

test('no decision is lost, made twice or shown without being so after kill -9', { timeout: 300_000 }, async () => {
  const home = createTestHome();
  after(home.clear);
  const store = sqliteStore({ path: home.store.slice('sqlite:'.length) });
  const ids = Array.from({ length: decisions }, (_, at) => `ask-${at}`);
  for (const id of ids) {
    const card: Card = {
      ...{ id, kind: 'ask', task: 't', code: 'rule_declined', counters: {}, evidence: ['pay?'] },
      ...{ actions: ['approve', 'decline'], state: 'open' },
    };
    store.putCard(card);
  }
  await store.shared.settled();
  const { child, out, finished } = home.start(['serve', '--port', '0']);
  await until(() => out().includes('\n'));
  const [, port = '', token = ''] = /:(\d+)\/#token=(\S+)/.exec(out()) ?? [];
  const headers = {
    ...{ authorization: `Bearer ${token}`, 'x-switchgear': '1', 'content-type': 'application/json' },
    host: `127.0.0.1:${port}`,
  };
  const confirmed = new Set<string>();
  const waiting = [...ids];
  const decide = async (): Promise<void> => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
      const { status } = await send(Number(port), 'POST', `/api/cards/${id}/answer`, '{"answer":"approve"}', headers);
      assert.equal(status, 200);
      confirmed.add(id);
      if (confirmed.size === killAfter) child.kill('SIGKILL');
    }
  };
  const results = await Promise.allSettled(Array.from({ length: 8 }, decide));
  await finished;
  assert.ok(results.every(({ status }) => status === 'rejected'));
  assert.ok(confirmed.size >= killAfter && confirmed.size < ids.length, 'the server was killed in the middle');
  const entries = await store.shared.entries(1, 10_000);
  const cards = new Map((await readCards(store)).map((card) => [card.id, card]));
  for (const id of ids) {
    const answers = entries.filter((entry) => entry.type === 'card-changed' && entry.card.id === id);
    const { state } = cards.get(id)!;
    assert.equal(answers.length, state === 'answered' ? 1 : 0, id);
    if (confirmed.has(id)) assert.equal(state, 'answered');
  }
  const again = home.start(['serve', '--port', '0']);
  after(() => again.child.kill('SIGKILL'));
  await until(() => again.out().includes('\n'));
  const old = await send(Number(/:(\d+)\//.exec(again.out())![1]), 'GET', '/api/status', '', {
    authorization: `Bearer ${token}`,
  });
  assert.equal(old.status, 401, 'the printed token ended with its server');
  again.child.kill('SIGTERM');
  await again.finished;
  store.close();
});
