/** What the board reads over HTTP: breakers with their activity, tasks, rows of a timeline, the file of a timeline. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear } from '../../../src/index.ts';
import { openFileStore, serve } from '../server-setup.ts';

test('the board reads breakers, tasks, rows and files of a timeline', async () => {
  const store = openFileStore();
  const gear = createSwitchgear({
    ...{ store, agent: 'a', project: 'shop', log: 'silent', env: {} },
    policy: { journal: { level: 'all' }, task: { max_denials: 100 } } as never,
  });
  const fails = gear.guard('search', async (at: number) => {
    throw new TypeError(`offline ${at}`);
  });
  const task = gear.startTask({ id: 'x' });
  for (let at = 0; at < 6; at++) {
    await task.run(() => fails(at)).catch(() => undefined);
    await undefined;
  }
  await store.shared.settled();
  const server = await serve(store);
  const get = async (path: string) => (await server.send('GET', path)).json;

  const { breakers, total } = await get('/api/breakers?limit=1');
  assert.deepEqual(
    [breakers.length, total, breakers[0].state, breakers[0].lastFailure.error],
    [1, 1, 'OPEN', 'TypeError'],
  );
  assert.deepEqual([breakers[0].series.failures.at(-1), breakers[0].series.refusals.at(-1)], [5, 1]);
  const { entries } = await get('/api/breakers/search/entries');
  assert.equal(entries[0].type, 'action-refused');
  const { breakers: held } = (await server.send('POST', '/api/breakers/search/hold', { reason: 'down' })).json;
  assert.deepEqual([held[0].held, held[0].lastOrder.by, held[0].lastOrder.reason], [true, 'ann', 'down']);

  const { rows, last, hasEarlier } = await get('/api/tasks/x/rows?limit=1000');
  assert.equal(hasEarlier, false);
  assert.equal(rows.filter((row: { mark?: string }) => row.mark === 'refused').length, 1);
  const { rows: trouble } = await get('/api/tasks/x/rows?trouble=true');
  assert.ok(trouble.length > 0 && trouble.length < rows.length);
  assert.deepEqual((await get(`/api/tasks/x/rows?after=${last}`)).rows, []);
  const file = await server.send('GET', '/api/tasks/x/timeline?format=jsonl');
  assert.match(String(file.headers['content-disposition']), /timeline\.jsonl/);
  const lines = file.text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { task: string });
  assert.ok(lines.length >= rows.length && lines.every((line) => line.task === 'x'));
  const { tasks } = await get('/api/tasks?id=x');
  assert.deepEqual(
    tasks.map(({ id }: { id: string }) => id),
    ['x'],
  );
  const { size, processes, agents, outages } = await get('/api/store');
  assert.deepEqual([size.keepDays, processes.length <= 1, agents, outages], [30, true, [], []]);
  task.end();
  await server.close();
  gear.dispose();
});
