/** Conversations that several gateways see, one after the other or in turn: on SQLite and Redis. */

import assert from 'node:assert/strict';
import { haltByOperator } from '../../../src/guard/tasks/halt.ts';
import { bothStores, testOn } from '../../stores/both-stores.ts';
import { messageOf, openGateway, sendJson } from '../harness.ts';
import { apis, failCalls, readFiles, repeatCall } from '../history.ts';

const { path, body } = apis.anthropic;

const answer = (_: unknown, response: Parameters<typeof sendJson>[0]) => sendJson(response, messageOf('', 1, 1));

const { kinds, newPlace } = bothStores();

for (const [name, open] of Object.entries(kinds)) {
  testOn(name)(`gateways in turn count a call once, and put back each other's hints: ${name}`, async (context) => {
    const place = newPlace();
    const stores = [await open(place), await open(place)];
    context.after(() => stores.map((store) => store.close()));
    const policy = {
      budgets: [{ scope: 'global', unit: 'calls', limit: 1_000 }] as const,
      journal: { level: 'all' as const },
    };
    const gateways = await Promise.all(
      stores.map((store) => openGateway(context, { answer, gear: { store, policy } })),
    );
    let hint: string | undefined;
    let halted: number | undefined;
    for (let count = 1; count <= 20 && halted === undefined; count++) {
      const { post, received } = gateways[count % 2]!;
      const sent = JSON.stringify(body('fix it', repeatCall(count)));
      if ((await post(`/task/t${path}`, sent)).status !== 200) halted = count;
      else {
        const added = /,\{"type":"text","text":"\[switchgear\][^}]*\}/.exec(received.at(-1)!.body)?.[0];
        if (hint !== undefined) assert.equal(added, hint);
        hint ??= added;
      }
      await Promise.all(stores.map(({ shared }) => shared.settled()));
    }
    assert.ok(hint !== undefined && halted !== undefined);
    // The other gateway refuses the conversation, too.
    const other = gateways[(halted + 1) % 2]!;
    assert.equal((await other.post(`/task/t${path}`, body('fix it', repeatCall(halted)))).status, 402);
    await Promise.all(stores.map(({ shared }) => shared.settled()));
    const entries = await stores[0]!.shared.entries(0, 10_000);
    assert.equal(entries.filter(({ type }) => type === 'call-observed').length, halted);
    assert.equal(entries.filter(({ type }) => type === 'loop-suspected').length, 1);
  });

  testOn(name)(`a gateway that is started again goes on with a conversation: ${name}`, async (context) => {
    const place = newPlace();
    const first = await open(place);
    context.after(() => first.close());
    const gateway = await openGateway(context, {
      answer,
      gear: { store: first, policy: { journal: { level: 'all' } } },
    });
    for (let count = 1; count <= 4; count++) await gateway.post(`/task/t${path}`, body('go', failCalls(count)));
    for (let count = 1; count <= 10; count++) await gateway.post(`/task/r${path}`, body('read', readFiles(count)));
    for (let count = 1; count <= 4; count++)
      await gateway.post(`/task/r${path}`, body('Summary of it.', readFiles(count + 2, 7)));
    await first.shared.settled();
    const second = await open(place);
    context.after(() => second.close());
    const restarted = await openGateway(context, {
      answer,
      gear: { store: second, policy: { journal: { level: 'all' } } },
    });
    await restarted.post(`/task/t${path}`, body('go', failCalls(4)));
    await restarted.post(`/task/t${path}`, body('go', failCalls(5)));
    assert.match(restarted.received.at(-1)!.body, /'mcp__issues__find' keeps failing/);
    await restarted.post(`/task/r${path}`, body('Summary of it.', readFiles(6, 7)));
    await second.shared.settled();
    const entries = await second.shared.entries(0, 10_000);
    assert.equal(entries.filter(({ type }) => type === 'call-observed').length, 5 + 13);
    assert.equal(entries.filter(({ type }) => type === 'breaker-opened').length, 1);
  });

  testOn(name)(
    `a task that is halted while its conversation is read halts that for no longer: ${name}`,
    async (context) => {
      const place = newPlace();
      const store = await open(place);
      const { read } = store.shared;
      const gateway = await openGateway(context, { answer, gear: { store } });
      assert.equal((await gateway.post(`/task/t${path}`, body('go', readFiles(1)))).status, 200);
      store.shared.read = async (prefix, most) => {
        const found = await read(prefix, most);
        if (prefix.startsWith('gateway-conversation/')) haltByOperator(gateway.runtime, [gateway.task('gw-t')], 'stop');
        return found;
      };
      assert.equal((await gateway.post(`/task/t${path}`, body('go', readFiles(2)))).status, 402);
      await gateway.close();
      await store.shared.settled();
      store.close();
      const second = await open(place);
      context.after(() => second.close());
      const restarted = await openGateway(context, { answer, gear: { store: second } });
      assert.equal((await restarted.post(`/task/t${path}`, body('go', readFiles(3)))).status, 200);
    },
  );
}
