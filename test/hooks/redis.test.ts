/** Hooks of one session on different machines of a fleet: the same story over a real Redis. */

import assert from 'node:assert/strict';
import { startRedis, testWithRedis } from '../redis-server.ts';
import { bash, newSession } from './session.ts';

testWithRedis(
  'over Redis an endless failing call runs 5 times, is refused twice and halts at call 8',
  async (context) => {
    const server = await startRedis();
    context.after(server.stop);
    const made = newSession();
    context.after(made.clear);
    const env = { SWITCHGEAR_STORE: server.url };
    const decisions: string[] = [];
    for (let number = 1; number <= 8; number++) {
      const call = bash(`c${number}`, 'npm test');
      const { said } = await made.send(call.pre, env);
      if (said === undefined) await made.send(call.failure, env);
      await made.send(call.batch, env);
      decisions.push(said === undefined ? 'ran' : said.continue === false ? 'halted' : 'refused');
    }
    assert.deepEqual(decisions, [...Array(5).fill('ran'), 'refused', 'refused', 'halted']);
  },
);
