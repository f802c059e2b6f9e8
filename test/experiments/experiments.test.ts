/** Every experiment in its short form; the long ones run by `npm run experiment NAME`. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testWithRedis } from '../redis-server.ts';
import { experiments, experimentsOnRedis } from './experiments.ts';

for (const [name, run] of Object.entries(experiments)) {
  const testOf = experimentsOnRedis.has(name) ? testWithRedis : test;
  testOf(`the experiment ${name} finds no fault in its short form`, async (context) => {
    const { faults, figures } = await run({ short: true, seed: 1 });
    context.diagnostic(JSON.stringify(figures));
    assert.deepEqual(faults, []);
  });
}
