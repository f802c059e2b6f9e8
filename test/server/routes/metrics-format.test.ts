/** `/metrics` as Prometheus reads it: promtool takes every line, and its lint has no word but for one kept name. */

import assert from 'node:assert/strict';
import { createSwitchgear } from '../../../src/index.ts';
import { runPromtool, testWithPromtool } from '../../promtool.ts';
import { openFileStore, serve } from '../server-setup.ts';

/** A name of the first documents of Switchgear, which the lint would have end otherwise. */
const keptName = 'switchgear_breaker_trip_count ';

testWithPromtool('promtool reads all metrics of a store with a tripped breaker', async () => {
  const store = openFileStore();
  const server = await serve(store);
  const gear = createSwitchgear({
    store,
    policy: { circuit_breaker: { failure_threshold: 2 } },
    log: 'silent',
    env: {},
  });
  const failing = () => Promise.reject(new Error('down'));
  for (let at = 0; at < 3; at++) await gear.run('se"ar\\ch', failing).then(undefined, () => undefined);
  await store.shared.settled();
  const { text } = await server.send('GET', '/metrics');
  const { code, words } = runPromtool(['check', 'metrics'], text);
  const lint = words.split('\n').filter((line) => line !== '' && !line.startsWith(keptName));
  assert.deepEqual(lint, []);
  assert.ok(code === 0 || code === 3, `exit ${code}`);
  assert.equal(runPromtool(['check', 'metrics'], 'a{b="c} 1\n').code, 1);
  gear.dispose();
  await server.close();
  store.close();
});
