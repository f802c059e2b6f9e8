/** Budgets beyond one task, as `switchgear status` shows them. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { main } from '../../../src/cli/main.ts';
import { createSwitchgear } from '../../../src/index.ts';
import '../../../src/policy/index.ts';
import { redisStore } from '../../../src/stores/redis/index.ts';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';
import { storePlace, testOn, until } from '../../stores/both-stores.ts';

const { folder, server } = storePlace();

async function status(store: string, ...options: readonly string[]): Promise<string> {
  const out: string[] = [];
  const terminal = { cwd: folder, env: { HOME: folder }, out: (line: string) => out.push(line), err: assert.fail };
  assert.equal(await main(['status', '--store', store, ...options], terminal), 0);
  return out.join('\n');
}

const kinds = {
  'in a file': async () => {
    const path = join(folder, 'budgets.db');
    return [sqliteStore({ path }), `sqlite:${path}`] as const;
  },
  'in Redis': async () => {
    const { url } = server();
    return [await redisStore({ url, prefix: 'spent', graceMs: 0, deadlineMs: 1_000 }), `${url}?prefix=spent`] as const;
  },
};

for (const [name, make] of Object.entries(kinds)) {
  const test = testOn(name);
  test(`${name}: status shows the owner, the use and the limit of a budget`, async () => {
    const [store, address] = await make();
    const budgets = [
      { scope: 'session', unit: 'calls', limit: 3 },
      { scope: 'agent', unit: 'calls', limit: 4, windowSecs: 3600 },
      { scope: 'global', unit: 'spend_cents', limit: 900 },
      { scope: 'project', unit: 'tokens', limit: 1_000 },
    ] as const;
    const gear = createSwitchgear({
      store,
      policy: { budgets },
      agent: 'Buyer / 2',
      project: '/srv/shop',
      session: 'talk',
      log: 'silent',
      env: {},
    });
    const order = gear.guard('order', async () => 'ordered');
    const model = async () => ({ inputTokens: 1_000_000, outputTokens: 0 });
    const think = gear.guard('think', model, {
      kind: 'model',
      maxCost: { usd: 4 },
      usage: (answer) => ({ model: 'claude-sonnet-4', ...answer }),
    });
    assert.equal(await order(), 'ordered');
    assert.equal(await order(), 'ordered');
    await think();
    gear.dispose(); // What it had in hand goes back.
    await until(async () => (await status(address)).includes('2 of 4 calls'));
    const shown = (await status(address)).split('\n').map((line) => line.trim().replace(/ {2,}/g, ' | '));
    const at = shown.indexOf('Budgets (4)');
    const [agent, everybody = '', ...others] = shown.slice(at + 1, at + 5).toSorted();
    assert.equal(agent, 'agent Buyer / 2 | 2 of 4 calls | in any 60 min | /srv/shop');
    assert.match(everybody, /^global \| \$3\.\d\d of \$9\.00$/); // With the little that is in hand.
    assert.deepEqual(others, ['project /srv/shop | 1000000 of 1000 tokens', 'session talk | 2 of 3 calls']);
    const told = JSON.parse(await status(address, '--json')).budgets as readonly Record<string, unknown>[];
    assert.deepEqual(
      told.find(({ scope }) => scope === 'agent'),
      {
        key: 'budget/agent/calls/3600/%2Fsrv%2Fshop/Buyer%20%2F%202',
        scope: 'agent',
        unit: 'calls',
        windowSecs: 3600,
        of: 'Buyer / 2',
        project: '/srv/shop',
        used: 2,
        limit: 4,
      },
    );
  });
}
