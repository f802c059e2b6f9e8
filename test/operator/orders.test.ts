/** Orders of an operator to runs that are just starting. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { orderTasks } from '../../src/operator/orders.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { readRuns } from '../../src/supervisor/run-record.ts';
import { createTestHome } from '../cli/run/run-cli.ts';

const home = createTestHome();
after(() => home.clear());
const request = { target: null, reason: 'stop all', by: 'operator' };

/** Starts a run that would not end by itself. */
function startRun() {
  return home.start(['run', '--quiet', '--', 'sh', '-c', 'while :; do sleep 0.1; done']);
}

for (const target of ['all tasks', 'one task'] as const) {
  test(`a halt of ${target} reaches a run whose agent is started and whose task is not`, async () => {
    const store = sqliteStore({ path: join(home.folder, 'state.db') });
    const { finished } = startRun();
    let task: string | undefined;
    while (task === undefined)
      [task] = (await readRuns(store)).flatMap((run) => (run.state === 'running' ? [run.task] : []));
    const { acknowledged } = await orderTasks(store, 'halt', {
      ...request,
      target: target === 'one task' ? task : null,
    });
    assert.deepEqual(acknowledged, [task]);
    const { code, err } = await finished;
    assert.equal(code, 75, err);
    store.close();
  });
}

test('a halt of all tasks that is given while the command starts ends its run', async () => {
  const store = sqliteStore({ path: join(home.folder, 'state.db') });
  const { finished, child } = startRun();
  await new Promise((resolve) => child.once('spawn', resolve));
  await new Promise((resolve) => setTimeout(resolve, 30)); // The process counts its time from a moment after the start.
  const order = orderTasks(store, 'halt', request);
  const { code, err } = await finished;
  assert.equal(code, 75, err);
  await order;
  store.close();
});

test('a run that is started after a halt of all tasks is not halted', async () => {
  const store = sqliteStore({ path: join(home.folder, 'state.db') });
  await orderTasks(store, 'halt', request);
  const { code, err } = await home.run(['run', '--quiet', '--', 'sh', '-c', 'exit 3']);
  assert.equal(code, 3, err);
  store.close();
});
