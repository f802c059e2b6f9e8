/** Hooks of one session on different machines of a fleet: the same story over a real Redis. */

import assert from 'node:assert/strict';
import { startRedis, testWithRedis } from '../redis-server.ts';
import { bash, newSession } from './hook-session.ts';

testWithRedis(
  'over Redis an endless failing call runs 5 times, is refused twice and halts at call 8',
  async (context) => {
    const server = await startRedis();
    context.after(server.stop);
    const hookSession = newSession();
    context.after(hookSession.clear);
    const env = { SWITCHGEAR_STORE: server.url };
    const decisions: string[] = [];
    for (let number = 1; number <= 8; number++) {
      const call = bash(`c${number}`, 'npm test');
      const { output } = await hookSession.send(call.pre, env);
      if (output === undefined) await hookSession.send(call.failure, env);
      await hookSession.send(call.batch, env);
      decisions.push(output === undefined ? 'ran' : output.continue === false ? 'halted' : 'refused');
    }
    assert.deepEqual(decisions, [...Array(5).fill('ran'), 'refused', 'refused', 'halted']);
  },
);
