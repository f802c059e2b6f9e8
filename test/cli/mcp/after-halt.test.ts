/** A session of an MCP client goes on after a halt, once a person has handed its task back; on both stores. */

import assert from 'node:assert/strict';
import { after } from 'node:test';
import { redisStore } from '../../../src/stores/redis/index.ts';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';
import { serve } from '../../server/server-setup.ts';
import { storePlace, testOn } from '../../stores/both-stores.ts';
import { createPlace, ProxyProcess } from './proxy-process.ts';

const policy = `
[mcp.tools]
deny = ["env"]
[[rules]]
condition = "ability:mcp__scripted__read_doc"
action = "abort"
reason = "documents are read by hand"
`;
const place = createPlace(policy);
after(() => place.clear());
const { folder, server: redis } = storePlace();
const running = new Set<ProxyProcess>();
after(() => {
  for (const { child } of running) child.kill('SIGKILL');
});

const kinds = {
  'in a file': {
    addressOf: () => `sqlite:${folder}/halts.db`,
    open: async () => sqliteStore({ path: `${folder}/halts.db` }),
  },
  'in Redis': {
    addressOf: () => `${redis().url}?prefix=halts`,
    open: async () => redisStore({ url: redis().url, prefix: 'halts', graceMs: 0, deadlineMs: 1_000 }),
  },
};

for (const [kind, { addressOf, open }] of Object.entries(kinds)) {
  testOn(kind)(
    `${kind}: a halted session goes on with a new task after replan, once`,
    { timeout: 60_000 },
    async () => {
      const store = await open();
      const inbox = await serve(store);
      const start = () => {
        const options = ['--policy', `${place.folder}/policy.toml`, '--session', 'day'];
        const proxy = new ProxyProcess({ ...place, store: addressOf() }, { options, isBeside: true });
        running.add(proxy);
        return proxy;
      };
      const [proxy, other] = [start(), start()];
      await Promise.all([proxy.initialize(), other.initialize()]);
      const call = async (name: string, at = proxy) => (await at.call(name)).content[0]!.text;
      const listHalts = async () => (await inbox.send('GET', '/api/cards?kind=halt&state=open')).json.cards;
      const findHalt = async () => {
        for (let look = 0; look < 200; look++) {
          const [card] = await listHalts();
          if (card !== undefined) return card;
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        return assert.fail('no card of a halt');
      };
      const isBack = async () => {
        // The answer reaches the proxy within a second.
        for (let look = 0; look < 20; look++) {
          if (/"name":"echo"/.test(await call('echo'))) return true;
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
        return false;
      };
      const answer = async (id: string, word: string) =>
        (await inbox.send('POST', `/api/cards/${id}/answer`, { answer: word })).status;

      assert.match(await call('read_doc'), /documents are read by hand/);
      assert.match(await call('echo'), /documents are read by hand/);
      assert.match(await call('echo', other), /"name":"echo"/, 'each process has a task of its own');
      const first = await findHalt();
      assert.deepEqual(first.actions, ['replan', 'dismiss']);
      assert.equal(await answer(first.id, 'replan'), 200);
      assert.ok(await isBack());

      // Counts begin anew: five refusals in a row end the new task, too, and the earlier answer is not for its halt.
      for (let n = 1; n <= 4; n++) assert.doesNotMatch(await call('env'), /Task stopped/, `${n}`);
      assert.match(await call('env'), /refused calls in a row: 5 of 5/);
      assert.match(await call('echo'), /refused calls in a row: 5 of 5/);
      const second = await findHalt();
      assert.notEqual(second.task, first.task);
      assert.equal(second.code, 'denial_limit');
      assert.equal(await answer(second.id, 'dismiss'), 200);
      assert.match(await call('echo'), /refused calls in a row: 5 of 5/);
      assert.deepEqual(await listHalts(), []);
      for (const each of [proxy, other]) each.end();
      await Promise.all([proxy.exited, other.exited]);
      await inbox.close();
      store.close();
    },
  );
}
